//! The events of switches, for the observer of the run.
//!
//! A switch gives its events of an instant when it comes to the next one, as in a replay. So they do not depend on how far
//! it runs ahead of others, or on the thread that runs it.

use super::Engine;
use super::part::Part;
use crate::network::NodeId;
use crate::nodes::{Place, Switch};
use crate::observer::Observer;
use units::Nanos;

impl Engine {
    /// Tells the observer the events of these switches from now on.
    pub fn record_events(&mut self, switches: &[NodeId]) {
        for node in switches {
            if let Some(it) = self.switch_mut(node.0 as usize) {
                it.driver.record_events();
                it.recorded.get_or_insert(Nanos::ZERO);
            }
        }
    }

    /// Tells the observer what is left at the end of the run.
    pub(super) fn tell_last_events(&mut self, observer: &mut impl Observer) {
        let now = self.now;
        for node in 0..self.homes.len() {
            if let Some(it) = self.switch_mut(node)
                && let Some(last) = it.recorded
            {
                let switch = it.node;
                it.driver.take_last_events(now.max(last), |event| observer.event(switch, &event));
            }
        }
    }

    fn switch_mut(&mut self, node: usize) -> Option<&mut Switch> {
        let part = &mut self.parts[self.homes[node]];
        match part.places[node] {
            Place::Switch(switch) => part.switches.get_mut(switch),
            Place::Station(_) | Place::Elsewhere => None,
        }
    }
}

impl Part {
    /// Tells the events of a switch up to its last instant, before it acts at `at`.
    #[cold]
    pub(super) fn tell_events(&mut self, switch: usize, at: Nanos, observer: &mut impl Observer) {
        let it = &mut self.switches[switch];
        let Some(last) = it.recorded.filter(|last| *last < at) else { return };
        if it.driver.has_events(last) {
            let node = it.node;
            it.driver.take_events(last, |event| observer.event(node, &event));
        }
        it.recorded = Some(at);
    }
}
