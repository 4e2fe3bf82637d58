//! The order of events.

use crate::tournament::Actor;
use units::Nanos;

/// The numbers of the actors, which are the same in all parts. At one instant the nodes act first, in the order of their
/// numbers: frames arrive, and switches send. Then follow the schedule that starts and stops flows, the hosts that are
/// due, and last the watch for a standstill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actors {
    pub schedule: usize,
    pub stations: usize,
    pub watch: usize,
}

/// An instant, and the actor that acts then. The events of all parts have one order, that of their turns.
pub(super) type Turn = (Nanos, Actor);
