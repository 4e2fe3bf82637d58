//! The events of a worker's shard on their way to the control thread.

use crate::ring::{Consumer, Producer, ring};
use switch::Event;

/// The number of events that the ring holds. The control thread empties it every 20 ms, so it holds 200 events for each
/// millisecond.
const CAPACITY: usize = 4_096;

/// The worker's end. Events that find no room wait in the shard, which counts those that it loses.
pub struct EventOutlet(Producer<Event>);

/// The control thread's end.
pub struct EventInlet(Consumer<Event>);

/// The two ends of a ring for the events of one worker.
pub fn event_ring() -> (EventOutlet, EventInlet) {
    event_ring_of(CAPACITY)
}

pub(crate) fn event_ring_of(capacity: usize) -> (EventOutlet, EventInlet) {
    let (producer, consumer) = ring(capacity);
    (EventOutlet(producer), EventInlet(consumer))
}

impl EventOutlet {
    /// Moves as many events as fit from the front of `events`.
    pub(crate) fn append(&mut self, events: &mut Vec<Event>) {
        self.0.append(events);
    }
}

impl EventInlet {
    /// Moves all events to the end of `into`, oldest first.
    pub fn take(&mut self, into: &mut Vec<Event>) {
        self.0.take(usize::MAX, into);
    }
}
