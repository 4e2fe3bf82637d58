//! The first four bytes of each message: version, two that differ, and format.

/// The supported version.
pub const VERSION: u8 = 1;

pub(super) const VERSION_AT: usize = 0;
pub(super) const FORMAT_AT: usize = 3;

/// The format of a message, by its number in the frame.
#[derive(Clone, Copy)]
pub(super) enum Format {
    Slot = 0,
    Credit = 1,
    FarPort = 2,
    Behind = 3,
    Hello = 4,
    Session = 5,
    Repair = 6,
}
