//! Rings with one producer and one consumer, between a core and the control thread.
//!
//! They are those of `rtrb`. Under `cfg(loom)` a model with the same interface replaces them, so that every
//! interleaving can be tested.

#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod spsc;

#[cfg(loom)]
pub(crate) use model::{Consumer, Producer, ring};
#[cfg(not(loom))]
pub(crate) use spsc::{Consumer, Producer, ring};
