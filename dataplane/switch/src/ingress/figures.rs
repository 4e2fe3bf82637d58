//! The figures of frames whose headers are hidden.

use super::HiddenCounters;
use crate::figure::{FigureList, Seen, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "hidden",
    about: "Frames that came in and whose DSCP cannot be read.",
    report: &[figures! { "", |it|
        /// Frames of MACsec, whose DSCP cannot be read.
        counter macsec_frames = hidden(it).macsec, shown("hidden_macsec_frames", "macsec");
        /// Frames behind a VLAN tag that is not read: of type 0x9100, a third one, or one that is cut off.
        counter tagged_frames = hidden(it).tagged, shown("hidden_tagged_frames", "tagged");
    }],
    tables: &[Table::new("HIDDEN: frames whose DSCP cannot be read", &[])],
    ..FigureList::EMPTY
};

fn hidden(seen: Seen<'_>) -> HiddenCounters {
    seen.look.hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::program::PortSettings;
    use crate::shard::PortInspection;
    use units::BitRate;
    use wire::ethernet::MacAddress;

    #[test]
    fn every_port_has_the_figures_of_its_hidden_frames() {
        let settings = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let look = PortInspection { hidden: HiddenCounters { macsec: 1, tagged: 2 }, ..Default::default() };
        assert!((FIGURES.runs_on)(&settings));
        for (key, number) in [("macsec_frames", 1), ("tagged_frames", 2)] {
            let reading = FIGURES.figure(key).unwrap().read(Seen { settings: &settings, look: &look });
            assert_eq!(reading, Some(Reading::Number(number)), "{key}");
        }
    }
}
