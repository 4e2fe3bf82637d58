//! Tables of long links: `[port.lscc]`, and the watchdog of a port.

use core::net::Ipv4Addr;
use core::ops::RangeInclusive;

use switch::program::{Notifier, Watchdog, WatchdogAction};
use units::{BitRate, Bytes, Interval, Priority};
use wire::ip::Dscp;
use wire::rate_feedback::Key as LinkKey;

use crate::link::Senders;
use crate::place::{At, Place};
use crate::section::Section;
use crate::table::{Item, Key, Shape, Table, at, table};
use crate::value::{DirectWord, LongFlow, NoWatchdog, SizeChoice, Spacing};

/// More than twice around the equator and back, and small enough that no sum of the bytes that any rate carries in such
/// times overflows.
pub(crate) const LONGEST: Interval = Interval::from_secs(1);
/// A slot or a round trip. A clock of nanoseconds and a pause frame of 84 wire bytes set the lower limit.
pub(crate) const SPANS: RangeInclusive<Interval> = Interval::from_micros(1)..=LONGEST;
/// From nothing on.
pub(crate) const UP_TO_LONGEST: RangeInclusive<Interval> = Interval::ZERO..=LONGEST;
/// A timer of a sender, as in a scenario.
const TIMERS: RangeInclusive<Interval> = Interval(1)..=Interval::from_secs(3_600);
/// CNPs and feedback share the code point of the network's own protocols.
const NETWORK_DSCP: Dscp = Dscp::from_low_bits(48);
/// The same for a tag.
const NETWORK_PRIORITY: Priority = Priority::from_low_bits(6);

table! {
    /// LSCC with the other end of a long link.
    LsccDecl, expect_key {
        /// The address that rates are sent from: of a single host, and of one port only
        local: At<Ipv4Addr>, required("local = \"10.255.0.1\"");
        /// The other end's `local`. The port accepts rates from there alone
        peer: At<Ipv4Addr>, required("peer = \"10.255.0.2\"");
        /// A key that both ends share; the port ignores rates without its tag. `"none"` lets [anyone who can send into the link](lscc.md#authentication) advertise rates, which is a warning
        key: At<Option<LinkKey>>, auto("required, or `key_file`; in a scenario `\"none\"`"), secret;
        /// A file with the digits, comments (`#`) and empty lines; its path begins in the directory of the configuration. The public `config/keys/example.key` is a warning
        key_file: At<String>, instead_of(key);
        /// T: how often the port calculates and advertises a rate; at most the round trip, with at most 65,536 rates in flight
        interval: At<Interval>, within(Interval::from_micros(1)..=Interval::from_millis(10)), auto("`\"200us\"`, or the round trip if that is less");
        /// 2D: from the calculation of a rate until the first byte sent at it arrives
        round_trip: At<Interval>, within(SPANS), auto("that of `[port.bifrost]` where stated, otherwise from `distance` in the same way");
        /// Qref: the queue that LSCC aims at, in wire bytes, all lossless priorities together
        reference: At<SizeChoice>, auto("`\"auto\"`: 0.1 x rate x (2D + T)");
        /// Delta R: the largest step from one rate to the next. `"none"`, or a step outside of equation (12), is a warning
        step: At<Option<BitRate>>, auto("rate x T / 40 ms, within the bounds below if they leave room");
        /// Rmin: the lowest rate; at most `most`
        least: At<BitRate>, auto("a hundredth of `most`, at least 10M, at most `most`");
        /// Rmax: the highest rate; at most that of the link
        most: At<BitRate>, auto("the link's");
        /// Q\*ref: the port sends direct CNPs while the pseudo-queue is longer, in wire bytes
        pseudo_reference: At<SizeChoice>, auto("`\"auto\"`: `reference`");
        /// The longest pseudo-queue; what goes out beyond it is not counted. Not above `pseudo_reference` is an error. `"none"` is the paper's, without a limit
        pseudo_limit: At<Option<Bytes>>, auto("twice `pseudo_reference`, at least 64KiB above it");
        /// A flow gets at most one direct CNP in this time
        cnp_interval: At<Interval>, within(SPANS), default(Interval::from_micros(50));
        /// The notifications that the port sends to senders: `"cnp"`, or with `"int"` [direct INT](int.md#direct-int) to those whose packets collect telemetry (HPCC\*), which needs a rate that [telemetry](int.md#the-header) has a code for
        direct: At<DirectWord>, default(DirectWord::Cnp);
        /// A flow gets at most one direct INT in this time; zero makes one of each packet, as in the paper
        int_interval: At<Interval>, within(UP_TO_LONGEST), only(direct, DirectWord::Int), default(Interval::from_micros(10));
        /// Wire bytes after which a flow is no longer young, or `"bdp"`, rounded up. Young flows get direct CNPs whether or not the far side marked them. Less than the BDP is an error. With `"none"` all flows stay young, which [measured best](lscc.md#departures-from-the-paper)
        long_flow: At<LongFlow>, default(LongFlow::None);
        /// The port passes on one CNP of the far side per flow in this time; `"none"` passes all. The paper has ten times `cnp_interval`
        far_cnp_interval: At<Spacing>, default(Spacing(None));
        /// How many flows the port knows at once, in both directions, 1 to 4,194,304; each takes 132 to 140 bytes, and 8 more with direct INT
        flows: At<u32>, default(1_u32 << 16);
        /// The port forgets a flow that is idle for this long
        ageing: At<Interval>, default(Interval::from_secs(10));
        cnp: CnpDecl, absent;
        senders: SendersDecl, absent;
        /// DSCP of the messages that advertise rates
        feedback_dscp: At<Dscp>, default(NETWORK_DSCP);
    }
}

impl LsccDecl {
    fn expect_key(&self, section: &Section<'_, '_>) {
        if !section.contains("key_file") {
            section.expect(
                "key",
                "key_file = \"link.key\", or key = \"none\" where no one else can send into the link",
            );
        }
    }

    /// The place of the key, or of its file.
    pub fn place_of_key(&self) -> &Place {
        self.first(&["key", "key_file"])
    }
}

table! {
    /// `cnp` of `[port.lscc]`.
    CnpDecl {
        /// DSCP of direct CNPs
        dscp: At<Dscp>, default(NETWORK_DSCP);
        /// PCP of direct CNPs to a tagged flow
        priority: At<Priority>, default(NETWORK_PRIORITY);
    }

    /// `senders` of `[port.lscc]`.
    SendersDecl => Senders {
        /// Rate of each sender's link. M is the number of them that fill the port's link
        rate: At<BitRate>;
        /// R_AI of their DCQCN
        additive_increase: At<BitRate>;
        /// T_i of their DCQCN: the time between two increases
        rate_timer: At<Interval>, within(TIMERS);
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
