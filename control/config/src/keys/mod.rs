//! The keys of a gateway's file: every value with its place, nothing computed yet.

pub(crate) mod bundle;
pub(crate) mod classify;
pub(crate) mod document;
pub(crate) mod forwarding;
pub(crate) mod kernel;
pub(crate) mod long_haul;
pub(crate) mod port;
pub(crate) mod queueing;
pub(crate) mod running;
