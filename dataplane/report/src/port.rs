//! One port.

use crate::{ByReason, FiguresReport, Name, PriorityReport, by_reason, dropped};
use serde::{Deserialize, Serialize};
use switch::program::PortSettings;
use switch::{Consumed, PerReason, PortInspection, Volume};
use units::Priority;

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortReport {
    /// The name of the port.
    pub name: String,
    /// Rate of its link.
    pub rate_bits_per_second: u64,
    /// Frames that came in.
    #[serde(rename = "in")]
    pub arrived: Volume,
    /// Data frames that went out.
    pub out: Volume,
    /// Frames that the gateway generated: PFC, grants, rate feedback, CNPs, direct INT, peer delay, LLDP.
    pub control_out: Volume,
    /// Frames that the gateway kept, by kind.
    pub consumed: ByReason,
    /// Frames from this port that were dropped before admission, by reason.
    pub dropped_at_ingress: ByReason,
    /// Frames for this port that were dropped at its queues, by reason.
    pub dropped_at_egress: ByReason,
    /// An object for each of [`switch::figure::LISTS`], among these keys; null where its owner does not run.
    #[serde(flatten, deserialize_with = "FiguresReport::read")]
    pub figures: FiguresReport,
    /// The eight priorities in order.
    pub priorities: Vec<PriorityReport>,
}

impl PortReport {
    /// The port with `settings`, as `look` found it. The frames that came in and went out are by the counters of the
    /// switch.
    pub fn new(settings: &PortSettings, look: &PortInspection) -> Self {
        let counters = &look.ingress;
        let (mut at_ingress, mut at_egress) = (PerReason::default(), look.queues[0].dropped);
        counters.dropped.iter().for_each(|priority| add(&mut at_ingress, priority));
        look.queues[1..].iter().for_each(|queue| add(&mut at_egress, &queue.dropped));
        Self {
            name: settings.name.clone(),
            rate_bits_per_second: settings.rate.bits_per_second(),
            arrived: counters.received.iter().chain(&counters.consumed).copied().sum(),
            out: look.queues.iter().map(|queue| queue.counters.transmitted).sum(),
            control_out: look.control_sent,
            consumed: by_reason(Consumed::ALL.map(Consumed::name), &counters.consumed),
            dropped_at_ingress: dropped(&at_ingress),
            dropped_at_egress: dropped(&at_egress),
            figures: FiguresReport::new(settings, look),
            priorities: Priority::all().map(|it| PriorityReport::new(settings, look, it)).collect(),
        }
    }

    /// Every drop: at `"in"` or at `"out"`, why, and how much.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, &Name, Volume)> {
        let at = |place: &'static str, reasons| {
            let reasons: &ByReason = reasons;
            reasons.iter().map(move |(reason, count)| (place, reason, *count))
        };
        at("in", &self.dropped_at_ingress).chain(at("out", &self.dropped_at_egress))
    }
}

fn add(sums: &mut PerReason<Volume>, volumes: &PerReason<Volume>) {
    for (sum, volume) in sums.iter_mut().zip(volumes) {
        *sum += *volume;
    }
}
