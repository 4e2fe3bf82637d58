//! What a plan asks of credits.

use switch::flow_control::cbfc::settings::Cbfc;
use switch::program::PortSettings;
use units::{BitRate, Cells, Interval, WireBytes};
use wire::grants::credit;

use crate::headroom::grouped;
use crate::plan::longest::{Longest, Sharing, group};
use crate::plan::planned::{Planned, Unreached, message};
use crate::plan::step::{Quantity, Step, sum};

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

    fn longest_pause(&self, port: &PortSettings, sharing: Sharing, drain: BitRate) -> (Longest, Step) {
        let (frame, interval) = (WireBytes::of_frame(port.max_frame), credits(port).interval);
        let (formula, numbers) = sharing.shown("frame", &grouped(frame.0));
        Longest { drains: sharing.bytes(frame), waits: interval }.of_long(
            drain,
            (format!("interval + {formula} / drain"), format!("{interval} + {numbers}")),
            "without credits, not by pause frames",
        )
    }

    fn never_reaches(&self, figure: Unreached) -> Option<&'static str> {
        match figure {
            Unreached::Headroom => Some("credits end below XOFF"),
            Unreached::PauseLong => Some("credits are no pauses"),
            Unreached::PauseLocal => None,
        }
    }

    /// The buffer that fills the link.
    fn thresholds(&self, port: &PortSettings, round_trip: Interval) -> Vec<Step> {
        let credits = credits(port);
        let (rate, max_frame) = (port.rate, port.max_frame);
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
}
