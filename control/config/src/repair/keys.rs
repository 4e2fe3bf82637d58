//! `[port.repair]`.

use core::ops::RangeInclusive;

use switch::repair::Repair;
use units::{Bytes, Interval, Priority};
use wire::rate_feedback::Key as LinkKey;

use crate::keys::long_haul::SPANS;
use crate::place::At;
use crate::table::{List, table};

/// Statuses of a short link would take a core, and those of a long one come too late.
const PERIODS: RangeInclusive<Interval> = Interval::from_micros(1)..=Interval::from_millis(1);
/// Longer than statuses at rest may be lost, and shorter than any host waits.
const OUTAGES: RangeInclusive<Interval> =
    Interval(Repair::REST.0 * Repair::SILENT_AFTER)..=Interval::from_secs(1);
const FRAMES: RangeInclusive<u32> = 64..=1 << 22;

table! {
    /// [Repair](repair.md) of what the link loses, which the other end must have as well.
    RepairDecl {
        /// The priorities whose frames are kept and sent again
        priorities: List<Priority>, auto("all lossless ones of the port"), restart;
        /// Whether a frame waits for lost ones of its flow. With `false` each goes on as it comes, for hosts that put packets in order
        order: At<bool>, default(true), restart;
        /// The longest silence of the other end for which frames are kept. Less than hosts wait for an acknowledgement, by three round trips
        outage: At<Interval>, within(OUTAGES), default(Interval::from_millis(50)), restart;
        /// From one status to the next while frames are under way
        period: At<Interval>, within(PERIODS), auto("a thirty-second of the round trip, within 10us and 100us"), restart;
        /// From a frame until the other end says that it has come
        round_trip: At<Interval>, within(SPANS), auto("from `distance`, as that of a slot"), restart;
        /// How much may be kept, in wire bytes
        retention: At<Bytes>, auto("what the link carries in a round trip and three periods"), restart;
        /// How many frames may be kept, and how many of the other end may be missing or held; the same at both ends
        frames: At<u32>, within(FRAMES), auto("one for each 512 bytes of `retention`, and 4,096 at least"), restart;
        /// A key that both ends share; statuses without its tag are ignored. `"none"` lets anyone who can send into the link speak of frames
        key: At<Option<LinkKey>>, auto("`\"none\"`"), secret, restart;
        /// A file with the digits, as that of [LSCC](#portlscc)
        key_file: At<String>, instead_of(key), restart;
    }
}
