//! One port.

use crate::{ByReason, Count, DelayReport, LsccReport, Name, PriorityReport, by_reason, dropped};
use serde::{Deserialize, Serialize};
use switch::program::PortSettings;
use switch::{BridgeCounters, Consumed, DropReason, PortInspection, Volume};
use units::Priority;

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Rate of its link.
    pub rate_bits_per_second: u64,
    /// Frames that came in.
    #[serde(rename = "in")]
    pub arrived: Count,
    /// Data frames that went out.
    pub out: Count,
    /// Control frames that the gateway sent.
    pub control_out: Count,
    /// Frames that the gateway kept, by kind.
    pub consumed: ByReason,
    /// Frames from this port that were dropped before they were admitted.
    pub dropped_at_ingress: ByReason,
    /// Frames for this port that were dropped at its queues.
    pub dropped_at_egress: ByReason,
    /// What stations behind the port did to what the bridge knows of others; `None` where nothing is bridged.
    pub bridge: Option<BridgeReport>,
    /// What the slots of Bifrost came to; `None` where it does not run.
    pub bifrost: Option<BifrostReport>,
    /// What LSCC did; `None` where it does not run.
    pub lscc: Option<LsccReport>,
    /// The eight priorities in order.
    pub priorities: Vec<PriorityReport>,
}

/// What stations behind one port did to what the bridge knows of others. Moves and displacements together are limited
/// to 1,000 at once and 1,000 a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeReport {
    /// Addresses that moved to the port from another one.
    pub moved_addresses: u64,
    /// Addresses that had not aged and were forgotten, in a full set or a full table, for a new one behind the port.
    pub displaced_addresses: u64,
    /// Changes of either kind that the limit refused: the frame went on, and nothing was learned from it.
    pub refused_changes: u64,
}

impl From<BridgeCounters> for BridgeReport {
    fn from(counters: BridgeCounters) -> Self {
        let BridgeCounters { moved, displaced, refused } = counters;
        Self { moved_addresses: moved, displaced_addresses: displaced, refused_changes: refused }
    }
}

/// Bifrost on one port. All bytes are bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BifrostReport {
    /// T.
    pub slot_ns: u64,
    /// H.
    pub buffer_wire_bytes: u64,
    /// Slots that have ended.
    pub slots: u64,
    /// Slots for part of which the upstream was paused, or all of which.
    pub paused_slots: u64,
    /// Slots that were paused entirely.
    pub fully_paused_slots: u64,
    /// What was granted.
    pub granted_wire_bytes: u64,
    /// What was charged because slots ended late.
    pub late_charge_wire_bytes: u64,
    /// The longest queue at the end of a slot.
    pub longest_queue_wire_bytes: u64,
    /// The highest sum of queue and virtual incoming bytes: above the buffer, something leaked.
    pub peak_wire_bytes: u64,
    /// How late slots ended.
    pub lateness: DelayReport,
    /// Slots that ended later than the buffer provides for.
    pub late_slots: u64,
}

impl PortReport {
    /// The port with `settings`, as `look` found it. What came in and went out is by the counters of the
    /// switch.
    pub fn new(settings: &PortSettings, look: &PortInspection) -> Self {
        let counters = &look.ingress;
        let (mut at_ingress, mut at_egress) =
            ([Volume::default(); DropReason::COUNT], look.queues[0].dropped);
        counters.dropped.iter().for_each(|priority| add(&mut at_ingress, priority));
        look.queues[1..].iter().for_each(|queue| add(&mut at_egress, &queue.dropped));
        Self {
            name: settings.name.clone(),
            rate_bits_per_second: settings.rate.bits_per_second(),
            arrived: counters.received.iter().chain(&counters.consumed).copied().sum::<Volume>().into(),
            out: look.queues.iter().map(|queue| Count::from(queue.counters.transmitted)).sum(),
            control_out: look.control_sent.into(),
            consumed: by_reason(Consumed::ALL.map(Consumed::name), &counters.consumed),
            dropped_at_ingress: dropped(&at_ingress),
            dropped_at_egress: dropped(&at_egress),
            bridge: look.bridge.map(BridgeReport::from),
            bifrost: BifrostReport::new(settings, look),
            lscc: LsccReport::new(settings, look),
            priorities: Priority::all().map(|it| PriorityReport::new(settings, look, it)).collect(),
        }
    }

    /// Every drop: at `"in"` or at `"out"`, why, and how much.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, &Name, Count)> {
        let at = |place: &'static str, reasons| {
            let reasons: &ByReason = reasons;
            reasons.iter().map(move |(reason, count)| (place, reason, *count))
        };
        at("in", &self.dropped_at_ingress).chain(at("out", &self.dropped_at_egress))
    }
}

fn add(sums: &mut [Volume], volumes: &[Volume]) {
    for (sum, volume) in sums.iter_mut().zip(volumes) {
        *sum += *volume;
    }
}

impl BifrostReport {
    fn new(settings: &PortSettings, look: &PortInspection) -> Option<Self> {
        let (settings, slots) = settings.bifrost().zip(look.slots.as_ref())?;
        Some(Self {
            slot_ns: settings.slot.0,
            buffer_wire_bytes: settings.buffer.0,
            slots: slots.slots,
            paused_slots: slots.paused_slots,
            fully_paused_slots: slots.fully_paused_slots,
            granted_wire_bytes: slots.granted.0,
            late_charge_wire_bytes: slots.late_charge.0,
            longest_queue_wire_bytes: slots.longest_queue.0,
            peak_wire_bytes: slots.peak.0,
            lateness: DelayReport::from(&slots.lateness),
            late_slots: slots.late_slots,
        })
    }
}
