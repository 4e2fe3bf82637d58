//! Quantities of the data path as types.
//!
//! Every figure that has a unit is a type of its own, so that nanoseconds are never added to
//! bytes, buffered bytes are never taken for bytes on the wire, and a priority is always 0 to 7.
//! Arithmetic that could leave the range saturates where the doc comment says so; nothing here
//! panics on input.

mod bytes;
mod cells;
mod decimal;
mod link;
mod port;
mod priority;
mod quantity;
mod rate;
mod time;

pub use bytes::{Bytes, WireBytes};
pub use cells::Cells;
pub use link::{LinkClock, PauseQuanta};
pub use port::{PortId, PortSet};
pub use priority::{Priority, PriorityOutOfRange, PrioritySet};
pub use quantity::{Distance, ParseQuantityError};
pub use rate::{BitRate, SerializationTime};
pub use time::{Interval, Nanos};
