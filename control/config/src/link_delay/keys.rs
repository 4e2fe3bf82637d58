//! `[port.link_delay]`.

use core::ops::RangeInclusive;

use switch::link_delay::LinkDelay;
use units::Interval;

use crate::place::At;
use crate::table::table;

/// Up to once around the equator.
const DELAYS: RangeInclusive<Interval> = Interval::ZERO..=Interval::from_millis(203);

table! {
    /// Peer delay on a port (IEEE 802.1AS), and the headroom that follows from it.
    LinkDelayDecl {
        /// Whether the port measures its link. With `false` it only answers the other end
        measure: At<bool>, default(true);
        /// The time between two requests; eight of them give a delay
        interval: At<Interval>, within(LinkDelay::INTERVALS), default(Interval::from_secs(1));
        /// Whether a running gateway sets the [headroom](headroom.md) of the port by the measured delay
        apply: At<bool>, default(true);
        /// A measured delay below this is refused: the least headroom that anybody at the other end can bring about. At most that of `distance`
        least: At<Interval>, within(DELAYS), auto("nine tenths of that of `distance`; required with `apply` where there is none");
        /// A measured delay above this is refused. At least that of `distance`. The shared pool must have room for the headroom of this delay
        most: At<Interval>, within(DELAYS), auto("that of `distance`; required with `apply` where there is none, and in its place until the delay is measured");
    }
}
