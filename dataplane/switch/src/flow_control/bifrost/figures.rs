//! The figures of Bifrost. All bytes are bytes on the wire.

use super::{BifrostReport, SlotCounters, SlotState};
use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, SeriesKind, Table};
use crate::program;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "bifrost",
    view: "slots",
    runs_on: |settings| settings.bifrost().is_some(),
    report: &[Section {
        name: "",
        figures: &[
            Figure::gauge("slot_ns", |it| Some(settings(it)?.slot.into())),
            Figure::gauge("buffer_wire_bytes", |it| Some(settings(it)?.buffer.into())),
            Figure::counter("slots", |it| Some(slots(it)?.slots.into())),
            Figure::counter("paused_slots", |it| Some(slots(it)?.paused_slots.into())),
            Figure::counter("fully_paused_slots", |it| Some(slots(it)?.fully_paused_slots.into())),
            Figure::counter("granted_wire_bytes", |it| Some(slots(it)?.granted.into())),
            Figure::counter("late_charge_wire_bytes", |it| Some(slots(it)?.late_charge.into())),
            Figure::gauge("longest_queue_wire_bytes", |it| Some(slots(it)?.longest_queue.into()))
                .of_run("longest_queue_wire_bytes"),
            Figure::gauge("peak_wire_bytes", |it| Some(slots(it)?.peak.into())).of_run("peak_wire_bytes"),
            Figure::delay("lateness", |it| Some((&slots(it)?.lateness).into())),
            Figure::counter("late_slots", |it| Some(slots(it)?.late_slots.into())).shown(
                "bifrost_late_slots",
                "late slots",
                "Slots that ended later than the buffer provides for.",
            ),
            Figure::gauge("longest_full_pause_ns", |it| Some(slots(it)?.longest_full_pause.into()))
                .shown(
                    "bifrost_longest_full_pause",
                    "full pause",
                    "Longest time over which successive slots granted nothing.",
                )
                .of_run("longest_full_pause_ns"),
        ],
    }],
    now: &[Section {
        name: "slot",
        figures: &[
            Figure::gauge("queue_wire_bytes", |it| Some(last(it)?.queue.into())),
            Figure::gauge("incoming_wire_bytes", |it| Some(last(it)?.incoming.into()))
                .sampled("bifrost_virtual_incoming_wire_bytes", "virtual incoming (F)", SeriesKind::Slot)
                .plotted("Bifrost virtual incoming bytes"),
            Figure::gauge("grant_wire_bytes", |it| Some(last(it)?.grant.into()))
                .sampled("bifrost_granted_wire_bytes", "granted per slot", SeriesKind::Slot)
                .plotted("Bifrost grant per slot"),
        ],
    }],
    metrics: &[
        Metric {
            name: "bifrost_slots",
            help: "Completed Bifrost slots, by how much of each was granted.",
            samples: Samples::By(
                "granted",
                &[
                    ("all", "slots", &["paused_slots"]),
                    ("part", "paused_slots", &["fully_paused_slots"]),
                    ("none", "fully_paused_slots", &[]),
                ],
            ),
        },
        Metric {
            name: "bifrost_granted",
            help: "Bytes that Bifrost has granted, on the wire.",
            samples: Samples::One("granted_wire_bytes"),
        },
        Metric {
            name: "bifrost_late_charge",
            help: "Bytes that Bifrost has charged because slots ended late, on the wire.",
            samples: Samples::One("late_charge_wire_bytes"),
        },
        Metric {
            name: "bifrost_buffer",
            help: "H: the buffer size that Bifrost keeps within, on the wire.",
            samples: Samples::One("buffer_wire_bytes"),
        },
        Metric {
            name: "bifrost_peak",
            help: "Highest sum of queue and virtual incoming bytes, on the wire.",
            samples: Samples::One("peak_wire_bytes"),
        },
        Metric {
            name: "bifrost_virtual_incoming",
            help: "F at the end of the last slot: bytes that may still arrive, on the wire.",
            samples: Samples::One("slot.incoming_wire_bytes"),
        },
        Metric {
            name: "bifrost_slot_lateness",
            help: "How late Bifrost slots ended.",
            samples: Samples::One("lateness"),
        },
    ],
    tables: &[
        Table {
            title: "BIFROST: slots and grants, in bytes on the wire",
            in_summary: true,
            columns: &[
                ("slots", &["slots"]),
                ("length", &["slot_ns"]),
                ("paused", &["paused_slots"]),
                ("fully paused", &["fully_paused_slots"]),
                ("granted", &["granted_wire_bytes"]),
                ("longest queue", &["longest_queue_wire_bytes"]),
                ("H", &["buffer_wire_bytes"]),
            ],
        },
        Table {
            title: "LAST SLOT: queue L, virtual incoming bytes F, and grant; lateness of all slots",
            in_summary: false,
            columns: &[
                ("L", &["slot.queue_wire_bytes"]),
                ("F", &["slot.incoming_wire_bytes"]),
                ("grant", &["slot.grant_wire_bytes"]),
                ("peak", &["peak_wire_bytes"]),
                ("late charge", &["late_charge_wire_bytes"]),
                ("late p50", &["lateness.p50_ns"]),
                ("late p99", &["lateness.p99_ns"]),
                ("late max", &["lateness.max_ns"]),
            ],
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
