//! Handoffs between shards.

use super::*;
use crate::flows::notifications::Notification;
use crate::ledger::Volume;
use crate::reason::DropReason;
use crate::shard::fabric::outbox::{Handoff, Outbox, Payload};
use core::net::Ipv4Addr;
use units::PortSet;
use wire::ip::{Dscp, Ecn};
use wire::roce::{QueuePair, cnp};

fn cnp() -> Notification {
    Notification::Cnp(cnp::Frame {
        destination_mac: MacAddress([2, 0, 0, 1, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 1, 0, 2]),
        tag: None,
        addresses: cnp::Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 2),
            destination: Ipv4Addr::new(10, 0, 0, 1),
            identification: 1,
        },
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        ttl: 64,
        source_port: 49_152,
        destination_qp: QueuePair::from_low_bits(7),
    })
}

/// A switch of two shards: port A belongs to the first, and port B to the second.
struct Pair {
    program: Program,
    fabrics: [Fabric<Routed>; 2],
    labels: core::ops::RangeFrom<u64>,
}

impl Pair {
    fn new() -> Self {
        let program = Program::new(settings(vec![port(0, &[]), port(1, &[])])).unwrap();
        let (ledger, owners) = (Arc::new(Ledger::new(2, 2)), vec![ShardId(0), ShardId(1)]);
        let fabric = |id| Fabric::new(ShardId(id), &program, Arc::clone(&ledger), owners.clone());
        let fabrics = [fabric(0), fabric(1)];
        Self { program, fabrics, labels: 0.. }
    }

    /// Takes frames of 1,000 bytes in through port A for port B.
    fn inject(&mut self, priority: Priority, count: usize) {
        let frame = Routed::new(B, priority, priority.into(), 1_000);
        let labels = self.labels.by_ref().take(count);
        let mut frames: Vec<_> = labels.map(|label| Routed { label, ..frame.clone() }).collect();
        let mut out = Out { sent: Vec::new(), room: usize::MAX, takes_lone: true };
        self.fabrics[0].ingress(Nanos(0), A, &mut frames, &self.program, &mut out, |_, _, frame| {
            (Verdict::Forward(frame.to), frame.queue)
        });
        assert_eq!(out.sent, [], "the port is of another shard");
    }

    /// Carries an outbox over. Returns the number of handoffs in it.
    fn carry(&mut self) -> usize {
        let mut handoffs = core::mem::take(self.fabrics[0].outbox(ShardId(1)));
        let count = handoffs.len();
        self.fabrics[1].accept(Nanos(0), &mut handoffs);
        count
    }

    /// Lets everything leave through port B. Returns the labels.
    fn leave(&mut self) -> Vec<u64> {
        let mut out = Out { sent: Vec::new(), room: usize::MAX, takes_lone: false };
        let (mut now, fabric) = (Nanos(0), &mut self.fabrics[1]);
        while now != Nanos::NEVER {
            fabric.egress(now, B, &self.program, &mut out);
            now = fabric.port_deadline(B);
        }
        out.sent.into_iter().map(|frame| frame.label).collect()
    }

    /// Frames of `priority` that found no room on the way.
    fn refused(&self, priority: Priority) -> Volume {
        let dropped = self.fabrics[0].ingress[A.index()].counters.dropped[priority.index()];
        assert_eq!(dropped.iter().copied().sum::<Volume>(), dropped[DropReason::HandoffFull.index()]);
        dropped[DropReason::HandoffFull.index()]
    }

    fn occupancy(&self, priority: Priority) -> u64 {
        self.fabrics[0].ingress[A.index()].groups[priority.index()].occupancy().0
    }
}

#[test]
fn frames_for_another_shard_leave_in_order_and_wait_where_its_outbox_is_full() {
    let mut pair = Pair::new();
    (0..6).for_each(|_| pair.inject(P3, 100));
    assert_eq!(pair.fabrics[0].held_back(), 600 - 256);
    let first = pair.fabrics[0].outbox(ShardId(1)).first().and_then(Handoff::frame);
    assert_eq!(first.map(|(from, frame)| (from, frame.label)), Some((A, 0)));
    let carried = [(); 4].map(|()| pair.carry());
    assert_eq!(carried, [256, 256, 88, 0]);
    // A frame of 1,000 bytes takes 63 cells and one for its label.
    assert_eq!(pair.occupancy(P3), 600 * 1_024);
    assert_eq!(pair.leave(), (0..600).collect::<Vec<_>>());
    assert_eq!(pair.occupancy(P3), 600 * 1_024, "the shard has not looked");
    pair.fabrics[0].look_at_other_shards();
    assert_eq!(pair.occupancy(P3), 0);
    pair.inject(P3, 1);
    assert_eq!((pair.carry(), pair.leave(), pair.fabrics[0].held_back()), (1, vec![600], 344));
}

#[test]
fn lossy_frames_are_dropped_where_4096_wait_for_another_shard_and_lossless_ones_never() {
    for burst in [1, 8] {
        let mut pair = Pair::new();
        (0..(256 + 4_096) / 8).for_each(|_| pair.inject(P0, 8));
        assert_eq!(pair.refused(P0), Volume::ZERO);
        pair.inject(P0, burst);
        pair.inject(P3, burst);
        let refused = Volume { frames: burst as u64, bytes: Bytes(1_000 * burst as u64) };
        assert_eq!((pair.refused(P0), pair.refused(P3)), (refused, Volume::ZERO));
        assert_eq!(pair.occupancy(P0), (256 + 4_096) * 1_024, "those that are dropped are not charged");
        let received = |priority: Priority| {
            pair.fabrics[0].ingress[A.index()].counters.received[priority.index()].frames
        };
        assert_eq!([P0, P3].map(received), [256 + 4_096 + burst as u64, burst as u64]);
        while pair.carry() > 0 {}
        let mut left = pair.leave();
        left.sort_unstable();
        let (lossy, next) = (256 + 4_096, 256 + 4_096 + burst as u64);
        assert_eq!(left, (0..lossy).chain(next..next + burst as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_shard_sees_what_the_other_holds_of_the_pools() {
    let mut pair = Pair::new();
    pair.inject(P3, 5);
    pair.inject(P0, 3);
    let held = pair.fabrics[0].pools.held();
    assert_eq!((held.shared, held.egress_lossy), (Bytes(8 * 1_024), Bytes::ZERO));
    pair.fabrics[1].look_at_other_shards();
    let others = |fabric: &Fabric<Routed>| {
        let pools = &fabric.pools;
        (pools.shared.others, pools.headroom.others, pools.egress_lossy.others)
    };
    assert_eq!(others(&pair.fabrics[1]), (held.shared, held.headroom, held.egress_lossy));
    assert_eq!(pair.carry(), 8);
    let lossy = pair.fabrics[1].pools.held();
    assert_eq!((lossy.shared, lossy.egress_lossy), (Bytes::ZERO, Bytes(3 * 1_024)));
    pair.fabrics[0].look_at_other_shards();
    assert_eq!(others(&pair.fabrics[0]), (lossy.shared, lossy.headroom, lossy.egress_lossy));
    pair.leave();
    pair.fabrics[0].look_at_other_shards();
    assert_eq!((pair.fabrics[0].pools.held(), others(&pair.fabrics[0])), Default::default());
}

#[test]
fn a_notification_goes_to_another_shard_where_its_outbox_has_room() {
    let mut outbox = Outbox::<Routed>::new();
    let taken: Vec<_> = (0..300).map(|_| outbox.notify(B, cnp())).collect();
    assert_eq!(taken, [vec![true; 256], vec![false; 44]].concat());
    assert_eq!((outbox.ready.len(), outbox.room()), (256, 0));
    assert!(outbox.ready.iter().all(|handoff| handoff.egress == B && handoff.frame().is_none()));
}

#[test]
fn a_notification_from_another_shard_changes_the_deadline_of_its_port() {
    let program = Program::new(settings(vec![port(0, &[]), port(1, &[])])).unwrap();
    let ledger = Arc::new(Ledger::new(2, 2));
    let mut fabric = Fabric::<Routed>::new(ShardId(0), &program, ledger, vec![ShardId(0), ShardId(1)]);
    assert!(fabric.has_changed());
    assert_eq!((fabric.take_changed(), fabric.port_deadline(A)), (PortSet::first(2), Nanos::NEVER));
    assert_eq!((fabric.has_changed(), fabric.next_deadline()), (false, Nanos::NEVER));
    fabric.accept(Nanos(5), &mut vec![Handoff { egress: A, payload: Payload::Notification(cnp()) }]);
    assert_eq!(fabric.port_deadline(A), Nanos::ZERO);
    assert_eq!(fabric.take_changed(), [A].into_iter().collect::<PortSet>());
}
