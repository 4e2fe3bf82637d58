//! The default round trip of a long link.

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
///
/// The pause waits for frames that were handed to the device (`tx_window`) and for a frame that has begun. It
/// travels, and the peer obeys it within the allowed time (IEEE 802.3 clause 31B.3.7) and after a frame that it has
/// begun. The peer's frames then travel back. All of them pass NICs and PHYs.
pub(crate) fn from_distance(port: &PortSettings, link: &Link) -> Option<Interval> {
    let frame = frame_time(port.rate, port.max_frame);
    let ends = link.interface_delay + port.tx_window + response_time(port.rate) + frame * 2;
    Some(link.distance?.propagation() * 2 + ends)
}

/// The time within which a device must obey a received pause, rounded up.
fn response_time(rate: BitRate) -> Interval {
    let bytes = response_quanta(rate).saturating_mul(64);
    rate.serialization().time_of(WireBytes(bytes))
}
