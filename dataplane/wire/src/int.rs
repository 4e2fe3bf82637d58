//! In-band telemetry of HPCC: the load and queues of the links of a path ("HPCC: High Precision Congestion
//! Control", SIGCOMM 2019, section 4.1 and figure 7). The paper fixes the fields and their widths. The
//! header's position in a RoCEv2 packet, its units and the format for eight hops are our own; `docs/int.md` shows
//! its bytes.
//!
//! | bits | field | |
//! |---|---|---|
//! | 4 | nHop | how many hops have stamped it; those beyond the last of the format found no room |
//! | 12 | pathID | the exclusive or of the numbers of the hops |
//! | 5 or 8 x 64 | hops | rate (4), timestamp (24), bytes sent (20), queue (16) |

use core::fmt;
use serde::{Deserialize, Serialize};

use units::{BitRate, Nanos};

use crate::bytes::{head, put, u16_at};
use crate::error::{invalid, truncated};
use crate::ethernet::MacAddress;
use crate::{BufferTooSmall, ParseError, Protocol};

/// The number of hops that a header has room for. The BTH says which it is ([`crate::roce::bth::Telemetry`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    /// Five, as in the paper.
    #[default]
    Five,
    /// Eight: a fat tree, a long link and another fat tree.
    Eight,
}

impl Format {
    /// The maximum number of recorded hops.
    #[inline]
    pub const fn hops(self) -> usize {
        match self {
            Self::Five => 5,
            Self::Eight => HOPS_MAX,
        }
    }

    /// Bytes of the header, for any number of recorded hops: 42 or 66.
    #[inline]
    pub const fn bytes(self) -> usize {
        FIXED_LEN + self.hops() * HOP_LEN
    }
}

/// The most hops that any format records.
pub const HOPS_MAX: usize = 8;
/// Bytes of the longest format.
pub const LEN_MAX: usize = Format::Eight.bytes();

const FIXED_LEN: usize = 2;
const HOP_LEN: usize = 8;
const MOST_COUNTED: u8 = 15;
const TIMESTAMP_BITS: u32 = 24;
const SENT_BITS: u32 = 20;

/// The rate of a link, as a code of four bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkRate(u8);

/// In units of 100 Mb/s, by code. Code 0 is invalid.
const RATES: [u64; 15] = [0, 10, 25, 50, 100, 200, 250, 400, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

impl LinkRate {
    /// All valid rates, for messages.
    pub const VALID: &str = "1G, 2.5G, 5G, 10G, 20G, 25G, 40G, 50G, 100G, 200G, 400G, 800G, 1.6T and 3.2T";

    /// The code of `rate`, or `None` if it has none.
    pub fn of(rate: BitRate) -> Option<Self> {
        let code = RATES.iter().position(|units| units * 100_000_000 == rate.bits_per_second())?;
        Some(Self(code as u8))
    }

    /// The rate.
    #[inline]
    pub fn rate(self) -> BitRate {
        let bits = RATES.get(usize::from(self.0)).copied().unwrap_or_default() * 100_000_000;
        // A `LinkRate` holds only codes of the table.
        BitRate::new(bits).unwrap_or(BitRate::gigabits(1))
    }

    /// Bytes per unit of [`Hop::sent`]: the smallest power of two that takes at least 16 ns at this rate, 256
    /// at 100G. So the 20 bits do not wrap before the timestamp's 24.
    #[inline]
    pub fn sent_unit(self) -> u64 {
        (self.rate().bits_per_second() * 2).div_ceil(1_000_000_000).next_power_of_two()
    }

    /// Bytes per unit of [`Hop::queue`]: four times [`LinkRate::sent_unit`], for up to 67 MB at 100G.
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

/// A hop's record of the link on which it sent the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hop {
    /// B: the rate of the link.
    pub rate: LinkRate,
    /// TS: the packet's transmission time, in nanoseconds of the hop's own clock, modulo 2^24.
    pub timestamp: u32,
    /// txBytes: the bytes that the link had carried until then, over all priorities and including preamble,
    /// FCS and gap, in units of [`LinkRate::sent_unit`], modulo 2^20.
    pub sent: u32,
    /// qLen: the queue that the packet left behind, in units of [`LinkRate::queue_unit`], rounded down;
    /// saturates.
    pub queue: u16,
}

impl Hop {
    /// A hop that sends at `start` over a link of `rate`, after `sent` bytes, and leaves a queue of `queue`
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

    /// Nanoseconds since `earlier`, an earlier record of the same hop. The result is correct below 16.7 ms.
    #[inline]
    pub fn nanos_since(&self, earlier: &Self) -> u64 {
        u64::from(self.timestamp.wrapping_sub(earlier.timestamp)) & low_bits(TIMESTAMP_BITS)
    }

    /// Bytes that the link carried since `earlier`.
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

/// The number of a hop, 12 bits. Senders use it to detect that their path changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HopNumber(u16);

impl HopNumber {
    /// The number in the low 12 bits.
    #[inline]
    pub const fn from_low_bits(bits: u16) -> Self {
        Self(bits & 0x0fff)
    }

    /// The number of a port: the exclusive or of the four 12-bit groups of its address.
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
pub struct View<T> {
    bytes: T,
    format: Format,
}

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which begin with a header of `format`.
    ///
    /// # Errors
    /// Truncated below [`Format::bytes`]; invalid, where a hop has a rate that has no meaning.
    #[inline]
    pub fn parse(bytes: T, format: Format) -> Result<Self, ParseError> {
        let length = bytes.as_ref().len();
        if length < format.bytes() {
            return Err(truncated(Protocol::Telemetry, format.bytes(), length));
        }
        let view = Self { bytes, format };
        for index in 0..view.recorded() {
            let code = (view.hop_bits(index) >> 60) as u8;
            if LinkRate::from_code(code).is_none() {
                return Err(invalid(Protocol::Telemetry, "rate of a hop", code.into()));
            }
        }
        Ok(view)
    }

    #[inline]
    fn fixed(&self) -> u16 {
        u16_at::<FIXED_LEN>(head(self.bytes.as_ref()), 0)
    }

    #[inline]
    fn hop_bits(&self, index: usize) -> u64 {
        // The header was long enough when it was parsed.
        let record = self.bytes.as_ref().get(FIXED_LEN + index * HOP_LEN..).unwrap_or_default();
        u64::from_be_bytes(*head(record))
    }

    /// Hops that the packet has passed, 15 for more. Only the first of them are recorded.
    #[inline]
    pub fn passed(&self) -> u8 {
        (self.fixed() >> 12) as u8
    }

    /// Recorded hops, at most [`Format::hops`].
    #[inline]
    pub fn recorded(&self) -> usize {
        usize::from(self.passed()).min(self.format.hops())
    }

    /// The exclusive or of the numbers of all passed hops.
    #[inline]
    pub fn path(&self) -> HopNumber {
        HopNumber::from_low_bits(self.fixed())
    }

    /// The hop at `index`, from 0, in path order.
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

/// Adds a hop to the header of `format` at the start of `bytes`, as a switch does for each packet, without checking
/// the records of earlier hops. Does nothing if the header is truncated.
#[inline]
pub fn stamp(bytes: &mut [u8], format: Format, number: HopNumber, hop: Hop) {
    match format {
        Format::Five => stamp_in::<{ Format::Five.bytes() }>(bytes, number, hop),
        Format::Eight => stamp_in::<{ Format::Eight.bytes() }>(bytes, number, hop),
    }
}

/// As [`stamp`], for a header of `LEN` bytes.
#[inline]
fn stamp_in<const LEN: usize>(bytes: &mut [u8], number: HopNumber, hop: Hop) {
    let Some(header) = bytes.first_chunk_mut::<LEN>() else { return };
    let word = u16_at(header, 0);
    let passed = (word >> 12) as u8;
    // Nothing is written beyond the last record.
    put(header, FIXED_LEN + usize::from(passed) * HOP_LEN, &hop.to_bits().to_be_bytes());
    let passed = (passed + 1).min(MOST_COUNTED);
    put(header, 0, &(u16::from(passed) << 12 | ((word ^ number.0) & 0x0fff)).to_be_bytes());
}

/// Empties the header of `format` at the start of `bytes`, as a sender writes it: no hop has stamped it. Does nothing if
/// the header is truncated.
#[inline]
pub fn clear(bytes: &mut [u8], format: Format) {
    if let Some(header) = bytes.get_mut(..format.bytes()) {
        header.fill(0);
    }
}

/// The header as a value. The default is the header that a sender writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// Hops that the packet has passed; the low four bits count.
    pub passed: u8,
    /// The exclusive or of their numbers.
    pub path: HopNumber,
    /// The records of the first hops; the rest is `None`.
    pub hops: [Option<Hop>; HOPS_MAX],
}

impl Header {
    /// Writes the header in `format`, without the hops that it has no room for; returns [`Format::bytes`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, format: Format, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let (needed, available) = (format.bytes(), out.len());
        let out = out.get_mut(..needed).ok_or(BufferTooSmall { needed, available })?;
        put(out, 0, &(u16::from(self.passed & 0x0f) << 12 | self.path.0).to_be_bytes());
        for (index, hop) in self.hops.iter().take(format.hops()).enumerate() {
            let bits = hop.map_or(0, Hop::to_bits);
            put(out, FIXED_LEN + index * HOP_LEN, &bits.to_be_bytes());
        }
        Ok(needed)
    }
}

#[cfg(test)]
mod tests;
