//! Direct in-band telemetry (direct INT) of HPCC* ("LSCC: Link-Segmented Congestion Control for RDMA in
//! Cross-Datacenter Networks", section III-D): a gateway sends it to the sender of a flow, instead of a CNP.
//!
//! It holds the telemetry that a data packet has collected on its way to the gateway, and one hop more for the
//! long link: the pseudo-queue, which drains at the rate that the far end advertises. As in the paper, all of that
//! takes no more than five hops, and 24 bits for the rate. The opcode, the place of the fields and their units are our
//! own; `docs/int.md` shows the bytes.
//!
//! | offset behind the BTH | bytes | field |
//! |---|---|---|
//! | 0 | 42 | the header of the data packet, in the format for five hops ([`int`]); the last hop is the pseudo-queue, with the units of the rate of the long link |
//! | 42 | 3 | B: the advertised rate, in units of 1 Mb/s |
//! | 45 | 3 | padding |

use core::fmt;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::{Opcode, bth, cnp};
use crate::bytes::{put, u24_at};
use crate::error::{invalid, truncated};
use crate::int::{self, Hop, HopNumber};
use crate::{BufferTooSmall, ParseError, Protocol};
use units::BitRate;

/// Bytes of the content.
pub const LEN: usize = RATE_AT + 3;

/// Bytes of the header that it holds.
pub const HEADER_LEN: usize = int::Format::Five.bytes();

const FORMAT: int::Format = int::Format::Five;
const RATE_AT: usize = HEADER_LEN;
const PADDING: usize = LEN.wrapping_neg() & 3;
/// The unit of the advertised rate, in bits per second: Delta F of a feedback message.
const RATE_UNIT: u64 = 1_000_000;
const MOST_UNITS: u64 = (1 << 24) - 1;

/// The content of a direct INT, as its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content(#[serde(with = "BigArray")] [u8; LEN]);

impl Content {
    /// The header `collected` on the way to the gateway, in the format for five hops, the hop of the pseudo-queue, and the
    /// advertised rate, which is rounded down to whole Mb/s, and at least one. `None` if there is no room for that hop, or
    /// a hop has a rate that has no meaning.
    #[inline]
    pub fn new(collected: &[u8; HEADER_LEN], pseudo_queue: Hop, advertised: BitRate) -> Option<Self> {
        let view = int::View::parse(&collected[..], FORMAT).ok()?;
        if usize::from(view.passed()) >= FORMAT.hops() {
            return None;
        }
        let mut bytes = [0; LEN];
        put(&mut bytes, 0, collected);
        int::stamp(&mut bytes, FORMAT, HopNumber::default(), pseudo_queue);
        let [_, rate @ ..] = carried_units(advertised).to_be_bytes();
        put(&mut bytes, RATE_AT, &rate);
        Some(Self(bytes))
    }

    /// Reads the content at the start of `payload`, the bytes behind the BTH.
    ///
    /// # Errors
    /// Truncated below [`LEN`] bytes; invalid, where a hop has a rate that has no meaning, for no hop or more than five,
    /// and for an advertised rate of zero.
    pub fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let Some(bytes) = payload.first_chunk::<LEN>() else {
            return Err(truncated(Protocol::DirectInt, LEN, payload.len()));
        };
        let content = Self(*bytes);
        let passed = int::View::parse(&bytes[..], FORMAT)?.passed();
        if passed == 0 || usize::from(passed) > FORMAT.hops() {
            return Err(invalid(Protocol::DirectInt, "hops", passed.into()));
        }
        if content.units() == 0 {
            return Err(invalid(Protocol::DirectInt, "advertised rate", 0));
        }
        Ok(content)
    }

    /// The telemetry of the links before the gateway, and of the pseudo-queue as the last hop: when the packet joined
    /// it, the bytes that had left it by then, and the bytes in it.
    #[inline]
    pub fn header(&self) -> int::Header {
        // It was checked when it was made.
        int::View::parse(&self.0[..], FORMAT).map(|view| view.header()).unwrap_or_default()
    }

    /// B: the rate at which the pseudo-queue drains.
    #[inline]
    pub fn advertised(&self) -> BitRate {
        // It is not zero.
        BitRate::new(u64::from(self.units()) * RATE_UNIT).unwrap_or(const { BitRate::megabits(1) })
    }

    #[inline]
    fn units(&self) -> u32 {
        u24_at(&self.0, RATE_AT)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "direct INT of {:?} at {}", self.header(), self.advertised())
    }
}

#[inline]
fn carried_units(rate: BitRate) -> u32 {
    (rate.bits_per_second() / RATE_UNIT).clamp(1, MOST_UNITS) as u32
}

/// A direct INT, as a whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The addresses of the CNP that it replaces.
    pub way: cnp::Frame,
    /// The content.
    pub content: Content,
}

/// Bytes of the longest frame: tagged, over IPv6.
pub const MAX_FRAME_LEN: usize = cnp::MAX_FRAME_LEN - cnp::RESERVED_LEN + LEN + PADDING;

impl Frame {
    /// The length in bytes: 106 over IPv4, 126 over IPv6, and 4 more with a tag.
    #[inline]
    pub const fn length(&self) -> usize {
        self.way.length_with(cnp::datagram_len(LEN + PADDING))
    }

    /// Writes the frame with its ICRC, which covers the content; returns [`Frame::length`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let mut payload = [0; LEN + PADDING];
        put(&mut payload, 0, &self.content.0);
        let header = bth::Header {
            pad_count: PADDING as u8,
            ..bth::Header::new(Opcode::DIRECT_INT, self.way.destination_qp)
        };
        self.way.emit_with(&header, &payload, out)
    }
}

#[cfg(test)]
mod tests;
