//! The figures of Bifrost. All bytes are bytes on the wire.

use super::{BifrostReport, SlotCounters, SlotState};
use crate::figure::{FigureList, Metric, Seen, SeriesKind, figures, metric, table};
use crate::program;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "bifrost",
    about: "Totals over the slots of [Bifrost](bifrost.md), or of the schemes that build on it.",
    view: "slots",
    runs_on: |settings| settings.bifrost().is_some(),
    report: &[figures! { "", |it|
        /// T: the length of a slot.
        gauge slot_ns = settings(it)?.slot;
        /// H: the buffer size that Bifrost keeps within, on the wire.
        gauge buffer_wire_bytes = settings(it)?.buffer;
        /// Slots that have ended; a port at rest has none.
        counter slots = slots(it)?.slots;
        /// Slots that were not granted in full.
        counter paused_slots = slots(it)?.paused_slots;
        /// Slots that were not granted at all.
        counter fully_paused_slots = slots(it)?.fully_paused_slots;
        /// Bytes that Bifrost has granted, on the wire.
        counter granted_wire_bytes = slots(it)?.granted;
        /// Bytes that Bifrost has charged because slots ended late, on the wire.
        counter late_charge_wire_bytes = slots(it)?.late_charge;
        /// Longest queue at the end of a slot.
        gauge longest_queue_wire_bytes = slots(it)?.longest_queue, of_run("longest_queue_wire_bytes");
        /// Highest sum of queue and virtual incoming bytes, on the wire.
        gauge peak_wire_bytes = slots(it)?.peak, of_run("peak_wire_bytes");
        /// How late Bifrost slots ended.
        delay lateness = &slots(it)?.lateness;
        /// Slots that ended later than the buffer provides for.
        counter late_slots = slots(it)?.late_slots, shown("bifrost_late_slots", "late slots");
        /// Longest time over which successive slots granted nothing.
        gauge longest_full_pause_ns = slots(it)?.longest_full_pause,
            shown("bifrost_longest_full_pause", "full pause"), of_run("longest_full_pause_ns");
    }],
    now: &[figures! { "slot", |it|
        /// L: the queue at the end of the last slot.
        gauge queue_wire_bytes = last(it)?.queue;
        /// F at the end of the last slot: bytes that may still arrive, on the wire.
        gauge incoming_wire_bytes = last(it)?.incoming,
            sampled("bifrost_virtual_incoming_wire_bytes", "virtual incoming (F)", SeriesKind::Slot),
            plotted("Bifrost virtual incoming bytes");
        /// Bytes that the end of the last slot granted for the next one.
        gauge grant_wire_bytes = last(it)?.grant,
            sampled("bifrost_granted_wire_bytes", "granted per slot", SeriesKind::Slot),
            plotted("Bifrost grant per slot");
    }],
    metrics: &[
        metric! {
            /// Completed Bifrost slots, by how much of each was granted.
            "bifrost_slots" by "granted":
            "all": "slots" - "paused_slots"; "part": "paused_slots" - "fully_paused_slots";
            "none": "fully_paused_slots";
        },
        Metric::one("bifrost_granted", "granted_wire_bytes"),
        Metric::one("bifrost_late_charge", "late_charge_wire_bytes"),
        Metric::one("bifrost_buffer", "buffer_wire_bytes"),
        Metric::one("bifrost_peak", "peak_wire_bytes"),
        Metric::one("bifrost_virtual_incoming", "slot.incoming_wire_bytes"),
        Metric::one("bifrost_slot_lateness", "lateness"),
    ],
    tables: &[
        table! { "BIFROST: slots and grants, in bytes on the wire":
            "slots": "slots"; "length": "slot_ns"; "paused": "paused_slots";
            "fully paused": "fully_paused_slots"; "granted": "granted_wire_bytes";
            "longest queue": "longest_queue_wire_bytes"; "H": "buffer_wire_bytes";
        }
        .summarized(),
        table! { "LAST SLOT: queue L, virtual incoming bytes F, and grant; lateness of all slots":
            "L": "slot.queue_wire_bytes"; "F": "slot.incoming_wire_bytes"; "grant": "slot.grant_wire_bytes";
            "peak": "peak_wire_bytes"; "late charge": "late_charge_wire_bytes";
            "late p50": "lateness.p50_ns"; "late p99": "lateness.p99_ns"; "late max": "lateness.max_ns";
        },
    ],
};

fn settings(seen: Seen<'_>) -> Option<&program::Bifrost> {
    seen.settings.bifrost().filter(|_| report(seen).is_some())
}

fn slots(seen: Seen<'_>) -> Option<&SlotCounters> {
    report(seen).filter(|_| seen.settings.bifrost().is_some()).map(|it| &it.slots)
}

fn last(seen: Seen<'_>) -> Option<&SlotState> {
    report(seen)?.last.as_ref()
}

fn report(seen: Seen<'_>) -> Option<&BifrostReport> {
    seen.look.flow_control.bifrost()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::flow_control::{FlowControl, SchemeReport};
    use crate::histogram::DelayHistogram;
    use crate::program::{PortSettings, VirtualIncoming};
    use crate::shard::PortInspection;
    use core::num::NonZeroU32;
    use units::{BitRate, Interval, WireBytes};
    use wire::ethernet::MacAddress;

    fn port(flow_control: FlowControl) -> PortSettings {
        let port = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
        PortSettings { flow_control, ..port }
    }

    fn bifrost() -> PortSettings {
        port(FlowControl::Bifrost(program::Bifrost {
            buffer: WireBytes(11),
            slot: Interval(12),
            round_trip: Interval(13),
            check_every: NonZeroU32::MIN,
            virtual_incoming: VirtualIncoming::Counter,
            holdover: Interval(14),
            lateness: Interval(15),
        }))
    }

    fn look(last: Option<SlotState>) -> PortInspection {
        let slots = SlotCounters {
            slots: 21,
            paused_slots: 22,
            fully_paused_slots: 23,
            longest_full_pause: Interval(24),
            granted: WireBytes(25),
            late_charge: WireBytes(26),
            lateness: DelayHistogram::default(),
            late_slots: 27,
            longest_queue: WireBytes(28),
            peak: WireBytes(29),
        };
        let flow_control = SchemeReport::Bifrost(BifrostReport { slots, last });
        PortInspection { flow_control, ..PortInspection::default() }
    }

    fn readings<'a>(settings: &'a PortSettings, look: &'a PortInspection) -> Vec<(String, Reading<'a>)> {
        let seen = Seen { settings, look };
        FIGURES.figures().filter_map(|(path, figure)| Some((path, figure.read(seen)?))).collect()
    }

    #[test]
    fn each_figure_reads_its_own_setting_counter_or_level() {
        let last = SlotState { queue: WireBytes(31), incoming: WireBytes(32), grant: WireBytes(33) };
        let (settings, look) = (bifrost(), look(Some(last)));
        let delay = DelayHistogram::default();
        let expected = [
            ("slot_ns", Reading::Number(12)),
            ("buffer_wire_bytes", Reading::Number(11)),
            ("slots", Reading::Number(21)),
            ("paused_slots", Reading::Number(22)),
            ("fully_paused_slots", Reading::Number(23)),
            ("granted_wire_bytes", Reading::Number(25)),
            ("late_charge_wire_bytes", Reading::Number(26)),
            ("longest_queue_wire_bytes", Reading::Number(28)),
            ("peak_wire_bytes", Reading::Number(29)),
            ("lateness", Reading::Delay(&delay)),
            ("late_slots", Reading::Number(27)),
            ("longest_full_pause_ns", Reading::Number(24)),
            ("slot.queue_wire_bytes", Reading::Number(31)),
            ("slot.incoming_wire_bytes", Reading::Number(32)),
            ("slot.grant_wire_bytes", Reading::Number(33)),
        ];
        assert_eq!(readings(&settings, &look), expected.map(|(path, reading)| (path.to_owned(), reading)));
        assert!((FIGURES.runs_on)(&settings));
    }

    #[test]
    fn a_port_without_bifrost_has_no_figures_and_one_before_its_first_slot_has_no_slot() {
        let (settings, before) = (bifrost(), look(None));
        let paths: Vec<_> = readings(&settings, &before).into_iter().map(|(path, _)| path).collect();
        assert_eq!((paths.len(), paths.iter().any(|path| path.starts_with("slot."))), (12, false));
        let pfc = port(FlowControl::Pfc);
        assert_eq!(readings(&pfc, &before), []);
        assert_eq!(
            readings(&settings, &PortInspection::default()),
            [],
            "its settings are newer than its report"
        );
        assert!(!(FIGURES.runs_on)(&pfc));
    }
}
