//! Feedback to the senders.

pub(crate) mod int;
pub(crate) mod lscc;
pub(crate) mod mark;
pub(crate) mod red;
pub(crate) mod senders;

/// The notes that schemes make of flows ([`Note`](crate::flows::Note)).
mod notes {
    use crate::flows::Note;

    /// LSCC: the flow was flagged, and may still be.
    pub const LSCC_FLAGGED: Note = Note::numbered(0);
    /// LSCC: a CNP from the far side was passed on to its sender.
    pub const LSCC_FAR_CNP: Note = Note::numbered(1);
    /// LSCC: a direct INT was made of the flow.
    pub const LSCC_DIRECT_INT: Note = Note::numbered(2);
}
