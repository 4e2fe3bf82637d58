//! What a plan asks of PFC alone. Its keys are those of the groups.

use switch::program::PortSettings;
use units::{Bytes, Interval, WireBytes};

use crate::plan::longest::{fixed, group};
use crate::plan::planned::Planned;
use crate::plan::step::Sheet;
use crate::thresholds::least_xon;

pub(crate) struct Plain;

impl Planned for Plain {
    fn needs(&self) -> &'static str {
        "a switch that obeys PFC"
    }

    fn thresholds(&self, sheet: &mut Sheet, port: &PortSettings, round_trip: Interval) {
        thresholds(sheet, port, round_trip);
    }
}

/// PFC: XON for full throughput, XOFF above it.
pub(crate) fn thresholds(sheet: &mut Sheet, port: &PortSettings, round_trip: Interval) {
    let (level, frame) = (group(port), port.max_frame);
    let xon_least = least_xon(port, round_trip);
    let bytes = if port.repair.is_some() { "({repaired} + {BDP})" } else { "{BDP}" };
    let xoff = fixed(level.xoff);
    let (formula, source) = match xoff > xon_least + frame + frame {
        false => ("{XON_least} + {2 frames}", "two frames, so that one alone does not flap"),
        true => ("{2 x HPCC's Kmax}[, above a BDP]", "senders hear of marks before PFC acts"),
    };
    sheet
        .term("BDP", WireBytes(port.rate.bytes_in(round_trip)))
        .term("repaired", port.repaired_in_flight())
        .term("2 frames", format!("2 x {frame:#}"))
        .term("2 x HPCC's Kmax", format!("2 x {:#}", Bytes(xoff.0 / 2)))
        .step(
            "XON_least",
            &format!("{bytes}[ in cells:] x 96 / 89[, frames of 65 B being the worst]"),
            xon_least,
            "Bifrost paper III-B: 2 Rd D, or the drain runs dry",
        )
        .step("XOFF", formula, xoff, source)
        .step("XON", "{XOFF} - {2 frames}", level.xon, "IEEE 802.1Q clause 36");
}
