//! The settings of Bifrost on a port.

use core::fmt;
use core::num::NonZeroU32;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, PauseQuanta, PrioritySet, WireBytes};

/// Bifrost on a port ("Minimizing Buffer Utilization for Lossless Inter-DC Links", table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bifrost {
    /// H: the buffer reserved for the port, in wire bytes; at least [`BufferTerms::total`].
    pub buffer: WireBytes,
    /// T: the slot, at least 1 us and at most the round trip.
    pub slot: Interval,
    /// Round trip: from the end of a slot until its first granted byte arrives. It consists of the propagation both
    /// ways, and the reaction times of both ends.
    pub round_trip: Interval,
    /// k: the number of leaked frames that the buffer provides for. In the paper it is also the number of slots
    /// until a leak is deducted, which is one here.
    pub check_every: NonZeroU32,
    /// The method to keep the virtual incoming bytes.
    pub virtual_incoming: VirtualIncoming,
    /// Time by which the pause of a slot without any grant exceeds the slot. The frame of the next slot replaces
    /// it, so it matters only if that frame is late.
    pub holdover: Interval,
    /// Lateness of a slot up to which the buffer is not exceeded.
    pub lateness: Interval,
}

/// The method to keep the virtual incoming bytes, F.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VirtualIncoming {
    /// A counter: grants are added, arrivals deducted (algorithm 1, line 15).
    Counter,
    /// The grants of the last round trip in a ring; unused ones expire.
    History {
        /// Time by which the round trip may exceed its setting.
        jitter: Interval,
    },
}

impl VirtualIncoming {
    /// The margin for a longer round trip.
    pub const fn jitter(self) -> Interval {
        match self {
            Self::Counter => Interval::ZERO,
            Self::History { jitter } => jitter,
        }
    }
}

impl Bifrost {
    /// The least buffer on a link of `rate` with frames of up to `max_frame`, term by term. It does not depend on
    /// [`Bifrost::buffer`].
    pub fn buffer_terms(&self, rate: BitRate, max_frame: Bytes) -> BufferTerms {
        let frames = u64::from(self.check_every.get());
        BufferTerms {
            bdp: rate.bytes_in(self.round_trip + self.virtual_incoming.jitter()),
            slots: 2 * rate.bytes_in(self.slot),
            leaked: frames * WireBytes::of_frame(max_frame).0,
            late: rate.bytes_in(self.lateness),
        }
    }

    /// Whether a grant expires sooner than a reader that is late may count what came in for it.
    pub(crate) fn expires_early(&self) -> bool {
        matches!(self.virtual_incoming, VirtualIncoming::History { jitter } if jitter < self.lateness)
    }

    /// Checks that `H >= BDP + 2 Rs T + k MTU` (section IV-C and IV-D of the paper), and that pauses can cover the
    /// slots, on a link of `rate` with frames of up to `max_frame` and these `lossless` priorities.
    pub(crate) fn validate(
        &self,
        rate: BitRate,
        max_frame: Bytes,
        lossless: PrioritySet,
    ) -> Result<(), BifrostError> {
        if lossless.is_empty() {
            return Err(BifrostError::NoLossless);
        }
        let (least, longest_pause) = (Interval::from_micros(1), PauseQuanta::MAX.interval_at(rate));
        let most = longest_pause - least;
        if self.holdover > most {
            return Err(BifrostError::Holdover { holdover: self.holdover, most, least });
        }
        let most = self.round_trip.min(longest_pause - self.holdover);
        if self.slot < least || self.slot > most {
            return Err(BifrostError::Slot { slot: self.slot, least, most });
        }
        let terms = self.buffer_terms(rate, max_frame);
        let least = terms.total();
        if self.buffer < least {
            let (buffer, least) = (Bytes(self.buffer.0), Bytes(least.0));
            return Err(BifrostError::Buffer { buffer, least, terms });
        }
        Ok(())
    }

    /// Wire bytes by which the queue may exceed [`Bifrost::buffer`] while the upstream obeys, on a link of `rate`
    /// with frames of up to `max_frame`. The upstream goes on for `ahead` after a pause has arrived: it has handed frames to
    /// its device, or takes the time that IEEE 802.3 clause 31B.3.7 allows.
    ///
    /// Each slot that grants a part of the line leaks the frame that has begun when its pause arrives, and what the upstream
    /// sends in `ahead`, at most a slot of the line. A history notices the first leak in the slot after it; those of a round
    /// trip and of that slot follow. The paper's `k MTU` counts only the frames of k slots. A counter notices none until they
    /// have used up F, and by then all granted bytes are still under way.
    pub const fn overrun(&self, rate: BitRate, max_frame: Bytes, ahead: Interval) -> WireBytes {
        let frame = WireBytes::of_frame(max_frame).0;
        match self.virtual_incoming {
            VirtualIncoming::History { .. } => {
                let ahead = if ahead.0 < self.slot.0 { ahead } else { self.slot };
                WireBytes((self.round_trip.0.div_ceil(self.slot.0) + 2) * (frame + rate.bytes_in(ahead)))
            }
            VirtualIncoming::Counter => {
                WireBytes(rate.bytes_in(self.round_trip) + rate.bytes_in(self.slot) + frame)
            }
        }
    }
}

/// The least buffer, term by term, in wire bytes (sections IV-C and IV-D of the paper, and our own
/// term for late slots).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferTerms {
    /// BDP: what arrives in the round trip and its jitter.
    pub bdp: u64,
    /// `2 Rs T`: what arrives in two slots.
    pub slots: u64,
    /// `k MTU`: leaked frames.
    pub leaked: u64,
    /// Bytes that arrive while a slot is late.
    pub late: u64,
}

impl BufferTerms {
    /// `BDP + 2 Rs T + k MTU + Rs x lateness`.
    pub const fn total(&self) -> WireBytes {
        WireBytes(self.bdp + self.slots + self.leaked + self.late)
    }
}

impl fmt::Display for BufferTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bdp, slots, leaked, late } = *self;
        write!(f, "BDP {} + two slots {}", Bytes(bdp), Bytes(slots))?;
        write!(f, " + k frames {} + late slots {}", Bytes(leaked), Bytes(late))
    }
}

/// An error in the settings of Bifrost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BifrostError {
    /// Nothing on the port is lossless.
    #[error("Bifrost needs a lossless priority to pause")]
    NoLossless,
    /// The holdover leaves no room for a slot.
    #[error(
        "a Bifrost holdover of {holdover} is out of range; expected up to {most}, which leaves a slot of {least} of the longest pause of a PFC frame"
    )]
    Holdover {
        /// The given holdover.
        holdover: Interval,
        /// The longest possible one.
        most: Interval,
        /// The shortest slot.
        least: Interval,
    },
    /// The slot is too short or too long.
    #[error(
        "a Bifrost slot of {slot} is out of range; expected {least} to {most}, below the round trip and the longest pause of a PFC frame"
    )]
    Slot {
        /// The given slot.
        slot: Interval,
        /// The shortest possible slot here.
        least: Interval,
        /// The longest possible slot here.
        most: Interval,
    },
    /// The buffer is smaller than the sum of its terms.
    #[error("a Bifrost buffer of {buffer} is too small; expected at least {least}: {terms}")]
    Buffer {
        /// The given buffer.
        buffer: Bytes,
        /// The sum.
        least: Bytes,
        /// The terms of the sum.
        terms: BufferTerms,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    /// A byte in a nanosecond.
    const RATE: BitRate = BitRate::gigabits(8);
    const FRAME: Bytes = Bytes(1_500);
    const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
    const BIFROST: Bifrost = Bifrost {
        buffer: WireBytes(1 << 40),
        slot: Interval(2_000),
        round_trip: Interval(10_000),
        check_every: NonZeroU32::new(3).unwrap(),
        virtual_incoming: VirtualIncoming::History { jitter: Interval(500) },
        holdover: Interval(7_000),
        lateness: Interval(100),
    };

    #[test]
    fn the_buffer_holds_the_round_trip_two_slots_some_frames_and_late_slots() {
        let frames = 3 * WireBytes::of_frame(FRAME).0;
        let terms = BIFROST.buffer_terms(RATE, FRAME);
        assert_eq!(terms, BufferTerms { bdp: 10_500, slots: 4_000, leaked: frames, late: 100 });
        assert_eq!(terms.total(), WireBytes(14_600 + frames));
        let [slots, leaked, late] = [4_000, frames, 100].map(Bytes);
        let shown =
            format!("BDP {} + two slots {slots} + k frames {leaked} + late slots {late}", Bytes(10_500));
        assert_eq!(terms.to_string(), shown);
    }

    #[test]
    fn a_buffer_below_the_sum_of_its_terms_is_refused() {
        let terms = BIFROST.buffer_terms(RATE, FRAME);
        let least = terms.total();
        let with = |buffer| Bifrost { buffer, ..BIFROST }.validate(RATE, FRAME, LOSSLESS);
        assert_eq!(with(least), Ok(()));
        let buffer = Bytes(least.0 - 1);
        let error = BifrostError::Buffer { buffer, least: Bytes(least.0), terms };
        assert_eq!(with(WireBytes(buffer.0)), Err(error));
        assert_eq!(BIFROST.validate(RATE, FRAME, PrioritySet::EMPTY), Err(BifrostError::NoLossless));
    }

    #[test]
    fn a_slot_lasts_a_microsecond_to_the_round_trip_and_no_longer_than_a_pause() {
        let longest_pause = PauseQuanta::MAX.interval_at(RATE) - BIFROST.holdover;
        for (round_trip, most) in
            [(Interval(10_000), Interval(10_000)), (Interval::from_millis(100), longest_pause)]
        {
            let with = |slot| Bifrost { slot, round_trip, ..BIFROST }.validate(RATE, FRAME, LOSSLESS);
            let least = Interval::from_micros(1);
            assert_eq!((with(least), with(most)), (Ok(()), Ok(())));
            for slot in [Interval(least.0 - 1), Interval(most.0 + 1)] {
                assert_eq!(with(slot), Err(BifrostError::Slot { slot, least, most }));
            }
        }
    }

    #[test]
    fn a_holdover_that_leaves_no_slot_is_refused_instead_of_every_slot() {
        let least = Interval::from_micros(1);
        let most = PauseQuanta::MAX.interval_at(RATE) - least;
        let with = |slot, holdover| Bifrost { slot, holdover, ..BIFROST }.validate(RATE, FRAME, LOSSLESS);
        for slot in [Interval(999), least, BIFROST.slot] {
            let holdover = Interval(most.0 + 1);
            assert_eq!(with(slot, holdover), Err(BifrostError::Holdover { holdover, most, least }));
        }
        assert_eq!(with(least, most), Ok(()));
    }

    #[test]
    fn the_buffer_is_overrun_by_what_each_slot_leaks_or_by_all_that_is_under_way() {
        let frame = WireBytes::of_frame(FRAME).0;
        let history = |round_trip, ahead| {
            Bifrost { round_trip: Interval(round_trip), ..BIFROST }.overrun(RATE, FRAME, Interval(ahead)).0
        };
        assert_eq!([10_000, 10_001].map(|it| history(it, 0)), [7 * frame, 8 * frame]);
        assert_eq!(history(10_000, 500), 7 * (frame + 500));
        assert_eq!(history(10_000, 5_000), 7 * (frame + 2_000), "no slot leaks more than the line");
        let counter = Bifrost { virtual_incoming: VirtualIncoming::Counter, ..BIFROST };
        assert_eq!(counter.overrun(RATE, FRAME, Interval(500)), WireBytes(10_000 + 2_000 + frame));
    }
}
