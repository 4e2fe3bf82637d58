//! `[port.themis]`.

use units::{BitRate, Bytes, Interval};

use crate::keys::long_haul::{CnpDecl, SPANS};
use crate::place::At;
use crate::table::table;
use crate::value::Spacing;

table! {
    /// THEMIS on the port of a long link.
    ThemisDecl {
        /// The port answers outgoing packets with a congestion mark by a CNP to their sender, one per flow in this time, and removes the mark. `"none"` leaves marks alone, which LSCC on the same port requires
        cnp_interval: At<Spacing>, default(Spacing(Some(Interval::from_micros(5))));
        /// The rate at which the gateway forwards flows about which their receivers on this side sent CNPs: all flows of a priority together, at each of its other ports. `"none"` slows no flow down
        slow_rate: At<Option<BitRate>>, auto("a sixteenth of the port's rate");
        /// How long a flow stays slow after such a CNP: until its sender can have reacted
        slow_hold: At<Interval>, within(SPANS), auto("the round trip");
        /// The bytes that wait for `slow_rate` at one port and priority. Beyond, frames leave at the rate of the link
        slow_limit: At<Bytes>, default(Bytes(1_000_000));
        /// Round trip of the link behind the port
        round_trip: At<Interval>, within(SPANS), auto("that of `[port.bifrost]` where stated, otherwise from `distance` in the same way");
        /// How many flows the port knows at once, in both directions, 1 to 4,194,304; each takes 152 to 160 bytes
        flows: At<u32>, default(1_u32 << 16);
        /// The port forgets a flow that is idle for this long
        ageing: At<Interval>, default(Interval::from_secs(10));
        cnp: CnpDecl, absent;
    }
}
