//! What a plan asks of the scheme on the long link. Each scheme answers in its folder.

use switch::program::PortSettings;
use units::{Bytes, Interval, WireBytes};
use wire::ethernet::{HEADER_LEN, MIN_FRAME_LEN};

use super::longest::{Sharing, Shown, from_full_to_xon};
use super::step::Sheet;

/// A scheme for a long link. Calls that a scheme leaves out answer as PFC does.
pub(crate) trait Planned: Sync {
    /// The other end of the link must do this.
    fn needs(&self) -> &'static str;

    /// Writes the steps that lead to the thresholds of `port`, on a link of this round trip.
    fn thresholds(&self, sheet: &mut Sheet, port: &PortSettings, round_trip: Interval);

    /// Its frame on the wire, and how often it is sent at most: a pause is refreshed when half of it has passed.
    fn control(&self, port: &PortSettings) -> (WireBytes, Interval) {
        (pause(), Interval(port.pfc.pause.interval_at(port.rate).0 / 2))
    }

    /// The bytes that it lets in ahead of time, and their name; `None` where thresholds and headroom bound arrivals.
    fn granted(&self, _port: &PortSettings) -> Option<(&'static str, WireBytes)> {
        None
    }

    /// Whether it divides time into slots.
    fn has_slots(&self) -> bool {
        false
    }

    /// Whether it passes on the pauses of the far side, on both ports.
    fn passes_on(&self) -> bool {
        false
    }

    /// Whether it lets the highest priority have all that drains, and lower ones the rest.
    fn is_strict(&self) -> bool {
        false
    }

    /// Whether it stops the other end by pauses.
    fn pauses(&self) -> bool {
        true
    }

    /// The longest pause of the long link while priorities share the drain. Its formula may name what is added to `sheet`.
    fn longest_pause(&self, sheet: &mut Sheet, port: &PortSettings, sharing: Sharing) -> Shown {
        from_full_to_xon(sheet, port, sharing)
    }

    /// Why no run comes to `figure`; `None` where a run could.
    fn never_reaches(&self, _figure: Unreached) -> Option<&'static str> {
        None
    }
}

/// A PFC frame on the wire.
pub(crate) fn pause() -> WireBytes {
    WireBytes::of_frame(Bytes(MIN_FRAME_LEN as u64))
}

/// A message of `length` bytes behind its Ethernet header, on the wire.
pub(crate) fn message(length: usize) -> WireBytes {
    WireBytes::of_frame(Bytes((HEADER_LEN + length) as u64))
}

units::named! {
    /// A figure of the plan that a run may never come to. Its bound is then neither kept nor broken.
    Unreached [ALL] {
        /// The headroom on the long link.
        Headroom = "headroom",
        /// The pause of the long link.
        PauseLong = "pause_long",
        /// The pause of the data center.
        PauseLocal = "pause_local",
    }
}
