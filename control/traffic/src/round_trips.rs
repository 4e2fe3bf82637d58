//! Round trips: the time from a packet of data to its acknowledgement, by the clock of the sender alone.

use crate::packet::Packet;
use crate::plan::PlannedEnd;
use core::net::IpAddr;
use endpoint::FlowId;
use std::collections::{BTreeMap, VecDeque};
use units::{Interval, Nanos};
use wire::roce::{Opcode, Psn, QueuePair};

/// The most packets of a flow that wait for their acknowledgements; those beyond are not measured.
const WAITING_MAX: usize = 1 << 16;

/// A flow that is being sent.
#[derive(Debug)]
struct Flow {
    local: QueuePair,
    peer: IpAddr,
    group: u16,
    /// The sequence number behind the last packet that was sent for the first time.
    next: Psn,
    /// Packets that asked for an acknowledgement, and when they left, oldest first.
    waiting: VecDeque<(Psn, Nanos)>,
}

/// The round trips of the flows of a host. It allocates where a flow has more packets under way than ever before, and
/// never else.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    flows: BTreeMap<FlowId, Flow>,
    /// The flows by the queue pair of this host.
    by_queue_pair: BTreeMap<QueuePair, FlowId>,
    /// Acknowledgements that arrived, negative ones among them.
    pub answers: u64,
}

impl RoundTrips {
    /// Begins with a flow.
    pub fn open(&mut self, end: &PlannedEnd) {
        let connection = &end.connection;
        let (local, peer, next) = (connection.local, connection.peer, connection.first_psn);
        let flow = Flow { local, peer, group: end.group, next, waiting: VecDeque::new() };
        self.flows.insert(connection.flow, flow);
        self.by_queue_pair.insert(local, connection.flow);
    }

    /// Forgets a flow that has ended.
    pub fn close(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.remove(&flow) {
            self.by_queue_pair.remove(&flow.local);
        }
    }

    /// Notes a packet of data that leaves.
    pub fn on_sent(&mut self, now: Nanos, flow: FlowId, psn: Psn, ack_requested: bool) {
        let Some(flow) = self.flows.get_mut(&flow) else { return };
        if psn.distance_from(flow.next) < 0 {
            // An acknowledgement could be for either transmission (Karn's rule), and one for a later packet may have
            // waited for this one.
            while flow.waiting.pop_back_if(|(waiting, _)| waiting.distance_from(psn) >= 0).is_some() {}
            return;
        }
        flow.next = psn.advanced_by(1);
        if ack_requested && flow.waiting.len() < WAITING_MAX {
            flow.waiting.push_back((psn, now));
        }
    }

    /// Notes a packet that has arrived. Returns the round trip of the packet that it acknowledges, with the group of its
    /// flow; `None` if it acknowledges none that was measured. Negative acknowledgements measure nothing: what they
    /// answer is a later packet.
    pub fn on_arrived(&mut self, now: Nanos, packet: &Packet<'_>) -> Option<(u16, Interval)> {
        if packet.bth.opcode() != Opcode::RC_ACKNOWLEDGE {
            return None;
        }
        let flow = self.by_queue_pair.get(&packet.bth.destination_qp())?;
        let flow = self.flows.get_mut(flow).filter(|it| it.peer == packet.source)?;
        self.answers += 1;
        if !packet.is_positive() {
            return None;
        }
        let (psn, mut found) = (packet.bth.psn(), None);
        while let Some((acknowledged, sent)) =
            flow.waiting.pop_front_if(|(waiting, _)| waiting.distance_from(psn) <= 0)
        {
            found = (acknowledged == psn).then(|| (flow.group, now.since(sent)));
        }
        found
    }
}
