//! The figures of a bridge, that is, changes that stations behind one port made to entries of others; and of frames
//! that bounce.

use super::{BounceCounters, BridgeCounters};
use crate::figure::{FigureList, Seen, Table, figures};

pub(crate) static FIGURES: FigureList = FigureList {
    name: "bridge",
    about: "Changes that stations behind the port made to what the bridge knows of others.",
    report: &[figures! { "", |it|
        /// Addresses that moved to the port from another port.
        counter moved_addresses = bridge(it)?.moved, shown("bridge_moved_addresses", "moved");
        /// Addresses removed before they had aged to make room for a new one behind the port, in a full set or table.
        counter displaced_addresses = bridge(it)?.displaced, shown("bridge_displaced_addresses", "displaced");
        /// Moves and displacements beyond the port's limit of 1,000 a second: the frame was forwarded, but no address was learned.
        counter refused_changes = bridge(it)?.refused, shown("bridge_refused_changes", "refused");
    }],
    tables: &[Table::new("BRIDGE: addresses that moved to a port, or were displaced for one behind it", &[])],
    ..FigureList::EMPTY
};

pub(crate) static BOUNCES: FigureList = FigureList {
    name: "bounces",
    about: "Frames that came in and [bounced](deadlock.md).",
    view: "pfc",
    runs_on: |settings| !settings.remap.is_empty(),
    report: &[figures! { "", |it|
        /// Frames that bounced and left in the isolated priority.
        counter remapped_frames = bounces(it)?.remapped,
            shown("bounces_remapped_frames", "remapped"), of_run("remapped");
        /// Lossless frames that bounced and kept their priority, because remap does not name it.
        counter kept_frames = bounces(it)?.kept, shown("bounces_kept_frames", "kept"), of_run("kept");
    }],
    tables: &[Table::new("BOUNCES: frames that came down through a port and left upward", &[])],
    ..FigureList::EMPTY
};

fn bounces(seen: Seen<'_>) -> Option<&BounceCounters> {
    seen.look.bounces.as_ref()
}

fn bridge(seen: Seen<'_>) -> Option<&BridgeCounters> {
    seen.look.bridge.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::program::{PortSettings, Remap};
    use crate::shard::PortInspection;
    use units::{BitRate, Priority};
    use wire::ethernet::MacAddress;

    #[test]
    fn figures_are_those_of_the_bridge_where_the_switch_is_one() {
        let settings = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let read = |bridge| {
            let look = PortInspection { bridge, ..Default::default() };
            ["moved_addresses", "displaced_addresses", "refused_changes"].map(|key| {
                let figure = FIGURES.figure(key).unwrap();
                figure.read(Seen { settings: &settings, look: &look }).map(|reading| match reading {
                    Reading::Number(number) => number,
                    _ => panic!("{key} is a number"),
                })
            })
        };
        let counters = BridgeCounters { moved: 1, displaced: 2, refused: 3 };
        assert_eq!(read(Some(counters)), [Some(1), Some(2), Some(3)]);
        assert_eq!(read(None), [None; 3]);
    }

    #[test]
    fn figures_of_bounces_are_those_of_a_port_that_remaps() {
        let [three, five] = [3, 5].map(Priority::from_low_bits);
        let mut settings = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        assert!(!(BOUNCES.runs_on)(&settings));
        settings.remap = Remap::default().with(three, five);
        assert!((BOUNCES.runs_on)(&settings));
        let bounces = Some(BounceCounters { remapped: 1, kept: 2 });
        let look = PortInspection { bounces, ..Default::default() };
        for (key, number) in [("remapped_frames", 1), ("kept_frames", 2)] {
            let reading = BOUNCES.figure(key).unwrap().read(Seen { settings: &settings, look: &look });
            assert!(matches!(reading, Some(Reading::Number(it)) if it == number), "{key}");
        }
    }
}
