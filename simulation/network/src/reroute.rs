//! Routes that follow the faults of links.

use crate::network::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::Program;
use units::Nanos;

/// The routes of a network over time.
#[derive(Clone, Debug, Default)]
pub struct Reroutes {
    /// When all switches take the routes of a state: an index into `states`. In the order of time.
    pub changes: Vec<(Nanos, usize)>,
    /// By state, the programs of the switches whose routes are then others than at the start. They differ from those of the
    /// network in routes alone.
    pub states: Vec<BTreeMap<NodeId, Arc<Program>>>,
}

/// The changes of one switch.
#[derive(Debug, Default)]
pub(crate) struct RouteChanges {
    changes: Vec<(Nanos, Arc<Program>)>,
    /// The number of those that are done.
    pub done: usize,
}

impl RouteChanges {
    /// The changes of switch `node`, which starts with `program`.
    pub fn new(reroutes: &Reroutes, node: NodeId, program: &Arc<Program>) -> Self {
        let mut last = program;
        let mut changes = Vec::new();
        for (at, state) in &reroutes.changes {
            let next = reroutes.states[*state].get(&node).unwrap_or(program);
            if !Arc::ptr_eq(next, last) {
                changes.push((*at, next.clone()));
                last = next;
            }
        }
        Self { changes, done: 0 }
    }

    /// The instant of the next change; never if there is none.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.changes.get(self.done).map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Takes a change that is due at `now`.
    pub fn take(&mut self, now: Nanos) -> Option<Arc<Program>> {
        let (_, program) = self.changes.get(self.done).filter(|(at, _)| *at <= now)?;
        self.done += 1;
        Some(program.clone())
    }

    /// The program of the last change that is done, if there is any.
    pub fn in_force(&self) -> Option<Arc<Program>> {
        Some(self.changes.get(self.done.checked_sub(1)?)?.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::patched;

    #[test]
    fn a_switch_takes_the_changes_of_its_own_routes_in_order_and_no_others() {
        let program = || Arc::new(Program::new(patched(&[(0, 1)])).unwrap());
        let (start, other) = (program(), program());
        let reroutes = Reroutes {
            changes: vec![(Nanos(10), 0), (Nanos(20), 1), (Nanos(30), 2)],
            states: vec![
                [(NodeId(1), other.clone())].into(),
                [(NodeId(1), other.clone()), (NodeId(2), program())].into(),
                BTreeMap::new(),
            ],
        };
        let mut changes = RouteChanges::new(&reroutes, NodeId(1), &start);
        assert_eq!((changes.next(), changes.take(Nanos(9)).is_some()), (Nanos(10), false));
        assert!(Arc::ptr_eq(&changes.take(Nanos(10)).unwrap(), &other));
        assert_eq!(changes.next(), Nanos(30), "the change in between is of another switch");
        assert!(Arc::ptr_eq(&changes.in_force().unwrap(), &other));
        assert!(Arc::ptr_eq(&changes.take(Nanos(31)).unwrap(), &start));
        assert_eq!(changes.next(), Nanos::NEVER);
        let none = RouteChanges::new(&reroutes, NodeId(3), &start);
        assert_eq!((none.next(), none.in_force().is_none()), (Nanos::NEVER, true));
    }
}
