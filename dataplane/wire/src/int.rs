//! In-band telemetry as HPCC asks for it: what the links of a path carry and hold ("HPCC: High Precision
//! Congestion Control", SIGCOMM 2019, section 4.1 and figure 7). The paper fixes the fields and their widths.
//! Where the header stands in a RoCEv2 packet, and in which units it counts, is our own; `docs/int.md` shows
//! its bytes.
//!
//! | bits | field | |
//! |---|---|---|
//! | 4 | nHop | how many hops have stamped it; those beyond the fifth found no room |
//! | 12 | pathID | the exclusive or of the numbers of the hops |
//! | 5 x 64 | hops | rate (4), timestamp (24), bytes sent (20), queue (16) |

use core::fmt;

use units::{BitRate, Nanos};

use crate::bytes::{checked_head, head, put, room, u16_at, u64_at};
use crate::error::invalid;
use crate::ethernet::MacAddress;
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of the header, whatever the number of hops.
pub const LEN: usize = 2 + HOPS * HOP_LEN;
/// Hops for which there is room.
pub const HOPS: usize = 5;

const HOP_LEN: usize = 8;
const MOST_COUNTED: u8 = 15;
const TIMESTAMP_BITS: u32 = 24;
const SENT_BITS: u32 = 20;

/// The rate of a link, as the four bits say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkRate(u8);

/// In units of 100 Mb/s, by code. Code 0 is no rate.
const RATES: [u64; 15] = [0, 10, 25, 50, 100, 200, 250, 400, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

impl LinkRate {
    /// All that there are, in words.
    pub const VALID: &str = "1G, 2.5G, 5G, 10G, 20G, 25G, 40G, 50G, 100G, 200G, 400G, 800G, 1.6T and 3.2T";

    /// The code of `rate`; `None` where it has none.
    pub fn of(rate: BitRate) -> Option<Self> {
        let code = RATES.iter().position(|units| units * 100_000_000 == rate.bits_per_second())?;
        Some(Self(code as u8))
    }

    /// The rate.
    #[inline]
    pub fn rate(self) -> BitRate {
        let bits = RATES.get(usize::from(self.0)).copied().unwrap_or_default() * 100_000_000;
        // Only a code of the table is ever made.
        BitRate::new(bits).unwrap_or(BitRate::gigabits(1))
    }

    /// Bytes in a unit of [`Hop::sent`]: the power of two that lasts 16 ns or a little longer at this rate, 256
    /// at 100G. So the 20 bits do not wrap before the 24 of the timestamp.
    #[inline]
    pub fn sent_unit(self) -> u64 {
        (self.rate().bits_per_second() * 2).div_ceil(1_000_000_000).next_power_of_two()
    }

    /// Bytes in a unit of [`Hop::queue`]: four times as many, so that 67 MB can be said at 100G.
    #[inline]
    pub fn queue_unit(self) -> u64 {
        4 * self.sent_unit()
    }

    #[inline]
    fn from_code(code: u8) -> Option<Self> {
        (1..RATES.len() as u8).contains(&code).then_some(Self(code))
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rate().fmt(f)
    }
}

/// What a hop says of the link through which it sent the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// B: the rate of the link.
    pub rate: LinkRate,
    /// TS: when the packet went onto the link, in nanoseconds of the hop's own clock, modulo 2^24.
    pub timestamp: u32,
    /// txBytes: what the link had carried until then, all priorities together and with preamble, FCS and gap,
    /// in units of [`LinkRate::sent_unit`], modulo 2^20.
    pub sent: u32,
    /// qLen: what the packet left behind in its queue, in units of [`LinkRate::queue_unit`], rounded down; the
    /// most that can be said where it is more.
    pub queue: u16,
}

impl Hop {
    /// A hop that sends at `start` over a link of `rate`, after `sent` bytes, and keeps a queue of `queue`
    /// bytes.
    #[inline]
    pub fn new(rate: LinkRate, start: Nanos, sent: u64, queue: u64) -> Self {
        Self {
            rate,
            timestamp: (start.0 & low_bits(TIMESTAMP_BITS)) as u32,
            sent: ((sent / rate.sent_unit()) & low_bits(SENT_BITS)) as u32,
            queue: u16::try_from(queue / rate.queue_unit()).unwrap_or(u16::MAX),
        }
    }

    /// Nanoseconds since `earlier` was said by the same hop, as long as these are less than 16.7 ms.
    #[inline]
    pub fn nanos_since(&self, earlier: &Self) -> u64 {
        u64::from(self.timestamp.wrapping_sub(earlier.timestamp)) & low_bits(TIMESTAMP_BITS)
    }

    /// Bytes that the link carried since then.
    #[inline]
    pub fn bytes_since(&self, earlier: &Self) -> u64 {
        let units = u64::from(self.sent.wrapping_sub(earlier.sent)) & low_bits(SENT_BITS);
        units * self.rate.sent_unit()
    }

    /// Bytes in the queue.
    #[inline]
    pub fn queue_bytes(&self) -> u64 {
        u64::from(self.queue) * self.rate.queue_unit()
    }

    #[inline]
    fn to_bits(self) -> u64 {
        u64::from(self.rate.0) << 60
            | (u64::from(self.timestamp) & low_bits(TIMESTAMP_BITS)) << 36
            | (u64::from(self.sent) & low_bits(SENT_BITS)) << 16
            | u64::from(self.queue)
    }

    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        Some(Self {
            rate: LinkRate::from_code((bits >> 60) as u8)?,
            timestamp: (bits >> 36 & low_bits(TIMESTAMP_BITS)) as u32,
            sent: (bits >> 16 & low_bits(SENT_BITS)) as u32,
            queue: bits as u16,
        })
    }
}

#[inline]
const fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

/// The number of a hop, 12 bits, by which a sender sees that its path has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HopNumber(u16);

impl HopNumber {
    /// The number in the low 12 bits.
    #[inline]
    pub const fn from_low_bits(bits: u16) -> Self {
        Self(bits & 0x0fff)
    }

    /// That of a port, from its address: the exclusive or of its four groups of 12 bits.
    pub fn of(mac: MacAddress) -> Self {
        let bits = mac.0.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        Self::from_low_bits((bits ^ bits >> 12 ^ bits >> 24 ^ bits >> 36) as u16)
    }

    /// Its number, 0 to 4095.
    #[inline]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A checked view of a header.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which begin with the header.
    ///
    /// # Errors
    /// Truncated below [`LEN`] bytes; invalid, where a hop has a rate that has no meaning.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        checked_head::<LEN>(Protocol::Telemetry, bytes.as_ref())?;
        let view = Self(bytes);
        for index in 0..view.recorded() {
            let code = (view.hop_bits(index) >> 60) as u8;
            if LinkRate::from_code(code).is_none() {
                return Err(invalid(Protocol::Telemetry, "rate of a hop", code.into()));
            }
        }
        Ok(view)
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; LEN] {
        head(self.0.as_ref())
    }

    #[inline]
    fn hop_bits(&self, index: usize) -> u64 {
        // The index is below HOPS wherever this is called.
        u64_at(self.raw(), 2 + index.min(HOPS - 1) * HOP_LEN)
    }

    /// Hops that the packet has passed, 15 for more; those behind the fifth are not recorded.
    #[inline]
    pub fn passed(&self) -> u8 {
        self.raw()[0] >> 4
    }

    /// Hops that are recorded, 0 to 5.
    #[inline]
    pub fn recorded(&self) -> usize {
        usize::from(self.passed()).min(HOPS)
    }

    /// The exclusive or of the numbers of all hops that it has passed.
    #[inline]
    pub fn path(&self) -> HopNumber {
        HopNumber::from_low_bits(u16_at(self.raw(), 0))
    }

    /// The hop at `index`, from 0, in the order of the path.
    #[inline]
    pub fn hop(&self, index: usize) -> Option<Hop> {
        if index < self.recorded() { Hop::from_bits(self.hop_bits(index)) } else { None }
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            passed: self.passed(),
            path: self.path(),
            hops: core::array::from_fn(|index| self.hop(index)),
        }
    }
}

/// Adds a hop to the header with which `bytes` begin: what a switch does to each packet, without looking at
/// what earlier hops have said. Nothing happens where the header is not all there.
#[inline]
pub fn stamp(bytes: &mut [u8], number: HopNumber, hop: Hop) {
    let Some(header) = bytes.first_chunk_mut::<LEN>() else { return };
    let word = u16_at(header, 0);
    let passed = (word >> 12) as u8;
    if usize::from(passed) < HOPS {
        put(header, 2 + usize::from(passed) * HOP_LEN, &hop.to_bits().to_be_bytes());
    }
    let passed = (passed + 1).min(MOST_COUNTED);
    put(header, 0, &(u16::from(passed) << 12 | ((word ^ number.0) & 0x0fff)).to_be_bytes());
}

/// The header as a value; the default is what a sender writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// Hops that the packet has passed; the low four bits count.
    pub passed: u8,
    /// The exclusive or of their numbers.
    pub path: HopNumber,
    /// What the first of them said. Those that it has not passed are `None`.
    pub hops: [Option<Hop>; HOPS],
}

impl Header {
    /// Writes the header; returns [`LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<LEN>(out)?;
        put(out, 0, &(u16::from(self.passed & 0x0f) << 12 | self.path.0).to_be_bytes());
        for (index, hop) in self.hops.iter().enumerate() {
            let bits = hop.map_or(0, Hop::to_bits);
            put(out, 2 + index * HOP_LEN, &bits.to_be_bytes());
        }
        Ok(LEN)
    }
}

#[cfg(test)]
mod tests;
