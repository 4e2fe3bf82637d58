//! What a receiver answers.

/// What an answer of the receiver says, in packets of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// All packets before this one are there.
    Acknowledge {
        /// The first one that is not acknowledged.
        before: u64,
    },
    /// All packets before this one are there, this one is not, and a later one came.
    SequenceError {
        /// The one that was expected.
        expected: u64,
    },
    /// All packets before one are there, that one is not, and a later one came and was kept.
    Selective {
        /// The one that was expected.
        expected: u64,
        /// The one that came.
        arrived: u64,
    },
}
