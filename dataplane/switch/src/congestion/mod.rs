//! Feedback to the senders.

pub(crate) mod mark;
pub(crate) mod red;
