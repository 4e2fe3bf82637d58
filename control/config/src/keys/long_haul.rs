//! The ranges of times on a long link, and tables of ports with one: the CNPs of a scheme, and the watchdog.

use core::ops::RangeInclusive;

use switch::program::{Notifier, Watchdog, WatchdogAction};
use units::{Interval, Priority};
use wire::ip::Dscp;

use crate::place::{At, Place};
use crate::section::Section;
use crate::table::{Item, Key, Shape, Table, at, table};
use crate::value::NoWatchdog;

/// More than twice around the equator and back, and small enough that no sum of the bytes that any rate carries in such
/// times overflows.
pub(crate) const LONGEST: Interval = Interval::from_secs(1);
/// A slot or a round trip. A clock of nanoseconds and a pause frame of 84 wire bytes set the lower limit.
pub(crate) const SPANS: RangeInclusive<Interval> = Interval::from_micros(1)..=LONGEST;
/// From nothing on.
pub(crate) const UP_TO_LONGEST: RangeInclusive<Interval> = Interval::ZERO..=LONGEST;
/// CNPs and feedback share the code point of the network's own protocols.
pub(crate) const NETWORK_DSCP: Dscp = Dscp::from_low_bits(48);
/// The same for a tag.
const NETWORK_PRIORITY: Priority = Priority::from_low_bits(6);

table! {
    /// The CNPs of a scheme, such as `cnp` of `[port.lscc]`.
    CnpDecl {
        /// DSCP of direct CNPs
        dscp: At<Dscp>, default(NETWORK_DSCP);
        /// PCP of direct CNPs to a tagged flow
        priority: At<Priority>, default(NETWORK_PRIORITY);
    }

    /// The PFC watchdog of a port.
    WatchdogDecl {
        /// A storm is a queue that held packets, sent none and was paused for 99 % of this time. Less than one pause frame may last is a warning. SONiC: `detection_time`
        detection: At<Interval>, within(Watchdog::DETECTION), auto("the longest of 200ms, four round trips of the port and a single pause frame; at most 5s");
        /// The queue is restored when no pause frame came for this time. SONiC: `restoration_time`
        restoration: At<Interval>, within(Watchdog::RESTORATION), default(Interval::from_millis(200));
        /// Until then, `"drop"` drops what waits and what comes, `"forward"` sends in spite of the pauses, `"alert"` only reports. SONiC: `action`
        action: At<WatchdogAction>, default(WatchdogAction::default());
    }
}

impl CnpDecl {
    /// The settings that all schemes with a table of flows share.
    pub(crate) fn notifier(&self, flows: u32, ageing: Interval, round_trip: Interval) -> Notifier {
        Notifier { flows, ageing, round_trip, cnp_dscp: self.dscp(), cnp_priority: self.priority() }
    }

    /// The keys that give notifications this DSCP, and this PCP to a tagged flow.
    pub(crate) fn in_force(dscp: Dscp, priority: Priority) -> Option<Self> {
        Some(Self { dscp: at(dscp), priority: at(priority), place: Place::default() })
    }
}

/// The PFC watchdog of a port, or none.
#[derive(Clone, Debug)]
pub(crate) enum WatchdogChoice {
    /// No watchdog.
    Off(Place),
    On(WatchdogDecl),
}

impl Shape for WatchdogChoice {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        if section.is_single(key) {
            return section.optional::<NoWatchdog>(key).map(|off| Self::Off(off.place));
        }
        Shape::read(section, key).map(Self::On)
    }

    fn item(&self) -> Item {
        match self {
            Self::Off(_) => Item::Value("\"none\"".into()),
            Self::On(decl) => decl.item(),
        }
    }

    fn place(&self) -> Option<&Place> {
        match self {
            Self::Off(place) => Some(place),
            Self::On(decl) => Some(&decl.place),
        }
    }

    fn describe(path: &str, found: &mut Vec<(String, &'static [Key])>) {
        <WatchdogDecl as Table>::describe(path, found);
    }
}
