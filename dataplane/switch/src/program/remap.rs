//! The errors of the remap of frames that bounce.

use units::Priority;

/// A remap that would not isolate frames that bounce. `other` is the name of the port through which they leave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum RemapError {
    #[error("remap needs the orientation of the port")]
    Unoriented,
    #[error("a bridge floods frames in their own priority, so remap does not hold there; use routes")]
    Bridge,
    #[error("priority {priority} is remapped but lossy, so it pauses no one; remap lossless priorities only")]
    Lossy { priority: Priority },
    #[error(
        "the remap of priority {priority} leads back to it, so a cycle could close; end it in another priority"
    )]
    Ring { priority: Priority },
    #[error(
        "frames without a code point have priority {priority}, and the next switch cannot tell that they are remapped"
    )]
    Default { priority: Priority },
    #[error(
        "no {field} stands for priority {priority}, so the next switch cannot tell that frames are remapped to it"
    )]
    NoCode { priority: Priority, field: &'static str },
    #[error(
        "frames bounce to port {other}, which classifies otherwise, so its neighbour could take them for another priority"
    )]
    Classification { other: String },
    #[error(
        "frames bounce to port {other} in priority {priority}, which is lossless on one of the two ports alone; make it lossless on both, or on neither"
    )]
    Isolated { other: String, priority: Priority },
}
