//! The active flows.

use crate::frame::Label;
use crate::network::FlowSpec;
use crate::violation::Broken;
use endpoint::FlowId;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use units::{Interval, Nanos};

/// An active flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub spec: FlowSpec,
    /// The station that sends, and the one that receives; `None` for one in another part of the network.
    pub ends: [Option<u32>; 2],
    /// The UDP source port of its frames, once it is connected.
    pub source_port: Option<u16>,
    pub ideal: Interval,
    /// The instant at which the receiver had all of it.
    pub received: Option<Nanos>,
    /// The length of its message in bytes, known at that instant.
    pub message: u64,
    /// Whether all of it was sent at least once.
    is_sent: bool,
    /// The serial number of the last frame that was sent.
    sent: u32,
    /// The serial number of the last frame that was delivered.
    pub delivered: u32,
    /// The slot of the flow in the table of its receiver, where that is another one.
    pub slot_there: Option<u32>,
}

impl Flow {
    /// As [`Flow::slot_there`]: the receiver looks its flow up by its number.
    pub const BY_NUMBER: u32 = u32::MAX;

    /// A flow from station `ends[0]` to station `ends[1]`.
    pub fn new(spec: FlowSpec, ends: [Option<u32>; 2], ideal: Interval) -> Self {
        Self {
            spec,
            ends,
            source_port: None,
            ideal,
            received: None,
            message: 0,
            is_sent: false,
            sent: 0,
            delivered: 0,
            slot_there: None,
        }
    }

    /// Whether its sender is here and its receiver in another part of the network.
    pub fn leaves(&self) -> bool {
        self.ends[1].is_none()
    }

    /// Its receiver and the instant at which that had all of it, if its sender is in another part of the network.
    fn arrival(&self) -> Option<(u32, Nanos, FlowId)> {
        let is_from_elsewhere = self.ends[0].is_none();
        self.ends[1].zip(self.received).filter(|_| is_from_elsewhere).map(|(at, by)| (at, by, self.spec.id))
    }

    /// The same flow once more. Serial numbers go on, since late frames of this one may still arrive.
    pub fn again(self, start: Nanos) -> Self {
        let spec = FlowSpec { start, ..self.spec };
        Self { spec, received: None, message: 0, is_sent: false, ..self }
    }
}

/// The active flows of a part of the network. Ended flows are forgotten, so memory grows with active flows only. A
/// flow between two parts is in the tables of both; its sender's counts it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Flows {
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
    numbers: HashMap<FlowId, u32, FixedState>,
    pub started: u64,
    pub ended: u64,
    /// The number of active flows that were not sent completely.
    unsent: u64,
    /// The number of active flows to another part that have not arrived completely, as far as is known here.
    pub leaving: u64,
    /// The flows from another part that have arrived completely, by their receiver and the instant. Their sender may end
    /// them at any time.
    arrived: BTreeSet<(u32, Nanos, FlowId)>,
}

impl Flows {
    /// Starts a flow whose sender is here; returns its slot.
    pub fn start(&mut self, flow: Flow) -> u32 {
        self.started += 1;
        self.unsent += 1;
        self.leaving += u64::from(flow.leaves());
        self.insert(flow)
    }

    /// Adds a flow; returns its slot.
    pub fn insert(&mut self, flow: Flow) -> u32 {
        let id = flow.spec.id;
        let flow = Some(flow);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = flow;
                slot
            }
            None => {
                self.slots.push(flow);
                (self.slots.len() - 1) as u32
            }
        };
        self.numbers.insert(id, slot);
        slot
    }

    /// An active flow.
    pub fn flow_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        let slot = *self.numbers.get(&id)?;
        self.slots[slot as usize].as_mut()
    }

    /// Ends a flow whose sender is here, and forgets it.
    pub fn end(&mut self, id: FlowId) -> Option<Flow> {
        let flow = self.remove(id)?;
        self.ended += 1;
        self.unsent -= u64::from(!flow.is_sent);
        self.leaving -= u64::from(flow.leaves() && flow.received.is_none());
        Some(flow)
    }

    /// Forgets a flow whose sender, in another part of the network, has ended it.
    pub fn forget(&mut self, id: FlowId) -> Option<Flow> {
        let flow = self.remove(id)?;
        if let Some(entry) = flow.arrival() {
            self.arrived.remove(&entry);
        }
        Some(flow)
    }

    fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let slot = self.numbers.remove(&id)?;
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    /// Notes when all of a flow had arrived, and the length of its message. Returns whether its sender is in another
    /// part of the network, which has to learn of it.
    pub fn note_received(&mut self, id: FlowId, received: Nanos, message: u64) -> bool {
        let Some(flow) = self.flow_mut(id) else { return false };
        let (is_first, leaves, comes) = (flow.received.is_none(), flow.leaves(), flow.ends[0].is_none());
        let before = flow.arrival();
        (flow.received, flow.message) = (Some(received), message);
        let after = flow.arrival();
        self.leaving -= u64::from(is_first && leaves);
        if let Some(entry) = before {
            self.arrived.remove(&entry);
        }
        self.arrived.extend(after);
        comes
    }

    /// Whether the fate of a frame at its receiver may depend on whether a sender in another part of the network has
    /// ended its flow: the flow may be over.
    #[cold]
    pub fn may_be_over(&self, label: Label) -> bool {
        let slot = self.numbers.get(&label.flow);
        let flow = slot.and_then(|slot| self.slots.get(*slot as usize)?.as_ref());
        flow.is_none_or(|flow| flow.received.is_some())
    }

    /// Whether a sender in another part of the network may have ended a flow to one of `stations` that had arrived
    /// completely at `by`.
    #[cold]
    pub fn may_have_ended(&self, stations: [Option<u32>; 2], by: Nanos) -> bool {
        let arrived_by =
            |station| self.arrived.range((station, Nanos::ZERO, FlowId(0))..=(station, by, FlowId(u32::MAX)));
        stations.into_iter().flatten().any(|station| arrived_by(station).next().is_some())
    }

    /// Whether flows from another part have arrived completely, and their sender may end them at any time.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Notes that all of a flow was sent at least once.
    pub fn note_sent(&mut self, id: FlowId) {
        if let Some(flow) = self.flow_mut(id)
            && !core::mem::replace(&mut flow.is_sent, true)
        {
            self.unsent -= 1;
        }
    }

    /// Whether there are active flows that were not sent completely.
    pub fn has_unsent(&self) -> bool {
        self.unsent > 0
    }

    /// The number of active flows.
    pub fn active(&self) -> u64 {
        self.started - self.ended
    }

    /// The label of the next frame of a flow; `None` if the flow is not active.
    #[inline]
    pub fn label(&mut self, id: FlowId) -> Option<Label> {
        let slot = *self.numbers.get(&id)?;
        let flow = self.slots[slot as usize].as_mut()?;
        flow.sent = flow.sent.wrapping_add(1);
        Some(Label { flow: id, slot: flow.slot_there.unwrap_or(slot), serial: flow.sent })
    }

    /// Checks the order of a frame that was delivered to `station`. Ignores copies for other stations and
    /// frames of ended flows.
    ///
    /// # Errors
    /// [`Broken::Order`] if a frame that was sent later was delivered before: frames of a queue pair never
    /// overtake each other.
    #[inline]
    pub fn deliver(&mut self, label: Label, station: u32) -> Result<(), Broken> {
        let slot = match label.slot {
            Flow::BY_NUMBER => self.numbers.get(&label.flow).copied().unwrap_or(label.slot),
            slot => slot,
        };
        let Some(Some(flow)) = self.slots.get_mut(slot as usize) else { return Ok(()) };
        if flow.spec.id != label.flow || flow.ends[1] != Some(station) {
            return Ok(());
        }
        // Serial numbers may wrap around; half their range is far more than can be in flight.
        if label.serial.wrapping_sub(flow.delivered) as i32 <= 0 {
            let Label { flow: id, serial, .. } = label;
            return Err(Broken::Order { flow: id, serial, after: flow.delivered });
        }
        flow.delivered = label.serial;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NodeId;
    use proptest::prelude::*;
    use units::Priority;

    fn spec(id: u32) -> FlowSpec {
        FlowSpec {
            id: FlowId(id),
            start: Nanos(0),
            source: NodeId(0),
            destination: NodeId(1),
            bytes: Some(1),
            stop: None,
            again_until: None,
            priority: Priority::from_low_bits(3),
            group: 0,
        }
    }

    fn flow(id: u32) -> Flow {
        Flow::new(spec(id), [Some(0), Some(1)], Interval::ZERO)
    }

    #[test]
    fn a_frame_that_was_overtaken_is_found_at_its_receiver_and_nowhere_else() {
        let mut flows = Flows::default();
        flows.start(flow(0));
        let labels: Vec<_> = (0..3).map(|_| flows.label(FlowId(0)).unwrap()).collect();
        assert_eq!(flows.deliver(labels[1], 1), Ok(()), "the first one was lost");
        assert_eq!(flows.deliver(labels[0], 2), Ok(()), "a copy at someone else's");
        let broken = Broken::Order { flow: FlowId(0), serial: 1, after: 2 };
        assert_eq!(flows.deliver(labels[0], 1), Err(broken));
        assert!(flows.deliver(labels[1], 1).is_err(), "nothing is delivered twice");
        assert_eq!(flows.deliver(labels[2], 1), Ok(()));
    }

    #[test]
    fn a_flow_from_another_part_may_have_ended_once_it_has_arrived_and_concerns_its_receiver_only() {
        let mut flows = Flows::default();
        let mut from_elsewhere = flow(0);
        from_elsewhere.ends = [None, Some(1)];
        flows.insert(from_elsewhere);
        flows.start(flow(1));
        let at = |flows: &Flows, station, by| flows.may_have_ended([Some(station), Some(7)], Nanos(by));
        assert!(!at(&flows, 1, 1_000), "it has not arrived");
        flows.note_received(FlowId(0), Nanos(500), 1);
        flows.note_received(FlowId(1), Nanos(500), 1);
        assert_eq!([499, 500].map(|by| at(&flows, 1, by)), [false, true]);
        assert!(!at(&flows, 0, 1_000), "another station");
        flows.note_received(FlowId(0), Nanos(600), 1);
        assert_eq!([599, 600].map(|by| at(&flows, 1, by)), [false, true], "only the last instant counts");
        flows.forget(FlowId(0));
        assert!(!at(&flows, 1, 1_000), "that within this part is known");
        assert!(!flows.has_arrived());
    }

    proptest! {
        #[test]
        fn a_flow_that_may_have_ended_is_found_as_by_a_walk_over_all_flows(
            steps in proptest::collection::vec((0_u32..6, 0_u8..4, 0_u64..50), 1..80),
            by in 0_u64..50,
        ) {
            let mut flows = Flows::default();
            for (id, step, at) in steps {
                let is_there = flows.numbers.contains_key(&FlowId(id));
                match step {
                    0 if !is_there => {
                        // Half of the flows come from another part.
                        let from = (id % 2 == 0).then_some(0);
                        flows.insert(Flow::new(spec(id), [from, Some(id % 3)], Interval::ZERO));
                    }
                    1 => drop(flows.forget(FlowId(id))),
                    _ => drop(flows.note_received(FlowId(id), Nanos(at), 1)),
                }
            }
            for stations in [[Some(0), None], [Some(1), Some(2)], [None, None]] {
                let by_walk = flows.slots.iter().flatten().any(|flow| {
                    let has_arrived = flow.received.is_some_and(|received| received <= Nanos(by));
                    has_arrived && flow.ends[0].is_none() && stations.contains(&flow.ends[1])
                });
                prop_assert_eq!(flows.may_have_ended(stations, Nanos(by)), by_walk);
            }
        }
    }

    #[test]
    fn what_is_left_of_a_flow_that_is_over_is_nobodys() {
        let mut flows = Flows::default();
        flows.start(flow(0));
        let label = flows.label(FlowId(0)).unwrap();
        assert_eq!((flows.active(), flows.end(FlowId(0)).unwrap().spec), (1, spec(0)));
        flows.start(flow(7));
        flows.label(FlowId(7)).unwrap();
        assert_eq!(flows.deliver(label, 1), Ok(()));
        assert_eq!(flows.label(FlowId(0)), None);
        assert_eq!((flows.active(), flows.started, flows.ended), (1, 2, 1));
        assert_eq!(flows.slots.len(), 1, "its place was used again");
    }
}
