//! The long link: propagation, round trip and BDP.

use units::{Bytes, Distance, WireBytes};

use crate::headroom::{grouped, response_quanta};
use crate::plan::built::{Built, distance};
use crate::plan::step::{Part, Quantity, Step};
use crate::round_trip::RoundTripSum;

/// The formulas of the long link.
pub(in crate::plan) fn link(built: &Built) -> Part {
    let (port, link) = built.long();
    let terms = built.round_trip();
    let (rate, far) = (port.rate, distance(link));
    let wire = WireBytes::of_frame(port.max_frame);
    let speed = Distance::FIBRE_SPEED / 1_000;
    let quanta = response_quanta(rate);
    let (frame, total) = (terms.frame, terms.total());
    let steps = vec![
        Step::new(
            "delay",
            "distance / speed of light in fibre",
            format!("{far} / {} km/s", grouped(speed)),
            Quantity::Time(terms.propagation),
            "group index 1.514",
        ),
        Step::new(
            "frame",
            "MTU + header and tag",
            format!("{} + {}", grouped(built.request.mtu.0), (port.max_frame - built.request.mtu).0),
            Quantity::Bytes(port.max_frame.0),
            "IEEE 802.3 clause 3.2.7, 802.1Q clause 9",
        ),
        Step::new(
            "t_frame",
            "8 x (frame + FCS, preamble, gap) / rate",
            format!("8 x ({} + {}) / {rate}", grouped(port.max_frame.0), wire.0 - port.max_frame.0),
            Quantity::Time(frame),
            "IEEE 802.3 clause 4.4.2",
        ),
        Step::new(
            "quanta",
            "those in which a device of this rate must stop",
            "",
            Quantity::Count(quanta),
            "IEEE 802.3 clause 31B.3.7, by SONiC's table",
        ),
        Step::new(
            "response",
            "quanta x 512 bits / rate",
            format!("{} x 512 / {rate}", grouped(quanta)),
            Quantity::Time(terms.response),
            "a quantum is 512 bits",
        ),
        round_trip(&terms, "from a pause until it shows at this end"),
        Step::new(
            "BDP",
            "rate x RTT / 8",
            format!("{rate} x {total} / 8"),
            Quantity::Bytes(Bytes(rate.bytes_in(total)).0),
            "bytes on the wire",
        ),
    ];
    Part { title: format!("The long link: {far} at {rate}"), steps }
}

/// The round trip of a link.
pub(super) fn round_trip(terms: &RoundTripSum, source: &'static str) -> Step {
    let RoundTripSum { propagation, interfaces, waiting, response, frame } = *terms;
    Step::new(
        "RTT",
        "2 delay + interface_delay + tx_window + response + 2 t_frame",
        format!("2 x {propagation} + {interfaces} + {waiting} + {response} + 2 x {frame}"),
        Quantity::Time(terms.total()),
        source,
    )
}
