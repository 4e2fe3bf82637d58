//! What repair of a port takes, for a plan.

use core::fmt;

use switch::program::PortSettings;
use switch::repair::Repair;
use units::WireBytes;
use units::human::{bytes, thousands};

use super::{BYTES_PER_FRAME, LEAST_FRAMES, LONGEST_PERIOD, SHORTEST_PERIOD, STATUSES};
use crate::core_load::packet_of;
use crate::plan::step::{Part, Quantity, Sheet};

/// What repair takes at each end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairSum {
    /// Its settings: what is kept, and how often statuses leave.
    pub repair: Repair,
    /// By how much what the link may bring is larger, on the wire.
    pub more: WireBytes,
    /// The share of the link that shims take, if packets are as long as RDMA sends them.
    pub overhead: Quantity,
}

impl RepairSum {
    /// The sum of a port; `None` if it repairs nothing.
    pub(crate) fn new(port: &PortSettings) -> Option<Self> {
        let (packet, _) = packet_of(port.max_frame);
        let overhead = Quantity::Millionths(Repair::SHIM.0 * 1_000_000 / packet.0.max(1));
        Some(Self { repair: port.repair?, more: port.repaired_in_flight(), overhead })
    }

    /// Its formulas.
    pub(crate) fn part(&self, port: &PortSettings) -> Part {
        let Self { repair, more, overhead } = *self;
        let (packet, _) = packet_of(port.max_frame);
        let mut sheet = Sheet::default();
        sheet
            .term("rate", port.rate)
            .term("RTT", repair.round_trip)
            .terms([("shim", Repair::SHIM), ("number", Repair::NUMBER)])
            .terms([("packet on the wire", packet)])
            .step(
                "period",
                &format!("{{RTT}} / {STATUSES}[, within {SHORTEST_PERIOD} and {LONGEST_PERIOD}]"),
                repair.period,
                "docs/repair.md: from one status to the next",
            )
            .step(
                "kept",
                &format!("{{rate}} x ({{RTT}} + {} x {{period}}) / 8", Repair::SILENT_AFTER),
                repair.retention,
                "until the far end has told that it has it",
            )
            .step(
                "repaired",
                "{kept}[: a term of H, or of XOFF and headroom]",
                more,
                "it comes again beyond grants and pauses",
            )
            .step(
                "frames",
                &format!("{{kept}} / {BYTES_PER_FRAME}[, at least {}]", thousands(LEAST_FRAMES)),
                u64::from(repair.frames),
                "kept at one end, missing or held at the other",
            )
            .step("numbers", "{frames} x {number}", repair.numbers(), "ordinary memory at each end")
            .step(
                "overhead",
                "{shim} / {packet on the wire}",
                overhead,
                "of packets as long as RDMA sends them",
            );
        sheet.part("Repair of lh0")
    }
}

/// A statement about it.
impl fmt::Display for RepairSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repair, more, overhead } = self;
        write!(
            f,
            "keeps up to {} in {} frames; {} more of buffer for the far end; {} for numbers, beside hugepages; shims take {overhead}",
            bytes(repair.retention.0),
            thousands(repair.frames.into()),
            bytes(more.0),
            bytes(repair.numbers().0),
        )
    }
}

/// `formula`, behind `term` where `port` is repaired.
pub(crate) fn and_repaired(port: &PortSettings, term: &str, formula: &str) -> String {
    if port.repair.is_some() { format!("{{{term}}} + {formula}") } else { formula.into() }
}
