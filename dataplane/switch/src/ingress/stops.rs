//! How the sender of a lossless group obeys its pauses: how long frames still arrive after an XOFF, and how much of the
//! headroom they take. Only frames of a paused group are looked at.

use crate::histogram::DelayHistogram;
use crate::program::GroupSettings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};

/// The parts into which headroom is divided for [`Stops::headroom`].
const PARTS: u64 = 16;

/// The pauses of a lossless group that have ended, and what came during them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// The time from the start of an XOFF frame on the wire to the last frame that came before the pause ended, of each
    /// pause during which a frame came. It includes the lateness of the turn that took the frame.
    pub times: DelayHistogram,
    /// Pauses by the headroom that they used at most: at index n, more than n sixteenths of it, and up to n + 1.
    pub headroom: [u64; PARTS as usize],
    /// Frames that came later after the XOFF than the headroom lasts at the rate of the link: a sender that obeys is long
    /// silent then.
    pub disobeyed: u64,
}

/// The pauses of one group, with the one under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StopMeter {
    pub stops: Stops,
    /// The headroom of the group.
    headroom: Bytes,
    /// The time for which the headroom lasts.
    lasts: Interval,
    /// The start of the XOFF frame on the wire; never before that.
    since: Nanos,
    /// When the last frame came since; never if none came.
    last: Nanos,
    /// The most headroom in use since the pause was decided.
    most: Bytes,
}

impl StopMeter {
    /// Measures pauses of a group with these settings, if it is lossless, on a link of `rate`.
    pub fn of(settings: &GroupSettings, rate: BitRate) -> Option<Box<Self>> {
        settings.lossless().map(|it| Box::new(Self::new(it.headroom, rate)))
    }

    fn new(headroom: Bytes, rate: BitRate) -> Self {
        let (since, last, most) = (Nanos::NEVER, Nanos::NEVER, Bytes::ZERO);
        Self { stops: Stops::default(), headroom, lasts: lasts(headroom, rate), since, last, most }
    }

    /// Applies new settings, and keeps what was measured and the pause under way.
    pub fn configure(&mut self, headroom: Bytes, rate: BitRate) {
        (self.headroom, self.lasts) = (headroom, lasts(headroom, rate));
    }

    /// Notes that a frame with the pause is on the wire from `start` on. A refresh changes nothing.
    pub fn announced(&mut self, start: Nanos) {
        self.since = self.since.min(start);
    }

    /// Notes a frame that came at `now` during the pause, and the headroom in use after it.
    pub fn arrived(&mut self, now: Nanos, headroom: Bytes) {
        self.most = self.most.max(headroom);
        if self.since <= now {
            self.last = now;
            self.stops.disobeyed += u64::from(now > self.since + self.lasts);
        }
    }

    /// Counts the pause, which ends.
    pub fn resumed(&mut self) {
        if self.last != Nanos::NEVER {
            self.stops.times.record(self.last.since(self.since));
        }
        if self.since != Nanos::NEVER && self.headroom > Bytes::ZERO {
            let parts = (self.most.0 * PARTS).div_ceil(self.headroom.0).clamp(1, PARTS);
            self.stops.headroom[parts as usize - 1] += 1;
        }
        (self.since, self.last, self.most) = (Nanos::NEVER, Nanos::NEVER, Bytes::ZERO);
    }
}

fn lasts(headroom: Bytes, rate: BitRate) -> Interval {
    rate.serialization().time_of(WireBytes(headroom.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADROOM: Bytes = Bytes(16_000);

    fn meter() -> StopMeter {
        StopMeter::new(HEADROOM, BitRate::gigabits(8))
    }

    #[test]
    fn a_pause_takes_from_its_first_frame_on_the_wire_to_the_last_arrival() {
        let mut meter = meter();
        meter.arrived(Nanos(900), Bytes(500));
        meter.announced(Nanos(1_000));
        meter.arrived(Nanos(1_500), Bytes(2_000));
        meter.announced(Nanos(2_000));
        meter.arrived(Nanos(4_000), Bytes(1_500));
        meter.resumed();
        assert_eq!((meter.stops.times.count(), meter.stops.times.longest()), (1, Interval(3_000)));
        assert_eq!((meter.stops.headroom[1], meter.stops.headroom.iter().sum::<u64>()), (1, 1));
        meter.announced(Nanos(9_000));
        meter.resumed();
        assert_eq!((meter.stops.times.count(), meter.stops.headroom[0]), (1, 1), "nothing came");
    }

    #[test]
    fn a_pause_that_never_left_counts_for_nothing() {
        let mut meter = meter();
        meter.arrived(Nanos(900), Bytes(500));
        meter.resumed();
        assert_eq!(meter.stops, Stops::default());
    }

    #[test]
    fn a_frame_is_disobedient_once_headroom_would_be_full_at_the_rate_of_the_link() {
        let mut meter = meter();
        meter.announced(Nanos(1_000));
        meter.arrived(Nanos(17_000), HEADROOM);
        assert_eq!(meter.stops.disobeyed, 0);
        meter.arrived(Nanos(17_001), HEADROOM);
        assert_eq!(meter.stops.disobeyed, 1);
        meter.resumed();
        assert_eq!(meter.stops.headroom[15], 1);
    }

    #[test]
    fn a_smaller_headroom_after_a_reload_counts_as_full() {
        let mut meter = meter();
        meter.announced(Nanos(1_000));
        meter.arrived(Nanos(2_000), HEADROOM);
        meter.configure(Bytes(8_000), BitRate::gigabits(8));
        meter.resumed();
        assert_eq!(meter.stops.headroom[15], 1);
    }
}
