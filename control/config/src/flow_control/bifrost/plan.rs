//! What a plan asks of Bifrost, and of the schemes that send their grants over the same slots.

use core::ops::RangeInclusive;
use switch::program::{Bifrost, FlowControl, PortSettings};
use units::{Bytes, Interval, WireBytes};

use super::{most_held, overrun};
use crate::plan::longest::{Longest, Sharing, Shown, group};
use crate::plan::planned::{Planned, Unreached, message, pause};
use crate::plan::step::Sheet;
use crate::repair::sum::and_repaired;
use crate::round_trip::peer_goes_on;

/// A scheme with slots.
pub(crate) struct Slots {
    /// The other end of the link must do this.
    pub needs: &'static str,
    /// The length of its message behind the Ethernet header; `None` for a pause.
    pub message: Option<usize>,
    /// Whether grants are dealt out from the highest priority down.
    pub is_strict: bool,
}

pub(crate) static BIFROST: Slots =
    Slots { needs: "a switch that obeys PFC", message: None, is_strict: false };

fn slots(port: &PortSettings) -> &Bifrost {
    port.flow_control.bifrost().expect("a port that was planned with slots")
}

impl Planned for Slots {
    fn needs(&self) -> &'static str {
        self.needs
    }

    fn thresholds(&self, sheet: &mut Sheet, port: &PortSettings, _: Interval) {
        planned_buffer(sheet, slots(port), port);
        beneath(sheet, slots(port), port);
    }

    fn control(&self, port: &PortSettings) -> (WireBytes, Interval) {
        (self.message.map_or_else(pause, message), slots(port).slot)
    }

    fn granted(&self, port: &PortSettings) -> Option<(&'static str, WireBytes)> {
        Some(("H", slots(port).buffer))
    }

    fn has_slots(&self) -> bool {
        true
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn longest_pause(&self, sheet: &mut Sheet, port: &PortSettings, _: Sharing) -> Shown {
        let Bifrost { slot, holdover, .. } = *slots(port);
        let leaked = overrun(slots(port), port);
        sheet.term("T", slot).term("8 leaked", format!("8 x {leaked}")).step(
            "holdover",
            "{T} / 2[: how much longer than T a pause without a grant lasts]",
            holdover,
            "docs/bifrost.md: for a next frame that is late",
        );
        Shown {
            longest: Longest { drains: leaked, waits: slot + holdover },
            formula: "{T} + {holdover} + {8 leaked} / {drain}".into(),
            source: "while frames leave, each slot grants what they left",
        }
    }

    fn never_reaches(&self, figure: Unreached) -> Option<&'static str> {
        (figure == Unreached::Headroom).then_some("grants end below XOFF")
    }
}

/// The step from one slot of a plan to the next.
const SLOT_STEP: u64 = 100;

/// XOFF of a group of `port` with another `slot`, and all else as planned.
pub(crate) fn held_with(slot: Interval, port: &PortSettings) -> Bytes {
    let planned = slots(port);
    let without_qref = |it: &Bifrost| {
        it.buffer_terms(port.rate, port.max_frame).total() + WireBytes(port.rate.bytes_in(it.slot))
    };
    let other = Bifrost { slot, ..*planned };
    // Qref of LSCC is there with any slot.
    let reference = planned.buffer.0.saturating_sub(without_qref(planned).0);
    most_held(&Bifrost { buffer: without_qref(&other) + WireBytes(reference), ..other }, port)
}

/// The slot of `range` with the least XOFF, in whole steps, or the end of the range.
///
/// Three slots grow with T, and what leaks shrinks with the number of slots in a round trip, so their sum has a minimum.
/// Of all slots of which the same number fits into a round trip, the shortest needs least.
pub(crate) fn slot_of_least_buffer(port: &PortSettings, range: RangeInclusive<Interval>) -> Interval {
    let round_trip = slots(port).round_trip.0;
    let (least, most) = range.into_inner();
    let mut best = (held_with(most, port), most);
    let leak = WireBytes::of_frame(port.max_frame).0 + port.rate.bytes_in(peer_goes_on(port).min(least));
    let fixed = held_without_slots(port);
    for count in round_trip.div_ceil(most.0)..=round_trip / least.0 {
        // More slots leak more than the best one holds.
        if fixed.0 + (count + 2) * leak > best.0.0 {
            break;
        }
        let slot = Interval(round_trip.div_ceil(count).next_multiple_of(SLOT_STEP)).clamp(least, most);
        let held = held_with(slot, port);
        if held < best.0 {
            best = (held, slot);
        }
    }
    best.1
}

/// What a group holds without slots and leaks, on the wire.
fn held_without_slots(port: &PortSettings) -> WireBytes {
    let terms = slots(port).buffer_terms(port.rate, port.max_frame);
    WireBytes(terms.bdp + terms.leaked + terms.late)
}

/// H, term by term.
fn planned_buffer(sheet: &mut Sheet, slots: &Bifrost, port: &PortSettings) {
    let (rate, terms) = (port.rate, slots.buffer_terms(port.rate, port.max_frame));
    let (least, frame) = (terms.total(), WireBytes::of_frame(port.max_frame));
    let third = WireBytes(rate.bytes_in(slots.slot));
    let rest = slots.buffer - least - third - port.repaired_in_flight();
    let margin = match port.flow_control {
        FlowControl::Bifrost(_) => "on the wire; a third slot, as in Bifrost paper IV-C.2",
        _ => "on the wire; the third slot covers its longer round trip too",
    };
    sheet
        .term("rate", rate)
        .term("RTT", slots.round_trip)
        .term("jitter", slots.virtual_incoming.jitter())
        .term("2 Rs T", format!("2 x {}", WireBytes(terms.slots / 2)))
        .term("k MTU", format!("{} x {frame}", slots.check_every))
        .term("Rs lateness", WireBytes(terms.late))
        .term("Rs T, and Qref with LSCC", format!("{third} + {rest}"))
        .term("repaired", port.repaired_in_flight())
        .step(
            "T",
            "the slot: with the least XOFF, unless stated",
            slots.slot,
            "docs/plan.md; Bifrost paper, IV-C: 10 us",
        )
        .step("k", "leaked frames to provide for", u64::from(slots.check_every.get()), "Bifrost paper, IV-D")
        .step("lateness", "how late a slot may end", slots.lateness, "docs/configuration.md: 5 us by default")
        .step(
            "BDP_j",
            "{rate} x ({RTT} + {jitter}) / 8",
            Bytes(terms.bdp),
            "jitter of a history of grants: 1 us, and with lanes the lateness",
        )
        .step(
            "H_least",
            "{BDP_j} + {2 Rs T} + {k MTU} + {Rs lateness}[, Rs = rate / 8]",
            least,
            "Bifrost paper, IV-C and IV-D",
        )
        .step(
            "H",
            &and_repaired(port, "repaired", "{H_least} + {Rs T, and Qref with LSCC}"),
            slots.buffer,
            margin,
        );
}

/// The group beneath H, which acts only if Bifrost has failed.
fn beneath(sheet: &mut Sheet, slots: &Bifrost, port: &PortSettings) {
    let (rate, max_frame) = (port.rate, port.max_frame);
    let ahead = WireBytes(rate.bytes_in(peer_goes_on(port).min(slots.slot)));
    let frame = WireBytes::of_frame(max_frame);
    sheet
        .terms([("RTT / T", slots.round_trip.0.div_ceil(slots.slot.0))])
        .term("(MTU + Rs ahead)", format!("x ({frame} + {ahead})"))
        .term("frames", format!("x {max_frame:#}"))
        .term("lost unseen", port.lost_unknown())
        .step(
            "leaked",
            &and_repaired(port, "lost unseen", "({RTT / T} + 2) {(MTU + Rs ahead)}[, ahead at most T]"),
            overrun(slots, port),
            "docs/bifrost.md: what a pause that arrives does not stop",
        )
        .step(
            "XOFF",
            "({H} + {leaked})[ in cells:] x 96 / 89",
            most_held(slots, port),
            "reached only if Bifrost has failed",
        )
        .step("headroom", "({k} + 2) {frames}", group(port).headroom, "what is granted has room already");
}
