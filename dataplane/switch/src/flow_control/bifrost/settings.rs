//! The settings of Bifrost on a port.

use core::fmt;
use core::num::NonZeroU32;
use units::{BitRate, Bytes, Interval, PauseQuanta, PrioritySet, WireBytes};

/// Bifrost on a port ("Minimizing Buffer Utilization for Lossless Inter-DC Links", table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bifrost {
    /// H: the buffer reserved for the port, in wire bytes; at least [`BufferTerms::total`].
    pub buffer: WireBytes,
    /// T: the slot, at least 1 us and at most the round trip.
    pub slot: Interval,
    /// From the end of a slot until its first granted byte arrives: propagation both ways, and
    /// what both ends take to act.
    pub round_trip: Interval,
    /// k: the frames that the buffer provides for because they may leak. In the paper also how
    /// many slots pass until a leak is deducted, which is one here.
    pub check_every: NonZeroU32,
    /// How the virtual incoming bytes are kept.
    pub virtual_incoming: VirtualIncoming,
    /// How much longer than its slot the pause of a slot without any grant is. The frame of the
    /// next slot replaces it; it matters only where that frame is late.
    pub holdover: Interval,
    /// How late a slot may end without the buffer being exceeded.
    pub lateness: Interval,
}

/// How Bifrost keeps the virtual incoming bytes, F.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualIncoming {
    /// Grants are added and arrivals taken off: algorithm 1, line 15.
    Counter,
    /// The grants of the last round trip in a ring; unused ones expire.
    History {
        /// How much longer than configured the round trip may be.
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
    /// What the buffer must hold on a link of `rate` with frames of up to `max_frame`, whatever
    /// [`Bifrost::buffer`] says.
    pub fn buffer_terms(&self, rate: BitRate, max_frame: Bytes) -> BufferTerms {
        let frames = u64::from(self.check_every.get());
        BufferTerms {
            bdp: rate.bytes_in(self.round_trip + self.virtual_incoming.jitter()),
            slots: 2 * rate.bytes_in(self.slot),
            leaked: frames * WireBytes::of_frame(max_frame).0,
            late: rate.bytes_in(self.lateness),
        }
    }

    /// `H >= BDP + 2 Rs T + k MTU` (section IV-C and IV-D of the paper), and slots that pauses can cover, on a link of
    /// `rate` with frames of up to `max_frame` and these `lossless` priorities.
    pub(crate) fn validate(
        &self,
        rate: BitRate,
        max_frame: Bytes,
        lossless: PrioritySet,
    ) -> Result<(), BifrostError> {
        if lossless.is_empty() {
            return Err(BifrostError::NoLossless);
        }
        let longest_pause = PauseQuanta::MAX.interval_at(rate) - self.holdover;
        let (least, most) = (Interval::from_micros(1), self.round_trip.min(longest_pause));
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

    /// How far the queue may exceed [`Bifrost::buffer`] while the upstream obeys, in wire bytes,
    /// on a link of `rate` with frames of up to `max_frame`.
    ///
    /// A frame that has begun when a pause arrives is sent to its end: up to one for each slot that
    /// was granted in part. A history notices the first, in the slot after it; those of a round trip
    /// and of that slot follow. The paper's `k MTU` counts those of k slots only. A counter notices none until they have used up
    /// F, and then everything that was granted is still under way.
    pub const fn overrun(&self, rate: BitRate, max_frame: Bytes) -> WireBytes {
        let frame = WireBytes::of_frame(max_frame).0;
        match self.virtual_incoming {
            VirtualIncoming::History { .. } => {
                WireBytes((self.round_trip.0.div_ceil(self.slot.0) + 2) * frame)
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
    bdp: u64,
    slots: u64,
    leaked: u64,
    late: u64,
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

/// Why settings of Bifrost do not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BifrostError {
    /// Nothing on the port is lossless.
    #[error("Bifrost needs a lossless priority to pause")]
    NoLossless,
    /// A slot that is too short or too long.
    #[error(
        "a slot of Bifrost is {least} to {most} here, not {slot}: below the round trip, and a pause that a PFC frame can carry"
    )]
    Slot {
        /// The slot that was given.
        slot: Interval,
        /// The shortest that is possible here.
        least: Interval,
        /// The longest that is possible here.
        most: Interval,
    },
    /// A buffer that is smaller than the sum of its terms.
    #[error("Bifrost needs a buffer of {least}, not {buffer}: {terms}")]
    Buffer {
        /// The buffer that was given.
        buffer: Bytes,
        /// The sum.
        least: Bytes,
        /// What it consists of.
        terms: BufferTerms,
    },
}
