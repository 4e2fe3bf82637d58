//! What a plan asks of PFC alone. Its keys are those of the groups.

use switch::program::PortSettings;
use units::Interval;

use crate::headroom::grouped;
use crate::plan::longest::{fixed, group};
use crate::plan::planned::Planned;
use crate::plan::step::{Quantity, Step};
use crate::thresholds::least_xon;

pub(crate) struct Plain;

impl Planned for Plain {
    fn needs(&self) -> &'static str {
        "a switch that obeys PFC"
    }

    fn thresholds(&self, port: &PortSettings, round_trip: Interval) -> Vec<Step> {
        thresholds(port, round_trip)
    }
}

/// PFC: XON for full throughput, XOFF above it.
pub(crate) fn thresholds(port: &PortSettings, round_trip: Interval) -> Vec<Step> {
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
