//! Sums over all ports of a switch.

use crate::frame::SimFrame;
use crate::nodes::Switch;
use crate::violation::Broken;
use switch::{DropReason, Shard, Source, Volume};
use units::{Nanos, PortId, Priority};

fn ports(switch: &Switch) -> impl Iterator<Item = PortId> + use<> {
    (0..switch.out.len() as u16).map(PortId)
}

/// Each port of each lane.
fn lanes_and_ports(switch: &Switch) -> impl Iterator<Item = (&Shard<SimFrame>, PortId)> {
    switch.driver.lanes().iter().flat_map(|lane| ports(switch).map(move |port| (lane, port)))
}

/// The frames that the counters of a switch name as consumed or dropped.
pub(crate) fn named(switch: &Switch) -> Volume {
    let mut sum = Volume::ZERO;
    for (lane, port) in lanes_and_ports(switch) {
        let counters = lane.ingress_counters(port);
        let consumed: Volume = counters.consumed.iter().copied().sum();
        // An answer reuses the buffer of the consumed frame.
        let answered: Volume = counters.answers.iter().copied().sum();
        sum += consumed - answered;
        // A copy that nothing is left for is never made.
        let unmade = [DropReason::FloodLimit, DropReason::NoBuffer];
        for dropped in &counters.dropped {
            let unmade: Volume = unmade.map(|reason| dropped[reason.index()]).into_iter().sum();
            sum += dropped.iter().copied().sum::<Volume>() - unmade;
        }
        sum += egress_drops(lane, port).sum();
        // Frames that were kept in case they are lost, and the shims of those that came in.
        sum += lane.repair(port).map_or(Volume::ZERO, |it| it.near.dropped);
    }
    sum
}

/// The frames dropped at egress, by priority and reason.
fn egress_drops(lane: &Shard<SimFrame>, port: PortId) -> impl Iterator<Item = Volume> {
    Priority::all().flat_map(move |priority| {
        let dropped = lane.queue(Nanos::ZERO, port, priority).dropped;
        DropReason::ALL.map(|reason| dropped[reason.index()])
    })
}

/// A drop of a lossless frame that nothing explains, if there was one.
pub(crate) fn lossless_drop(switch: &Switch) -> Option<(PortId, Priority, DropReason)> {
    let lossless = |port: PortId| switch.program.port(port).lossless();
    for (lane, port) in lanes_and_ports(switch) {
        let dropped = &lane.ingress_counters(port).dropped;
        for priority in lossless(port).iter() {
            let mut reasons = DropReason::ALL.into_iter();
            let drop = reasons.find(|it| {
                dropped[priority.index()][it.index()].frames > 0 && !is_explained(switch, port, *it)
            });
            if let Some(reason) = drop {
                return Some((port, priority, reason));
            }
        }
    }
    None
}

/// Whether a lossless frame may be dropped at `port` for `reason`. Each group has its own headroom, and only
/// faults of its link can make more arrive than that. The headroom pool is shared, so a port that gets more
/// than it asked for takes it from all others.
fn is_explained(switch: &Switch, port: PortId, reason: DropReason) -> bool {
    match reason {
        // Headroom covers what arrives, and copies do not arrive.
        DropReason::PfcWatchdog | DropReason::FloodLimit => true,
        // The frame came before.
        DropReason::RepairDuplicate => true,
        DropReason::HeadroomExceeded => switch.unreliable.contains(port),
        DropReason::HeadroomPoolFull => !switch.unreliable.is_empty(),
        _ => false,
    }
}

/// Checks that each port is due at the instant that it last announced.
pub(crate) fn check_deadlines(switch: &Switch) -> Result<(), Broken> {
    for (port, said) in ports(switch).zip(&switch.deadlines) {
        let due = switch.driver.port_deadline(port);
        if due != *said {
            return Err(Broken::Deadline { node: switch.node, port, due, said: *said });
        }
    }
    Ok(())
}

/// Checks that ledger, queues and groups agree, and hold the frames that came in and did not leave.
pub(crate) fn check_ledger(switch: &Switch, now: Nanos) -> Result<(), Broken> {
    let node = switch.node;
    let mut held = Volume::ZERO;
    for (lane, port) in lanes_and_ports(switch) {
        held += check_queues(switch, lane, now, port)?;
        held += lane.repair(port).map_or(Volume::ZERO, |it| it.kept);
        for priority in Priority::all() {
            let group = lane.group(now, port, priority).occupancy;
            let ledger = lane.ledger().ingress_load(port, priority).cells.bytes();
            if group != ledger {
                return Err(Broken::Group { node, port, priority, group, ledger });
            }
        }
    }
    let expected = switch.held;
    if held == expected { Ok(()) } else { Err(Broken::Held { node, expected, ledger: held }) }
}

/// Checks that the ledger has what waits in the queues of `port`: in each, or in all once there were copies of flooded
/// frames, which may be charged to another priority than that of their queue. Returns the sum.
fn check_queues(switch: &Switch, lane: &Shard<SimFrame>, now: Nanos, port: PortId) -> Result<Volume, Broken> {
    let has_copies = |port| lane.ingress_counters(port).copies.iter().any(|copies| copies.frames > 0);
    let together = ports(switch).any(has_copies);
    let mut sums = [Volume::ZERO; 2];
    for (priority, charged) in Priority::all().zip(charged_to_queues(lane, port)) {
        let waiting = lane.queue(now, port, priority).waiting + lane.held(port, priority);
        sums = [sums[0] + waiting, sums[1] + charged];
        let is_last = priority.index() + 1 == Priority::COUNT;
        let [queued, ledger] = if together { sums } else { [waiting, charged] };
        if queued != ledger && (is_last || !together) {
            return Err(Broken::Ledger { node: switch.node, port, priority, queued, ledger });
        }
    }
    Ok(sums[1])
}

/// The frames that the ledger has in the queues of each priority at `egress`.
fn charged_to_queues(lane: &Shard<SimFrame>, egress: PortId) -> [Volume; Priority::COUNT] {
    let mut sums = [Volume::ZERO; Priority::COUNT];
    // With what repair holds.
    for (queue, source) in Source::of_port(lane.program(), &[lane.ledger()], egress, Default::default()) {
        sums[queue.index()] += source.waiting;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::options::Options;
    use crate::testing::line;
    use units::PortSet;

    #[test]
    fn a_faulty_link_explains_an_exceeded_headroom_at_its_port_and_what_all_ports_share_at_any() {
        let mut engine = Engine::new(line(), Options::default());
        let switch = engine.first_switch();
        let (near, far) = (PortId(0), PortId(1));
        let explained = |switch: &Switch, port| -> Vec<DropReason> {
            DropReason::ALL.into_iter().filter(|reason| is_explained(switch, port, *reason)).collect()
        };
        let (first, last) = (DropReason::RepairDuplicate, [DropReason::PfcWatchdog, DropReason::FloodLimit]);
        let always = [&[first], &last[..]].concat();
        assert_eq!(explained(switch, near), always);
        switch.unreliable = PortSet::EMPTY;
        switch.unreliable.insert(near);
        let shared = [&[first, DropReason::HeadroomPoolFull], &last[..]].concat();
        assert_eq!(explained(switch, far), shared);
        let all = [&[first, DropReason::HeadroomExceeded], &shared[1..]].concat();
        assert_eq!(explained(switch, near), all);
    }
}
