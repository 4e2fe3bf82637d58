//! Acknowledgements, as congestion control sees them.

use units::Interval;
use wire::int;

/// The in-band telemetry in an acknowledgement.
pub(crate) type Returned<'a> = int::View<&'a [u8]>;

/// An acknowledgement. All bytes are those of the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    /// Bytes acknowledged so far.
    pub acknowledged: u64,
    /// Bytes that this acknowledgement is the first to acknowledge.
    pub newly: u64,
    /// Bytes sent so far.
    pub sent: u64,
    /// The time since the start of the last packet that it acknowledges; `None` if that packet was sent more
    /// than once or did not request an acknowledgement.
    pub round_trip: Option<Interval>,
    /// The in-band telemetry that it returns.
    pub telemetry: Option<Returned<'a>>,
}
