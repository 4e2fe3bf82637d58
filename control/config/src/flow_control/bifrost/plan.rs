//! What a plan asks of Bifrost, and of the schemes that send their grants over the same slots.

use switch::program::{Bifrost, FlowControl, PortSettings};
use units::{BitRate, Interval, WireBytes};

use super::{most_held, overrun};
use crate::headroom::grouped;
use crate::plan::longest::{Longest, Sharing, group};
use crate::plan::planned::{Planned, Unreached, message, pause};
use crate::plan::step::{Quantity, Step, sum};
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

    fn thresholds(&self, port: &PortSettings, _: Interval) -> Vec<Step> {
        let mut steps = planned_buffer(slots(port), port);
        steps.extend(beneath(slots(port), port));
        steps
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

    fn longest_pause(&self, port: &PortSettings, _: Sharing, drain: BitRate) -> (Longest, Step) {
        let Bifrost { slot, holdover, .. } = *slots(port);
        let leaked = overrun(slots(port), port);
        let numbers = format!("{slot} + {holdover} + 8 x {}", grouped(leaked.0));
        Longest { drains: leaked, waits: slot + holdover }.of_long(
            drain,
            ("T + holdover + 8 leaked / drain".into(), numbers),
            "while frames leave, each slot grants what they left",
        )
    }

    fn holdover(&self, port: &PortSettings) -> Option<Step> {
        let Bifrost { slot, holdover, .. } = *slots(port);
        Some(Step::new(
            "holdover",
            "T / 2: how much longer than T a pause without a grant lasts",
            format!("{slot} / 2"),
            Quantity::Time(holdover),
            "docs/bifrost.md: for a next frame that is late",
        ))
    }

    fn never_reaches(&self, figure: Unreached) -> Option<&'static str> {
        (figure == Unreached::Headroom).then_some("grants end below XOFF")
    }
}

/// H, term by term.
fn planned_buffer(slots: &Bifrost, port: &PortSettings) -> Vec<Step> {
    let (rate, terms) = (port.rate, slots.buffer_terms(port.rate, port.max_frame));
    let (least, jitter) = (terms.total().0, slots.virtual_incoming.jitter());
    let (k, wire) = (slots.check_every, WireBytes::of_frame(port.max_frame).0);
    let Bifrost { slot, round_trip, buffer, .. } = *slots;
    let third = rate.bytes_in(slot);
    let [bdp, two_slots, late] = [terms.bdp, terms.slots / 2, terms.late].map(grouped);
    let margin = match port.flow_control {
        FlowControl::Bifrost(_) => "on the wire; a third slot, as in Bifrost paper IV-C.2",
        _ => "on the wire; the third slot covers its longer round trip too",
    };
    vec![
        Step::new(
            "T",
            "the slot, at most half of RTT",
            "",
            Quantity::Time(slot),
            "Bifrost paper, IV-C: 10 us",
        ),
        Step::new(
            "k",
            "leaked frames to provide for",
            "",
            Quantity::Count(k.get().into()),
            "Bifrost paper, IV-D",
        ),
        Step::new(
            "lateness",
            "how late a slot may end",
            "",
            Quantity::Time(slots.lateness),
            "docs/configuration.md: 5 us by default",
        ),
        Step::new(
            "BDP_j",
            "rate x (RTT + jitter) / 8",
            format!("{rate} x ({round_trip} + {jitter}) / 8"),
            Quantity::Bytes(terms.bdp),
            "1 us of jitter for a history of grants",
        ),
        Step::new(
            "H_least",
            "BDP_j + 2 Rs T + k MTU + Rs lateness, Rs = rate / 8",
            format!("{bdp} + 2 x {two_slots} + {k} x {} + {late}", grouped(wire)),
            Quantity::Bytes(least),
            "Bifrost paper, IV-C and IV-D",
        ),
        Step::new(
            "H",
            "H_least + Rs T, and Qref with LSCC",
            sum(&[least, third, buffer.0 - least - third]),
            Quantity::Bytes(buffer.0),
            margin,
        ),
    ]
}

/// The group beneath H, which acts only if Bifrost has failed.
fn beneath(slots: &Bifrost, port: &PortSettings) -> Vec<Step> {
    let (rate, max_frame) = (port.rate, port.max_frame);
    let (overrun, ahead) = (overrun(slots, port), peer_goes_on(port).min(slots.slot));
    let frame = WireBytes::of_frame(max_frame).0;
    let per_round_trip = slots.round_trip.0.div_ceil(slots.slot.0);
    vec![
        Step::new(
            "leaked",
            "(RTT / T + 2) (MTU + Rs ahead), ahead at most T",
            format!(
                "({} + 2) x ({} + {})",
                grouped(per_round_trip),
                grouped(frame),
                grouped(rate.bytes_in(ahead))
            ),
            Quantity::Bytes(overrun.0),
            "docs/bifrost.md: what a pause that arrives does not stop",
        ),
        Step::new(
            "XOFF",
            "(H + leaked) in cells: x 96 / 89",
            format!("({}) x 96 / 89", sum(&[slots.buffer.0, overrun.0])),
            Quantity::Bytes(most_held(slots, port).0),
            "reached only if Bifrost has failed",
        ),
        Step::new(
            "headroom",
            "(k + 2) frames",
            format!("({} + 2) x {}", slots.check_every, grouped(max_frame.0)),
            Quantity::Bytes(group(port).headroom.0),
            "what is granted has room already",
        ),
    ]
}
