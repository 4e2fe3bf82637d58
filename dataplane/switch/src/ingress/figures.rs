//! The figures of frames whose headers are hidden.

use super::HiddenCounters;
use crate::figure::{Figure, FigureList, Section, Seen, Table};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "hidden",
    view: "ports",
    runs_on: |_| true,
    report: &[Section {
        name: "",
        figures: &[
            Figure::counter("macsec_frames", |it| Some(hidden(it).macsec.into())).shown(
                "hidden_macsec_frames",
                "macsec",
                "Frames of MACsec, whose DSCP cannot be read.",
            ),
            Figure::counter("tagged_frames", |it| Some(hidden(it).tagged.into())).shown(
                "hidden_tagged_frames",
                "tagged",
                "Frames behind a VLAN tag that is not read: of type 0x9100, a third one, or one that is cut off.",
            ),
        ],
    }],
    now: &[],
    metrics: &[],
    tables: &[Table {
        title: "HIDDEN: frames whose DSCP cannot be read",
        in_summary: false,
        columns: &[],
    }],
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
