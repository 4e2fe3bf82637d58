//! What a plan asks of credits.

use switch::flow_control::cbfc::settings::Cbfc;
use switch::program::PortSettings;
use units::{Cells, Interval, WireBytes};
use wire::grants::credit;

use crate::plan::longest::{Longest, Sharing, Shown, group};
use crate::plan::planned::{Planned, Unreached, message};
use crate::plan::step::Sheet;

pub(crate) struct Credits;

fn credits(port: &PortSettings) -> &Cbfc {
    port.flow_control.cbfc().expect("a port that was planned with credits")
}

impl Planned for Credits {
    fn needs(&self) -> &'static str {
        "credits: no PFC will do"
    }

    fn control(&self, port: &PortSettings) -> (WireBytes, Interval) {
        (message(credit::MESSAGE_LEN), credits(port).interval)
    }

    fn granted(&self, port: &PortSettings) -> Option<(&'static str, WireBytes)> {
        Some(("credits", credits(port).buffer))
    }

    fn pauses(&self) -> bool {
        false
    }

    fn longest_pause(&self, sheet: &mut Sheet, port: &PortSettings, sharing: Sharing) -> Shown {
        let (frame, interval) = (WireBytes::of_frame(port.max_frame), credits(port).interval);
        sheet.term("interval", interval).term("frame", frame);
        Shown {
            longest: Longest { drains: sharing.bytes(frame), waits: interval },
            formula: format!("{{interval}} + {} / {{drain}}", sharing.formula(sheet, "{frame}")),
            source: "without credits, not by pause frames",
        }
    }

    fn never_reaches(&self, figure: Unreached) -> Option<&'static str> {
        match figure {
            Unreached::Headroom => Some("credits end below XOFF"),
            Unreached::PauseLong => Some("credits are no pauses"),
            Unreached::PauseLocal => None,
        }
    }

    /// The buffer that fills the link.
    fn thresholds(&self, sheet: &mut Sheet, port: &PortSettings, round_trip: Interval) {
        let credits = credits(port);
        let (rate, max_frame) = (port.rate, port.max_frame);
        let fills = credits.for_line_rate(rate, round_trip, max_frame);
        let wire = WireBytes::of_frame(max_frame);
        let [far, late] = [round_trip, credits.interval].map(|time| WireBytes(rate.bytes_in(time)));
        sheet
            .term("rate x (RTT + interval) / 8", format!("{far} + {late}"))
            .term("2 frames", format!("2 x {wire}"))
            .term("2 credits", fills - far - late - wire - wire)
            .step("interval", "from one message with credits to the next", credits.interval, "docs/cbfc.md")
            .step(
                "credits",
                "{rate x (RTT + interval) / 8} + {2 frames} + {2 credits}",
                credits.buffer,
                "bytes on the wire; docs/cbfc.md",
            )
            .step(
                "XOFF",
                "{credits}[ in cells:] x 96 / 89",
                Cells::of_any_mix(credits.buffer).bytes(),
                "reached only if credits have failed",
            )
            .term("2 frames", format!("2 x {max_frame:#}"))
            .step("headroom", "{2 frames}", group(port).headroom, "what has credits has room already");
    }
}
