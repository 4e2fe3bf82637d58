//! `[port.lscc]`.

use core::net::Ipv4Addr;
use core::ops::RangeInclusive;

use units::{BitRate, Bytes, Interval};
use wire::ip::Dscp;
use wire::rate_feedback::Key as LinkKey;

use crate::keys::long_haul::{CnpDecl, NETWORK_DSCP, SPANS, UP_TO_LONGEST};
use crate::link::Senders;
use crate::place::{At, Place};
use crate::section::Section;
use crate::table::{Table, table};
use crate::value::{DirectWord, LongFlow, SizeChoice, Spacing};

/// A timer of a sender, as in a scenario.
const TIMERS: RangeInclusive<Interval> = Interval(1)..=Interval::from_secs(3_600);

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
        /// The port forgets a flow that is idle for this long; with `learn` above 1, one of which it has seen nothing for `learn` times as long
        ageing: At<Interval>, default(Interval::from_secs(10));
        /// The port [learns senders](lscc.md#quiet-links) from one of so many sequence numbers, and looks up the other packets only while CNPs are near: 1, 2, 4, 8 or 16. Above 1, numbers do not resolve queue pairs that send READs. With 1, direct INT or THEMIS on the port, it looks up all packets at all times
        learn: At<u32>, default(16_u32);
        cnp: CnpDecl, absent;
        senders: SendersDecl, absent;
        /// DSCP of the messages that advertise rates
        feedback_dscp: At<Dscp>, default(NETWORK_DSCP);
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
