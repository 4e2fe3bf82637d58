//! What a plan asks of relays of pauses.

use switch::program::PortSettings;
use units::Interval;

use crate::plan::longest::{fixed, group};
use crate::plan::planned::{Planned, Unreached};
use crate::plan::step::Sheet;

pub(crate) struct Relayed;

impl Planned for Relayed {
    fn needs(&self) -> &'static str {
        "a relay, and PFC behind both"
    }

    fn passes_on(&self) -> bool {
        true
    }

    fn never_reaches(&self, figure: Unreached) -> Option<&'static str> {
        Some(match figure {
            Unreached::Headroom => "a round trip fits below XOFF; the headroom is for lost pauses",
            _ => "a relay passes on the pauses of the far side; its own are for lost ones",
        })
    }

    /// A round trip, and once more.
    fn thresholds(&self, sheet: &mut Sheet, port: &PortSettings, _: Interval) {
        let level = group(port);
        sheet.term("headroom", level.headroom).step(
            "XOFF",
            "{headroom}[: what arrives in a round trip]",
            fixed(level.xoff),
            "docs/swing.md; the same once more if pauses are lost",
        );
    }
}
