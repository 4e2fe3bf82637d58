//! A record of what an observer would have seen of a part, while it ran beside the others.

use super::turn::Turn;
use crate::network::NodeId;
use crate::observer::{Observer, Tap};
use crate::outcome::FlowRecord;
use serde::{Deserialize, Serialize};
use switch::Event;
use units::{Bytes, Nanos};

/// A frame at a tap.
#[derive(Debug, Serialize, Deserialize)]
struct Captured {
    tap: Tap,
    at: Nanos,
    headers: Vec<u8>,
    length: Bytes,
}

/// The events of a part in a window, for the observer of the run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Log {
    completed: Vec<FlowRecord>,
    captured: Vec<Captured>,
    events: Vec<(NodeId, Event)>,
}

impl Observer for Log {
    fn completed(&mut self, record: &FlowRecord) {
        self.completed.push(record.clone());
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        self.captured.push(Captured { tap, at, headers: headers.to_vec(), length });
    }

    fn event(&mut self, switch: NodeId, event: &Event) {
        self.events.push((switch, *event));
    }
}

/// Tells `observer` what is in the logs of all parts, and removes it from them. Flows that ended in `next` or later, the
/// first turn that any part has yet to take, stay there. The others are told in the order of the turns in which they
/// ended; those of one turn are in one log.
pub(super) fn tell<'a>(logs: impl Iterator<Item = &'a mut Log>, next: Turn, observer: &mut impl Observer) {
    let turn = |record: &FlowRecord| (record.acknowledged, record.flow.source.0 as usize);
    let mut completed = Vec::new();
    for log in logs {
        let told = log.completed.partition_point(|record| turn(record) < next);
        completed.extend(log.completed.drain(..told));
        for Captured { tap, at, headers, length } in log.captured.drain(..) {
            observer.captured(tap, at, &headers, length);
        }
        log.events.drain(..).for_each(|(switch, event)| observer.event(switch, &event));
    }
    completed.sort_by_key(turn);
    completed.iter().for_each(|record| observer.completed(record));
}
