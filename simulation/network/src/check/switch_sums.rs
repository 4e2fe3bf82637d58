//! Sums over all ports of a switch.

use crate::engine::Switch;
use crate::violation::Broken;
use switch::{DropReason, Volume};
use units::{Nanos, PortId, Priority};

fn ports(switch: &Switch) -> impl Iterator<Item = PortId> + use<> {
    (0..switch.out.len() as u16).map(PortId)
}

/// What a switch says that it kept or dropped.
pub(super) fn named(switch: &Switch) -> Volume {
    let mut sum = Volume::ZERO;
    for port in ports(switch) {
        let counters = switch.shard.ingress_counters(port);
        let consumed: Volume = counters.consumed.iter().copied().sum();
        // An answer is made out of what was consumed.
        let answered: Volume = counters.answers.iter().copied().sum();
        sum += consumed - answered;
        sum += counters.dropped.iter().flatten().copied().sum();
        sum += egress_drops(switch, port).map(|(_, _, volume)| volume).sum();
    }
    sum
}

/// What was dropped at egress, by priority and reason.
fn egress_drops(switch: &Switch, port: PortId) -> impl Iterator<Item = (Priority, DropReason, Volume)> {
    Priority::all().flat_map(move |priority| {
        let dropped = switch.shard.queue(Nanos::ZERO, port, priority).dropped;
        DropReason::ALL.into_iter().map(move |reason| (priority, reason, dropped[reason.index()]))
    })
}

/// A drop of a frame that should not be lost, if there was one.
pub(super) fn lossless_drop(switch: &Switch) -> Option<(PortId, Priority, DropReason)> {
    let lossless = |port: PortId| switch.program.port(port).lossless();
    let anywhere: Vec<Priority> =
        Priority::all().filter(|it| ports(switch).any(|port| lossless(port).contains(*it))).collect();
    for port in ports(switch) {
        let dropped = &switch.shard.ingress_counters(port).dropped;
        for priority in lossless(port).iter() {
            let reasons = DropReason::ALL.into_iter();
            let drop = reasons.map(|it| (it, dropped[priority.index()][it.index()])).find(|it| is_loss(*it));
            if let Some((reason, _)) = drop {
                return Some((port, priority, reason));
            }
        }
        // Lossless frames pass egress admission, so what is dropped there by a threshold was lossy where it
        // came in.
        let drop = egress_drops(switch, port).find(|(priority, reason, volume)| {
            anywhere.contains(priority) && *reason == DropReason::NoDescriptor && volume.frames > 0
        });
        if let Some((priority, reason, _)) = drop {
            return Some((port, priority, reason));
        }
    }
    None
}

fn is_loss((reason, volume): (DropReason, Volume)) -> bool {
    volume.frames > 0 && reason != DropReason::PfcWatchdog
}

/// Each port wants to be called when it last said so.
pub(super) fn check_deadlines(switch: &Switch) -> Result<(), Broken> {
    for (port, said) in ports(switch).zip(&switch.deadlines) {
        let due = switch.shard.port_deadline(port);
        if due != *said {
            return Err(Broken::Deadline { node: switch.node, port, due, said: *said });
        }
    }
    Ok(())
}

/// Ledger, queues and groups say the same, and in all what came in and did not leave.
pub(super) fn check_ledger(switch: &Switch, now: Nanos) -> Result<(), Broken> {
    let (shard, node) = (&switch.shard, switch.node);
    let mut held = Volume::ZERO;
    for port in ports(switch) {
        for priority in Priority::all() {
            let (queued, ledger) =
                (shard.queue(now, port, priority).waiting, shard.ledger().egress_queue(port, priority));
            if queued != ledger {
                return Err(Broken::Ledger { node, port, priority, queued, ledger });
            }
            let group = shard.group(now, port, priority).occupancy;
            let ledger_of_group = shard.ledger().ingress_queue(port, priority).bytes;
            if group != ledger_of_group {
                return Err(Broken::Group { node, port, priority, group, ledger: ledger_of_group });
            }
            held += ledger;
        }
    }
    let expected = switch.held;
    if held == expected { Ok(()) } else { Err(Broken::Held { node, expected, ledger: held }) }
}
