//! Feedback to the senders.

pub(crate) mod int;
pub(crate) mod lscc;
pub(crate) mod mark;
pub(crate) mod red;
