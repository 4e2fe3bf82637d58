//! What congestion control hears of the receiver.

use units::Interval;

/// An acknowledgement, as congestion control sees it. Bytes are those of the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    /// Bytes that are acknowledged, from the start of the message.
    pub acknowledged: u64,
    /// Of them, those that were not before.
    pub newly: u64,
    /// Bytes that were sent, from the start of the message.
    pub sent: u64,
    /// From the start of the last packet that it acknowledges to now; `None` where that packet was sent more than
    /// once, or did not ask for an acknowledgement.
    pub round_trip: Option<Interval>,
    /// What it carries back of what switches wrote on the way; empty where it carries nothing.
    pub telemetry: &'a [u8],
}
