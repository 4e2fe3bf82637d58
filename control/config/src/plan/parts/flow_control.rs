//! Headroom, thresholds, and the buffers of the schemes.

use switch::flow_control::cbfc::settings::Cbfc;
use switch::program::{Bifrost, FlowControl, PortSettings};
use units::{Cells, Distance, Interval, WireBytes};

use crate::flow_control::bifrost::{most_held, overrun};
use crate::headroom::{HeadroomSum, grouped, response_quanta};
use crate::link::Link;
use crate::plan::built::{Built, distance, fixed, group};
use crate::plan::step::{Part, Quantity, Step, sum};
use crate::round_trip::peer_goes_on;
use crate::thresholds::least_xon;

/// The headroom of lh0, where headroom bounds it; `None` for schemes that bound arrivals themselves.
pub(in crate::plan) fn headroom(built: &Built) -> Option<Part> {
    let (port, link) = built.long();
    if !matches!(port.flow_control, FlowControl::Pfc | FlowControl::Relay(_)) {
        return None;
    }
    let sum_of = HeadroomSum::new(&link.terms(port, built.gateways[0].cell_occupancy)?);
    let mut steps = headroom_terms(port, link, &sum_of);
    steps.push(whole(&sum_of));
    Some(Part { title: "Headroom of lh0, for each lossless priority".into(), steps })
}

/// The terms of the headroom of a port on its link.
pub(super) fn headroom_terms(port: &PortSettings, link: &Link, sum_of: &HeadroomSum) -> Vec<Step> {
    let rate = port.rate;
    let HeadroomSum { crossing_frame, own_frame, pause, cable, waiting, interfaces, response, .. } = *sum_of;
    let bytes = |bytes: WireBytes| Quantity::Bytes(bytes.0);
    let during = |time| format!("{rate} x {time} / 8");
    vec![
        Step::new(
            "frame_cells",
            "frame in whole cells of 16 B, and one",
            grouped(port.max_frame.0),
            Quantity::Bytes(crossing_frame.0),
            "the frame that crosses XOFF; the last one that the peer begins",
        ),
        Step::new(
            "sent",
            "the longest frame and a pause of 60 B, each with preamble, FCS and gap",
            format!("{} + 24 + 60 + 24", grouped(port.longest_sent().0)),
            bytes(own_frame + pause),
            "IEEE 802.3: no frame is interrupted",
        ),
        Step::new(
            "cable",
            "2 x distance x rate / (8 x c)",
            format!(
                "2 x {} x {rate} / (8 x {} km/s)",
                distance(link),
                grouped(Distance::FIBRE_SPEED / 1_000)
            ),
            bytes(cable),
            "IEEE 802.1Q annex N",
        ),
        Step::new(
            "waiting",
            "rate x tx_window / 8",
            during(port.tx_window),
            bytes(waiting),
            "a gateway hands frames over early",
        ),
        Step::new(
            "interfaces",
            "rate x interface_delay / 8",
            during(link.interface_delay),
            bytes(interfaces),
            "NICs, PHYs, worker turns",
        ),
        Step::new(
            "response",
            "max(64 x quanta, waiting)",
            format!("max(64 x {}, {})", grouped(response_quanta(rate)), grouped(waiting.0)),
            bytes(response),
            "IEEE 802.3 clause 31B.3.7",
        ),
    ]
}

/// The headroom itself.
pub(super) fn whole(terms: &HeadroomSum) -> Step {
    let HeadroomSum { crossing_frame, own_frame, pause, cable, waiting, interfaces, response, .. } = *terms;
    let scaled = sum(&[own_frame + pause, cable, waiting, interfaces, response].map(|it| it.0));
    Step::new(
        "headroom",
        "2 x frame_cells + cells x (sent + cable + waiting + interfaces + response)",
        format!("2 x {} + {} x ({scaled})", grouped(crossing_frame.0), terms.cell_occupancy),
        Quantity::Bytes(terms.total().0),
        "docs/configuration.md, Headroom",
    )
}

/// The thresholds of the long port, and what leads to them.
pub(in crate::plan) fn thresholds(built: &Built) -> Part {
    let (port, _) = built.long();
    let mut steps = match &port.flow_control {
        FlowControl::Bifrost(slots) | FlowControl::BifrostX(slots) => bifrost(slots, port),
        FlowControl::PortGrants(it) => bifrost(&it.slots, port),
        FlowControl::Cbfc(it) => cbfc(it, built),
        FlowControl::Relay(_) => relay(port),
        _ => pfc(port, built.round_trip().total()),
    };
    let level = group(port);
    let count = built.request.count();
    let xoff = fixed(level.xoff);
    steps.push(Step::new(
        "buffer",
        "priorities x (XOFF + headroom)",
        format!("{count} x ({})", sum(&[xoff.0, level.headroom.0])),
        Quantity::Bytes(count * (xoff + level.headroom).0),
        "all that frames from the long link can hold",
    ));
    Part { title: format!("Buffer of lh0 with {}", built.request.scheme), steps }
}

/// PFC: XON for full throughput, XOFF above it.
pub(super) fn pfc(port: &PortSettings, round_trip: Interval) -> Vec<Step> {
    let level = group(port);
    let bdp = port.rate.bytes_in(round_trip);
    let xon_least = least_xon(port.rate, round_trip);
    let xoff = fixed(level.xoff);
    let (frame, gap) = (port.max_frame, port.max_frame + port.max_frame);
    let by_marks = xoff > xon_least + gap;
    let (formula, numbers, source) = match by_marks {
        false => {
            let numbers = format!("{} + 2 x {}", grouped(xon_least.0), grouped(frame.0));
            ("XON_least + 2 frames", numbers, "two frames, so that one alone does not flap")
        }
        true => {
            let numbers = format!("2 x {}", grouped(xoff.0 / 2));
            ("2 Kmax, where marks are above a BDP", numbers, "senders hear of marks before PFC acts")
        }
    };
    vec![
        Step::new(
            "XON_least",
            "BDP in cells: x 96 / 89, frames of 65 B being the worst",
            format!("{} x 96 / 89", grouped(bdp)),
            Quantity::Bytes(xon_least.0),
            "Bifrost paper III-B: 2 Rd D, or the drain runs dry",
        ),
        Step::new("XOFF", formula, numbers, Quantity::Bytes(xoff.0), source),
        Step::new(
            "XON",
            "XOFF - 2 frames",
            format!("{} - 2 x {}", grouped(xoff.0), grouped(frame.0)),
            Quantity::Bytes(level.xon.0),
            "IEEE 802.1Q clause 36",
        ),
    ]
}

/// Bifrost: T, k and H, and the group beneath it.
fn bifrost(slots: &Bifrost, port: &PortSettings) -> Vec<Step> {
    let mut steps = planned_buffer(slots, port);
    steps.extend(beneath(slots, port));
    steps
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

/// Credits: the buffer that fills the link.
fn cbfc(credits: &Cbfc, built: &Built) -> Vec<Step> {
    let (port, _) = built.long();
    let (rate, round_trip, max_frame) = (port.rate, built.round_trip().total(), port.max_frame);
    let fills = credits.for_line_rate(rate, round_trip, max_frame);
    let wire = WireBytes::of_frame(max_frame).0;
    let under_way = [rate.bytes_in(round_trip), rate.bytes_in(credits.interval)];
    let rounding = fills.0 - under_way.iter().sum::<u64>() - 2 * wire;
    vec![
        Step::new(
            "interval",
            "from one message with credits to the next",
            "",
            Quantity::Time(credits.interval),
            "docs/cbfc.md",
        ),
        Step::new(
            "credits",
            "rate x (RTT + interval) / 8 + 2 frames + 2 credits",
            format!("{} + 2 x {} + {rounding}", sum(&under_way), grouped(wire)),
            Quantity::Bytes(credits.buffer.0),
            "bytes on the wire; docs/cbfc.md",
        ),
        Step::new(
            "XOFF",
            "credits in cells: x 96 / 89",
            format!("{} x 96 / 89", grouped(credits.buffer.0)),
            Quantity::Bytes(Cells::of_any_mix(credits.buffer).bytes().0),
            "reached only if credits have failed",
        ),
        Step::new(
            "headroom",
            "2 frames",
            format!("2 x {}", grouped(max_frame.0)),
            Quantity::Bytes(group(port).headroom.0),
            "what has credits has room already",
        ),
    ]
}

/// A relay: a round trip, and once more.
pub(super) fn relay(port: &PortSettings) -> Vec<Step> {
    let level = group(port);
    let xoff = fixed(level.xoff);
    vec![Step::new(
        "XOFF",
        "headroom: what arrives in a round trip",
        grouped(level.headroom.0),
        Quantity::Bytes(xoff.0),
        "docs/swing.md; the same once more if pauses are lost",
    )]
}
