//! `[[bundle]]`.

use core::ops::RangeInclusive;

use switch::liveness::Liveness;
use units::Interval;
use wire::rate_feedback::Key as LinkKey;

use crate::place::At;
use crate::table::{List, table, values};
use crate::value::{LivenessWord, Name};

/// Times for which a link may be gone, or has to prove itself.
const WAITS: RangeInclusive<Interval> = Interval::ZERO..=Interval::from_secs(3_600);

table! {
    /// Links to one neighbour that are one port to forwarding.
    BundleDecl {
        /// A port name everywhere in `[forwarding]`. No port and no other bundle has it
        name: At<Name>, required("name = \"lh\""), restart;
        /// Two ports or more with the same frame length and lossless priorities, each in one bundle, with `distance`. Flows are spread by hash, in proportion to rates
        members: List<String>, required("members = [\"lh0\", \"lh1\"]"), restart;
        /// The proof that a member lives: its carrier, or [hellos](liveness.md) in both directions too, which both ends must have
        liveness: At<LivenessWord>, default(LivenessWord::Carrier);
        /// The time between two hellos; both ends use the longer one, and a link that brings none for three of them has failed
        interval: At<Interval>, within(Liveness::INTERVALS), only(liveness, LivenessWord::Hello), default(Interval::from_micros(3_300));
        /// A member that fails for no longer than this returns at once, and its frames wait: for optics that restore a link
        hold_off: At<Interval>, within(WAITS), default(Interval::ZERO);
        /// How long a member that failed must live before it sends; each relapse doubles it up to 300 s
        return_after: At<Interval>, within(WAITS), auto("`\"60s\"` with `liveness = \"hello\"`, otherwise zero");
        /// With [`[kernel]`](kernel.md), its TAP has a carrier while so many members carry data, so that routing goes elsewhere below
        least: At<u8>, within(1_u8..=64), default(1_u8), restart;
        /// Members out of use, for work on their links; with hellos, the other end follows
        drained: List<String>, auto("none");
        /// A key that both ends share; hellos without its tag are ignored
        key: At<Option<LinkKey>>, only(liveness, LivenessWord::Hello), auto("required with `liveness = \"hello\"`, or `key_file`"), secret;
        /// A file with the digits, as that of [LSCC](#portlscc)
        key_file: At<String>, only(liveness, LivenessWord::Hello), instead_of(key);
    }
}

impl BundleDecl {
    /// The names of its members, in their order.
    pub fn names(&self) -> impl Iterator<Item = &At<String>> {
        values(&self.members)
    }

    /// The members that are out of use.
    pub fn drained(&self) -> impl Iterator<Item = &At<String>> {
        values(&self.drained)
    }

    /// Its name, or nothing if it has none.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| &name.value.0)
    }
}
