//! The receive ring of a port as a part of its buffer: when it is deep, and what it holds until a pause takes effect.
//!
//! A core that is too slow for the frames of a port leaves them in the ring of its device, where no threshold counts
//! them. Beyond [`mark`], the port pauses its lossless priorities ([`crate::PauseCause::ReceiveRing`]) and drops lossy
//! frames before anything else is done with them ([`crate::DropReason::ReceiveRing`]), so the rest of the ring has to
//! hold only what comes until the sender has stopped ([`RingRoom`]). The driver of the shard asks the device after
//! every [`LOOK_EVERY`]th full burst in a row. A burst that is not full has emptied the ring.

use units::{BitRate, Interval, Nanos, WireBytes};

/// The frames of a full burst.
pub const BURST: u64 = 32;
/// Full bursts in a row from one look at the ring to the next. A look costs a call of the device, and one burst after an
/// idle time says little.
pub const LOOK_EVERY: u64 = 4;
/// Turns without a full burst after which a ring is no longer deep.
const CALM_TURNS: u64 = 2;

/// The unread frames from which on a ring of `descriptors` is deep: a quarter of it, and two bursts at least, because a core
/// that keeps up may leave one.
pub const fn mark(descriptors: u32) -> u32 {
    let (quarter, least) = (descriptors / 4, 2 * BURST as u32);
    if quarter > least { quarter } else { least }
}

/// Counts the full bursts of a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct RingWatch {
    /// Full bursts in a row.
    full: u64,
    /// The turn after the last of them.
    next: u64,
    /// An instant at which the ring was not yet emptied for the last time.
    empty_at: Nanos,
}

impl RingWatch {
    /// Notes a full burst in turn `turn`; the turn before began at `last`. Returns whether a look at the ring is due.
    #[inline]
    pub fn note_full(&mut self, turn: u64, last: Nanos) -> bool {
        if self.full == 0 || self.next != turn {
            // The burst of the turn before was not full.
            *self = Self { empty_at: last, ..Self::default() };
        }
        self.full += 1;
        self.next = turn + 1;
        self.full.is_multiple_of(LOOK_EVERY)
    }

    /// Whether a ring of `descriptors` may be deep at `now`, where the device does not tell. A link of `rate` may have brought
    /// so much since it was empty, in frames of the mean length of the last burst, which had `burst` bytes. As many frames were
    /// read without an end, so that no short train of frames after a late turn is taken for more than it is.
    pub fn may_be_deep(&self, descriptors: u32, now: Nanos, rate: BitRate, burst: WireBytes) -> bool {
        let (read, mark) = (self.full * BURST, u64::from(mark(descriptors)));
        let came = u128::from(rate.bytes_in(now.since(self.empty_at)));
        let frames = came * u128::from(BURST) / u128::from(burst.0.max(1));
        read >= mark && frames >= u128::from(read + mark)
    }

    /// The time before `now` since which frames may be unread.
    pub fn unread_for(&self, now: Nanos) -> Interval {
        now.since(self.empty_at)
    }

    /// Whether the ring was empty twice in a row before turn `turn`.
    pub fn is_calm(&self, turn: u64) -> bool {
        turn >= self.next + CALM_TURNS
    }
}

/// What a receive ring has to hold while a core is too slow, from the mark on until the sender has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingRoom {
    /// Descriptors of the ring.
    pub descriptors: u32,
    /// Frames per second that the core takes out of it; at least one.
    pub carried: u64,
    /// The time from the departure of a pause frame to the arrival of the last frame that was sent before it takes effect.
    pub stops_within: Interval,
    /// How late the worker may be, once before it looks at the ring and once before the pause leaves.
    pub lateness: Interval,
}

/// Frames in `time` at `rate` frames per second, rounded up.
fn frames_in(time: u128, rate: u64) -> u64 {
    u64::try_from((time * u128::from(rate)).div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

impl RingRoom {
    /// From the look before the ring is deep to the end of what still comes, without lateness.
    fn grows_for(&self) -> u128 {
        let between_looks =
            u128::from(LOOK_EVERY * BURST * 1_000_000_000).div_ceil(self.carried.max(1).into());
        u128::from(self.stops_within.0) + between_looks
    }

    /// The frames that the ring holds at most if `arriving` frames per second come: the mark, a burst, what is not carried
    /// until the next look and until the sender has stopped, and what arrives while the worker is late. No frame is lost if
    /// the ring has as many descriptors.
    pub fn holds_at_most(&self, arriving: u64) -> u64 {
        let growth = frames_in(self.grows_for(), arriving.saturating_sub(self.carried));
        let late = frames_in(2 * u128::from(self.lateness.0), arriving);
        (u64::from(mark(self.descriptors)) + BURST).saturating_add(growth).saturating_add(late)
    }

    /// The most frames per second of which the ring loses none; `None` if the lateness alone is too much for it at the rate
    /// that the core carries.
    pub fn most_arriving(&self) -> Option<u64> {
        if self.holds_at_most(self.carried) > self.descriptors.into() {
            return None;
        }
        let (mut fits, mut beyond) = (self.carried, u64::MAX);
        while beyond - fits > 1 {
            let between = fits + (beyond - fits) / 2;
            if self.holds_at_most(between) <= self.descriptors.into() {
                fits = between;
            } else {
                beyond = between;
            }
        }
        Some(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 1,082 bytes at 50G, and a core that carries 4 million a second.
    const ROOM: RingRoom = RingRoom {
        descriptors: 4_096,
        carried: 4_000_000,
        stops_within: Interval::from_micros(820),
        lateness: Interval::from_micros(10),
    };

    #[test]
    fn the_ring_holds_its_mark_and_what_comes_until_the_sender_has_stopped() {
        // 1,024 + 32, (5.65 M - 4 M) x (820 us + 32 us), 2 x 5.65 M x 10 us.
        assert_eq!(ROOM.holds_at_most(5_650_000), 1_024 + 32 + 1_406 + 113);
        assert_eq!(ROOM.holds_at_most(1), 1_024 + 32 + 1, "a core that keeps up reads faster than they come");
    }

    #[test]
    fn the_most_that_may_arrive_is_the_last_rate_that_fits() {
        let most = ROOM.most_arriving().unwrap();
        assert!(most > 7_000_000 && ROOM.holds_at_most(most) <= 4_096, "{most}");
        assert!(ROOM.holds_at_most(most + 1) > 4_096);
        assert_eq!(RingRoom { lateness: Interval::from_millis(1), ..ROOM }.most_arriving(), None);
        assert!(
            RingRoom { lateness: Interval(u64::MAX), stops_within: Interval(u64::MAX), ..ROOM }
                .most_arriving()
                .is_none()
        );
    }

    #[test]
    fn a_look_is_due_after_four_full_bursts_in_a_row_and_after_four_more() {
        let mut watch = RingWatch::default();
        let mut looks = |turns: &[u64]| -> Vec<u64> {
            turns.iter().copied().filter(|turn| watch.note_full(*turn, Nanos(*turn))).collect()
        };
        assert_eq!(looks(&[0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16]), [11, 15]);
    }

    #[test]
    fn a_ring_may_be_deep_by_what_may_have_come_since_it_was_empty_less_what_was_read() {
        let mut watch = RingWatch::default();
        // 100G bring 1,000 frames of 125 bytes in 10 us.
        let may_be = |watch: &RingWatch, now| {
            watch.may_be_deep(256, Nanos(now), BitRate::gigabits(100), WireBytes(32 * 125))
        };
        watch.note_full(5, Nanos(1_000));
        assert!(!may_be(&watch, u64::MAX), "one burst is no more than itself");
        (6..9).for_each(|turn| assert_eq!(watch.note_full(turn, Nanos(2_000)), turn == 8));
        // 128 were read, and the mark is 64.
        assert_eq!([2_919, 2_920].map(|now| may_be(&watch, now)), [false, true]);
        assert!(may_be(&watch, u64::MAX));
    }

    #[test]
    fn a_ring_is_calm_after_two_turns_without_a_full_burst() {
        let mut watch = RingWatch::default();
        watch.note_full(7, Nanos(0));
        assert_eq!([8, 9, 10].map(|turn| watch.is_calm(turn)), [false, false, true]);
    }

    #[test]
    fn the_mark_is_a_quarter_of_the_ring_and_two_bursts_at_least() {
        assert_eq!([64, 256, 1_024, 4_096].map(mark), [64, 64, 256, 1_024]);
    }
}
