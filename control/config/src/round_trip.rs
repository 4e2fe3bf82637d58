//! The default round trip of a long link, term by term.

use switch::program::PortSettings;
use units::{BitRate, Interval, WireBytes};

use crate::headroom::{frame_time, response_quanta};
use crate::keys::long_haul::{LONGEST, SPANS};
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::value::in_words;

/// Calculates the round trip from the distance, for the table at `place`. Returns `None` and notes an error if the
/// distance is unknown. A round trip that is too long is an error too.
pub(crate) fn needed(
    port: &PortSettings,
    link: &Link,
    place: &Place,
    problems: &Problems<'_>,
) -> Option<Interval> {
    let known = from_distance(port, link);
    let place = place.of_key("round_trip");
    match known {
        Some(known) if known > LONGEST => {
            problems.error(&place, ProblemKind::out_of_range(known, in_words(&SPANS)));
        }
        Some(_) => {}
        None => {
            let when = "because the port has no distance; for example, write round_trip = \"800us\" here, or distance = \"80km\" on the port";
            problems.error(&place, ProblemKind::Needed { when });
        }
    }
    known
}

/// The time from the end of a slot until its first granted byte arrives; `None` without a distance.
pub(crate) fn from_distance(port: &PortSettings, link: &Link) -> Option<Interval> {
    Some(RoundTripSum::new(port, link)?.total())
}

/// The round trip of a pause and of what it changes, term by term.
///
/// The pause waits for frames that were handed to the device (`tx_window`) and for a frame that has begun. It
/// travels, and the peer obeys it within the allowed time (IEEE 802.3 clause 31B.3.7) and after a frame that it has
/// begun. The peer's frames then travel back. All of them pass NICs and PHYs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTripSum {
    /// Propagation one way.
    pub propagation: Interval,
    /// Delays of NICs, PHYs and worker turns, both ends together.
    pub interfaces: Interval,
    /// How far ahead of the link frames are handed to the device.
    pub waiting: Interval,
    /// The time within which the peer must obey a pause, rounded up.
    pub response: Interval,
    /// The time of the longest frame on the link.
    pub frame: Interval,
}

impl RoundTripSum {
    /// The terms of a port on its link; `None` if the distance is unknown.
    pub fn new(port: &PortSettings, link: &Link) -> Option<Self> {
        Some(Self {
            propagation: link.distance?.propagation(),
            interfaces: link.interface_delay,
            waiting: port.tx_window,
            response: response_time(port.rate),
            frame: frame_time(port.rate, port.max_frame),
        })
    }

    /// The sum: propagation both ways, a frame at each end, and the other terms once.
    pub fn total(&self) -> Interval {
        self.propagation * 2 + self.interfaces + self.waiting + self.response + self.frame * 2
    }
}

/// For how long the peer of a port may go on sending after a pause has arrived there, beside a frame that it has begun. A
/// gateway has handed frames to its device, as far ahead as this port does.
pub(crate) fn peer_goes_on(port: &PortSettings) -> Interval {
    port.tx_window.max(response_time(port.rate))
}

/// The time within which a device must obey a received pause, rounded up.
fn response_time(rate: BitRate) -> Interval {
    let bytes = response_quanta(rate).saturating_mul(64);
    rate.serialization().time_of(WireBytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ethernet::MacAddress;

    #[test]
    fn a_peer_goes_on_for_its_window_or_for_what_the_standard_allows_whichever_is_longer() {
        let goes_on = |nanos| {
            let port = PortSettings::lossy("lh0", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(100));
            peer_goes_on(&PortSettings { tx_window: Interval(nanos), ..port })
        };
        assert_eq!([0, 2_000, 5_000].map(goes_on), [2_018, 2_018, 5_000].map(Interval));
    }
}
