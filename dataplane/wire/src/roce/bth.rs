//! Base transport header: InfiniBand specification volume 1, section 9.2.

use core::fmt;
use serde::{Deserialize, Serialize};

use super::opcode::Opcode;
use crate::bytes::{checked_head, head, put, room, u16_at, u24_at};
use crate::{BufferTooSmall, ParseError, Protocol, int};

/// Bytes of the header.
pub const HEADER_LEN: usize = 12;

/// The default partition, with full membership.
pub const DEFAULT_PARTITION_KEY: u16 = 0xffff;

const FLAGS: usize = 1;
const PARTITION_KEY: usize = 2;
const CONGESTION: usize = 4;
const DESTINATION_QP: usize = 5;
const ACK_REQUEST: usize = 8;
const PSN: usize = 9;

const SOLICITED_EVENT: u8 = 0x80;
const MIGRATED: u8 = 0x40;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const ACK_REQUESTED: u8 = 0x80;
// Reserved bits of the specification; see `Telemetry`.
const TELEMETRY_COLLECTED: u8 = 0x40;
const TELEMETRY_RETURNED: u8 = 0x20;
const TELEMETRY_EIGHT: u8 = 0x10;

const LOW_24_BITS: u32 = 0x00ff_ffff;

/// A queue pair number, 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueuePair(u32);

impl QueuePair {
    /// Queue pair 1, the destination of connection management.
    pub const GENERAL_SERVICES: Self = Self(1);

    /// The queue pair in the low 24 bits.
    #[inline]
    pub const fn from_low_bits(bits: u32) -> Self {
        Self(bits & LOW_24_BITS)
    }

    /// Its number, 0 to 0xffffff.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A packet sequence number, 24 bits, which wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Psn(u32);

impl Psn {
    /// The sequence number in the low 24 bits.
    #[inline]
    pub const fn from_low_bits(bits: u32) -> Self {
        Self(bits & LOW_24_BITS)
    }

    /// Its number, 0 to 0xffffff.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The distance ahead of `other`, modulo 2^24 (InfiniBand section 9.7.1): -2^23 to 2^23 - 1.
    #[inline]
    pub const fn distance_from(self, other: Self) -> i32 {
        // The shift makes bit 23 the sign bit.
        ((self.0.wrapping_sub(other.0) << 8) as i32) >> 8
    }

    /// The sequence number `packets` later.
    #[inline]
    #[must_use]
    pub const fn advanced_by(self, packets: u32) -> Self {
        Self::from_low_bits(self.0.wrapping_add(packets))
    }
}

/// Whether the packet carries a header of in-band telemetry ([`crate::int`]). The bits for this are reserved
/// in the specification, beside the acknowledge request. Only hosts that run HPCC set them. The ICRC covers
/// them. `docs/int.md` shows their position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Telemetry {
    /// No header.
    #[default]
    None,
    /// The header is directly after the BTH, and switches add to it.
    Collected(int::Format),
    /// The header is after the AETH of an acknowledgement, as it arrived at the receiver of the data.
    Returned(int::Format),
}

impl Telemetry {
    #[inline]
    const fn from_bits(bits: u8) -> Self {
        let format = if bits & TELEMETRY_EIGHT == 0 { int::Format::Five } else { int::Format::Eight };
        match bits & (TELEMETRY_COLLECTED | TELEMETRY_RETURNED) {
            TELEMETRY_COLLECTED => Self::Collected(format),
            TELEMETRY_RETURNED => Self::Returned(format),
            // Both bits together are undefined.
            _ => Self::None,
        }
    }

    #[inline]
    const fn bits(self) -> u8 {
        let (bits, format) = match self {
            Self::None => return 0,
            Self::Collected(format) => (TELEMETRY_COLLECTED, format),
            Self::Returned(format) => (TELEMETRY_RETURNED, format),
        };
        match format {
            int::Format::Five => bits,
            int::Format::Eight => bits | TELEMETRY_EIGHT,
        }
    }
}

/// A checked view of the header and what follows.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of a UDP datagram to port 4791.
    ///
    /// # Errors
    /// Truncated below [`HEADER_LEN`] bytes. The transport version is not checked: see
    /// [`View::transport_version`].
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        checked_head::<HEADER_LEN>(Protocol::Bth, bytes.as_ref())?;
        Ok(Self(bytes))
    }

    /// Views bytes that were parsed before and whose lengths have not changed since. On any other bytes,
    /// fields are zero or arbitrary.
    #[inline(always)]
    pub const fn known(bytes: T) -> Self {
        Self(bytes)
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// Operation code.
    #[inline]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.raw()[0])
    }

    /// Solicited event: asks the responder to raise an event.
    #[inline]
    pub fn solicited_event(&self) -> bool {
        self.raw()[FLAGS] & SOLICITED_EVENT != 0
    }

    /// Migration request: whether the connection has migrated.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.raw()[FLAGS] & MIGRATED != 0
    }

    /// Pad count: 0 to 3 bytes that pad the payload to a multiple of 4.
    #[inline]
    pub fn pad_count(&self) -> u8 {
        self.raw()[FLAGS] >> 4 & 3
    }

    /// Transport header version, 0 to 15; the only defined version is 0.
    #[inline]
    pub fn transport_version(&self) -> u8 {
        self.raw()[FLAGS] & 0x0f
    }

    /// Partition key.
    #[inline]
    pub fn partition_key(&self) -> u16 {
        u16_at(self.raw(), PARTITION_KEY)
    }

    /// Forward explicit congestion notification.
    #[inline]
    pub fn fecn(&self) -> bool {
        self.raw()[CONGESTION] & FECN != 0
    }

    /// Backward explicit congestion notification.
    #[inline]
    pub fn becn(&self) -> bool {
        self.raw()[CONGESTION] & BECN != 0
    }

    /// The receiver's queue pair.
    #[inline]
    pub fn destination_qp(&self) -> QueuePair {
        QueuePair(u24_at(self.raw(), DESTINATION_QP))
    }

    /// Acknowledge request: whether the sender wants an acknowledgement.
    #[inline]
    pub fn ack_requested(&self) -> bool {
        self.raw()[ACK_REQUEST] & ACK_REQUESTED != 0
    }

    /// Whether it carries in-band telemetry.
    #[inline]
    pub fn telemetry(&self) -> Telemetry {
        Telemetry::from_bits(self.raw()[ACK_REQUEST])
    }

    /// Packet sequence number.
    #[inline]
    pub fn psn(&self) -> Psn {
        Psn(u24_at(self.raw(), PSN))
    }

    /// Everything after the header: extended headers, payload, padding, and the ICRC if the given bytes
    /// include it.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(HEADER_LEN..).unwrap_or_default()
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            opcode: self.opcode(),
            solicited_event: self.solicited_event(),
            migrated: self.migrated(),
            pad_count: self.pad_count(),
            transport_version: self.transport_version(),
            partition_key: self.partition_key(),
            fecn: self.fecn(),
            becn: self.becn(),
            destination_qp: self.destination_qp(),
            ack_requested: self.ack_requested(),
            telemetry: self.telemetry(),
            psn: self.psn(),
        }
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the bytes.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(HEADER_LEN..).unwrap_or_default()
    }
}

/// The header as a value. Reserved bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Operation code.
    pub opcode: Opcode,
    /// Solicited event.
    pub solicited_event: bool,
    /// Migration request.
    pub migrated: bool,
    /// Pad count, in bytes; the low two bits count.
    pub pad_count: u8,
    /// Transport header version; the low four bits count.
    pub transport_version: u8,
    /// Partition key.
    pub partition_key: u16,
    /// Forward explicit congestion notification.
    pub fecn: bool,
    /// Backward explicit congestion notification.
    pub becn: bool,
    /// The receiver's queue pair.
    pub destination_qp: QueuePair,
    /// Acknowledge request.
    pub ack_requested: bool,
    /// Whether it carries in-band telemetry.
    pub telemetry: Telemetry,
    /// Packet sequence number.
    pub psn: Psn,
}

impl Header {
    /// A header of `opcode` to `destination_qp` with the usual defaults: no flags, default partition, PSN 0.
    pub const fn new(opcode: Opcode, destination_qp: QueuePair) -> Self {
        Self {
            opcode,
            solicited_event: false,
            migrated: false,
            pad_count: 0,
            transport_version: 0,
            partition_key: DEFAULT_PARTITION_KEY,
            fecn: false,
            becn: false,
            destination_qp,
            ack_requested: false,
            telemetry: Telemetry::None,
            psn: Psn(0),
        }
    }

    /// Writes the header; returns [`HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<HEADER_LEN>(out)?;
        let flags = (u8::from(self.solicited_event) * SOLICITED_EVENT)
            | (u8::from(self.migrated) * MIGRATED)
            | (self.pad_count & 3) << 4
            | (self.transport_version & 0x0f);
        let congestion = (u8::from(self.fecn) * FECN) | (u8::from(self.becn) * BECN);
        let [_, qp @ ..] = self.destination_qp.0.to_be_bytes();
        let [_, psn @ ..] = self.psn.0.to_be_bytes();
        put(out, 0, &[self.opcode.0, flags]);
        put(out, PARTITION_KEY, &self.partition_key.to_be_bytes());
        put(out, CONGESTION, &[congestion]);
        put(out, DESTINATION_QP, &qp);
        let request = u8::from(self.ack_requested) * ACK_REQUESTED;
        put(out, ACK_REQUEST, &[request | self.telemetry.bits()]);
        put(out, PSN, &psn);
        Ok(HEADER_LEN)
    }
}
