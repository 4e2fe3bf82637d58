//! The answers of a receiver.

/// An answer of the receiver, in packets of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// All packets before this one have arrived.
    Acknowledge {
        /// The first unacknowledged packet.
        before: u64,
    },
    /// All packets before the expected one have arrived, and then a later one.
    SequenceError {
        /// The expected packet.
        expected: u64,
    },
    /// All packets before the expected one have arrived, and then a later one, which the receiver kept.
    Selective {
        /// The expected packet.
        expected: u64,
        /// The packet that arrived.
        arrived: u64,
    },
}
