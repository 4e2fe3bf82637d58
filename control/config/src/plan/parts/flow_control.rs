//! Headroom and thresholds.

use switch::program::PortSettings;
use units::{Distance, WireBytes};

use crate::headroom::{HeadroomSum, grouped, response_quanta};
use crate::link::Link;
use crate::plan::built::{Built, distance};
use crate::plan::longest::{fixed, group};
use crate::plan::step::{Part, Quantity, Step, sum};

/// The headroom of lh0, where headroom bounds it; `None` for schemes that bound arrivals themselves.
pub(in crate::plan) fn headroom(built: &Built) -> Option<Part> {
    let (port, link) = built.long();
    if built.request.scheme.planned().granted(port).is_some() {
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
    let mut steps = built.request.scheme.planned().thresholds(port, built.round_trip().total());
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
