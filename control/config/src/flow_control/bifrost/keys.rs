//! `[port.bifrost]`.

use core::num::NonZeroU32;

use units::Interval;

use crate::keys::long_haul::{SPANS, UP_TO_LONGEST};
use crate::place::At;
use crate::table::table;
use crate::value::{SizeChoice, VirtualIncomingWord};

table! {
    /// Bifrost toward the upstream of a port.
    BifrostDecl {
        /// T: the slot, at most the round trip, and with `holdover` at most what a pause frame can ask for. More than half a round trip, or less than the longest frame, is a warning
        slot: At<Interval>, within(SPANS), default(Interval::from_micros(10));
        /// H: the buffer of the port, in wire bytes. Less than the sum below is an error
        buffer: At<SizeChoice>, auto("`\"auto\"`: the sum and one slot more; with [LSCC](#portlscc) also `reference`");
        /// k: for how many leaked frames the buffer provides. The paper deducts an excess every k slots; here every slot deducts it
        check_every: At<NonZeroU32>, default(NonZeroU32::MIN);
        /// F: `"history"` keeps the grants of the last round trip, `"counter"` is the paper's
        virtual_incoming: At<VirtualIncomingWord>, default(VirtualIncomingWord::History);
        /// How much longer than stated the round trip may be
        jitter: At<Interval>, within(UP_TO_LONGEST), unless(virtual_incoming, VirtualIncomingWord::Counter), default(Interval::from_micros(1));
        /// How much longer than its slot a pause without a grant lasts: at most a slot, or `lateness` if that is more. It covers a next frame that is this late
        holdover: At<Interval>, within(UP_TO_LONGEST), auto("half a slot, or a stated `lateness` if that is more");
        /// How late a slot may end before the buffer overflows. A running gateway [adds what is missing](running.md#lateness)
        lateness: At<Interval>, within(UP_TO_LONGEST), default(Interval::from_micros(5));
        /// 2D: from the end of a slot until its first granted byte arrives
        round_trip: At<Interval>, within(SPANS), auto("from `distance`: propagation both ways, `interface_delay`, `tx_window`, the peer's response time, and a frame at each end");
    }
}
