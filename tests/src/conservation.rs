//! Nothing comes from nothing and nothing is lost: the sums that hold at any instant.

use switch::{Frame, Shard, Volume};
use units::{Bytes, Nanos, PortId, Priority};

/// Checks every port and priority of a switch whose port n belongs to shard `owner(n)`, while no
/// frame is on its way between shards.
///
/// # Panics
/// Where a sum does not hold.
pub fn assert_conserved<'a, F: Frame + 'a>(
    ports: impl Iterator<Item = PortId> + Clone,
    now: Nanos,
    owner: impl Fn(PortId) -> &'a Shard<F>,
) {
    for port in ports.clone() {
        for priority in Priority::all() {
            assert_ingress(port, priority, now, ports.clone(), owner(port));
        }
        assert_egress(port, now, ports.clone(), owner(port));
    }
    assert_pools(ports, now, owner);
}

/// Checks that frames that arrived were admitted or dropped, and that the group holds those that are still inside.
fn assert_ingress<F: Frame>(
    port: PortId,
    priority: Priority,
    now: Nanos,
    ports: impl Iterator<Item = PortId>,
    shard: &Shard<F>,
) {
    let (counters, ledger, index) = (shard.ingress_counters(port), shard.ledger(), priority.index());
    let arrived = counters.received[index] + counters.copies[index] + counters.answers[index];
    let admitted: Volume = ports.map(|egress| ledger.admitted(port, egress, priority)).sum();
    let dropped: Volume = counters.dropped[index].iter().copied().sum();
    assert_eq!(arrived, admitted + dropped, "{port}, priority {priority}: arrived = admitted + dropped");

    let group = shard.group(now, port, priority);
    let inside = ledger.ingress_load(port, priority).cells.bytes();
    assert_eq!(group.occupancy, inside, "{port}, priority {priority}: the group against the ledger");
    assert!(group.headroom <= group.occupancy);
    assert!(group.headroom_watermark.since_cleared() >= group.headroom);
    assert!(
        group.watermark.since_cleared() >= group.occupancy - group.headroom,
        "{port}, priority {priority}: the group holds {} beside headroom, its watermark is {}",
        group.occupancy - group.headroom,
        group.watermark.since_cleared()
    );
    assert!(group.watermark.persistent() >= group.watermark.since_cleared());
}

/// Checks that the frames that were admitted wait, were sent, or were dropped on the way out: those of each priority, or once
/// a bridge has made copies those of all, because it charges copies of lossless frames to another priority than that of their queue.
fn assert_egress<F: Frame>(
    port: PortId,
    now: Nanos,
    ports: impl Iterator<Item = PortId> + Clone,
    shard: &Shard<F>,
) {
    let all: Vec<_> = Priority::all().collect();
    let has_copies = |port| shard.ingress_counters(port).copies.iter().any(|copies| copies.frames > 0);
    let together = if ports.clone().any(has_copies) { all.len() } else { 1 };
    for priorities in all.chunks(together) {
        assert_queues(port, priorities, now, ports.clone(), shard);
    }
}

fn assert_queues<F: Frame>(
    port: PortId,
    priorities: &[Priority],
    now: Nanos,
    ports: impl Iterator<Item = PortId> + Clone,
    shard: &Shard<F>,
) {
    let ledger = shard.ledger();
    // A frame that bounced waits in the queue of another priority than that of its group.
    let waits_here =
        |ingress, group: &Priority| priorities.contains(&shard.program().queue_of(ingress, port, *group));
    let sum = |figure: &dyn Fn(PortId, Priority) -> Volume| -> Volume {
        let groups = |ingress| Priority::all().filter(move |group| waits_here(ingress, group));
        ports.clone().flat_map(|ingress| groups(ingress).map(move |group| figure(ingress, group))).sum()
    };
    let admitted = sum(&|ingress, group| ledger.admitted(ingress, port, group));
    let departed = sum(&|ingress, group| ledger.departed(ingress, port, group));
    let discarded = sum(&|ingress, group| ledger.discarded(ingress, port, group));
    let inside = sum(&|ingress, group| ledger.occupancy(ingress, port, group).volume);
    let (mut waiting, mut dropped, mut sent) = (Volume::ZERO, Volume::ZERO, Volume::ZERO);
    for priority in priorities {
        let queue = shard.queue(now, port, *priority);
        waiting += queue.waiting;
        dropped += queue.dropped.iter().copied().sum();
        sent += queue.counters.transmitted;
        assert!(queue.watermark.since_cleared() >= queue.waiting.bytes);
        assert_eq!(shard.queue_delay(port, *priority).count(), queue.counters.transmitted.frames);
    }
    assert_eq!(admitted, departed + waiting, "{port}, {priorities:?}: admitted = departed + waiting");
    assert_eq!(departed, sent + dropped, "{port}, {priorities:?}: departed = sent + dropped");
    assert_eq!(discarded, dropped, "{port}, {priorities:?}: discarded");
    assert_eq!(inside, waiting);
}

/// The pools hold what groups and queues hold of them.
fn assert_pools<'a, F: Frame + 'a>(
    ports: impl Iterator<Item = PortId>,
    now: Nanos,
    owner: impl Fn(PortId) -> &'a Shard<F>,
) {
    let mut owners: Vec<&Shard<F>> = Vec::new();
    let (mut headroom, mut beside, mut reserved) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    for port in ports {
        let shard = owner(port);
        if !owners.iter().any(|known| core::ptr::eq(*known, shard)) {
            owners.push(shard);
        }
        for priority in Priority::all() {
            let group = shard.group(now, port, priority);
            headroom += group.headroom;
            beside += group.occupancy - group.headroom;
            let settings = shard.program().port(port).groups[priority.index()];
            reserved += settings.lossless().map_or(Bytes::ZERO, |group| group.reserved);
        }
    }
    let pools = || owners.iter().map(|shard| shard.pools());
    let held: Bytes = pools().map(|pools| pools.headroom.held).sum();
    assert_eq!(held, headroom, "the headroom pool holds what the groups hold of it");
    let shared: Bytes = pools().map(|pools| pools.shared.held).sum();
    assert!(shared <= beside && beside - shared <= reserved, "shared pool {shared}, groups {beside}");
    for pools in pools() {
        for pool in [pools.shared, pools.headroom, pools.egress_lossy] {
            assert!(pool.watermark.since_cleared() >= pool.held);
            assert!(pool.watermark.persistent() >= pool.watermark.since_cleared());
        }
    }
}
