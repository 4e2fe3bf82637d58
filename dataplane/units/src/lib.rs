//! The quantities of the data path, as types.
//!
//! Each quantity has its own type, so nanoseconds cannot be added to bytes, buffered bytes cannot be mistaken
//! for wire bytes, and a priority is always 0 to 7. Arithmetic saturates where the doc comment says so, and
//! nothing panics on input.

mod bit_set;
mod bytes;
mod cells;
mod decimal;
pub mod human;
mod link;
mod named;
mod port;
mod priority;
mod quantity;
mod queue;
mod rate;
mod saturating;
mod time;

pub use bytes::{Bytes, WireBytes};
pub use cells::Cells;
pub use link::{LinkClock, PauseQuanta};
pub use port::{PortId, PortSet};
pub use priority::{Priority, PriorityOutOfRange, PrioritySet};
pub use quantity::{Distance, ParseQuantityError};
pub use queue::{QueueId, QueueSet};
pub use rate::{BitRate, SerializationTime};
pub use time::{Interval, Nanos};
