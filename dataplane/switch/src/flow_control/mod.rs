//! Feedback to the neighbour on a link.

pub(crate) mod bifrost;
pub(crate) mod pause_time;
pub(crate) mod pfc;
