//! Peer delay messages of gPTP (IEEE 802.1AS-2020 clause 11, formats in clauses 10.6 and 11.4): a request, its response,
//! and the follow-up that says when the response left.
//!
//! They have the EtherType of PTP and an address that no bridge forwards, so they stay on their link. Of all other
//! PTP messages, only the type is read.

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::bytes::{array, checked_head, put, room, u16_at, u32_at, u64_at};
use crate::error::{invalid, truncated};
use crate::ethernet::{self, EtherType, MacAddress};
use crate::{BufferTooSmall, ParseError, Protocol};

/// The destination of each gPTP frame (clause 11.3.4).
pub const DESTINATION: MacAddress = MacAddress::NEAREST_BRIDGE;
/// Bytes of each peer delay message.
pub const MESSAGE_LEN: usize = 54;
/// Bytes of a frame.
pub const FRAME_LEN: usize = ethernet::HEADER_LEN + MESSAGE_LEN;

/// The `majorSdoId` of gPTP (clause 8.1), formerly `transportSpecific`.
const GPTP: u8 = 1;
/// The `versionPTP` of IEEE 1588-2008 and later ones.
const VERSION: u8 = 2;

const REQUEST: u8 = 0x2;
const RESPONSE: u8 = 0x3;
const FOLLOW_UP: u8 = 0xa;

const TWO_STEP: u8 = 0x02;
/// The `controlField` of every message but Sync, Delay_Req, Follow_Up and Delay_Resp (clause 10.6.2.2.13).
const CONTROL: u8 = 5;
/// The `logMessageInterval` of a response (clause 10.6.2.2.14).
const NO_INTERVAL: i8 = 0x7f;

const VERSION_AT: usize = 1;
const LENGTH_AT: usize = 2;
const DOMAIN_AT: usize = 4;
const MINOR_SDO_AT: usize = 5;
const FLAGS_AT: usize = 6;
const CORRECTION_AT: usize = 8;
const SOURCE_AT: usize = 20;
const SEQUENCE_AT: usize = 30;
const CONTROL_AT: usize = 32;
const INTERVAL_AT: usize = 33;
const TIMESTAMP_AT: usize = 34;
const REQUESTER_AT: usize = 44;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Whether `frame`, of which the Ethernet header is there, is a gPTP frame, valid or not.
#[inline]
pub fn is_frame(frame: &[u8]) -> bool {
    ethernet::View::parse(frame)
        .is_ok_and(|it| it.ether_type() == EtherType::PTP && it.destination() == DESTINATION)
}

/// A `portIdentity`: a clock and one of its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortIdentity {
    /// `clockIdentity`.
    pub clock: u64,
    /// `portNumber`, from 1.
    pub port: u16,
}

impl PortIdentity {
    /// Port `port` of the clock whose identity follows from `mac`: its halves with FF-FE between them (IEEE 1588
    /// clause 7.5.2.2.2).
    pub const fn of_mac(mac: MacAddress, port: u16) -> Self {
        let [a, b, c, d, e, f] = mac.0;
        Self { clock: u64::from_be_bytes([a, b, c, 0xff, 0xfe, d, e, f]), port }
    }

    fn read(bytes: &[u8; MESSAGE_LEN], at: usize) -> Self {
        Self { clock: u64_at(bytes, at), port: u16_at(bytes, at + 8) }
    }

    fn emit(self, out: &mut [u8], at: usize) {
        put(out, at, &self.clock.to_be_bytes());
        put(out, at + 8, &self.port.to_be_bytes());
    }
}

/// A `Timestamp`, of a clock whose epoch only its owner knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// `secondsField`, of which 48 bits are sent.
    pub seconds: u64,
    /// `nanosecondsField`, below 10^9.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// The nanoseconds since `earlier` of the same clock, negative if that is later; `None` beyond 292 years.
    pub fn since_ns(self, earlier: Self) -> Option<i64> {
        let nanos =
            |it: Self| i128::from(it.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(it.nanoseconds);
        i64::try_from(nanos(self) - nanos(earlier)).ok()
    }

    fn read(bytes: &[u8; MESSAGE_LEN]) -> Result<Self, ParseError> {
        let [a, b, c, d, e, f] = array(bytes, TIMESTAMP_AT);
        let nanoseconds = u32_at(bytes, TIMESTAMP_AT + 6);
        if u64::from(nanoseconds) >= NANOS_PER_SECOND {
            return Err(invalid(Protocol::Ptp, "nanosecondsField", nanoseconds));
        }
        Ok(Self { seconds: u64::from_be_bytes([0, 0, a, b, c, d, e, f]), nanoseconds })
    }

    fn emit(self, out: &mut [u8]) {
        let [_, _, seconds @ ..] = self.seconds.to_be_bytes();
        put(out, TIMESTAMP_AT, &seconds);
        put(out, TIMESTAMP_AT + 6, &self.nanoseconds.to_be_bytes());
    }
}

impl From<Nanos> for Timestamp {
    fn from(at: Nanos) -> Self {
        // A remainder of 10^9 fits 32 bits.
        Self { seconds: at.0 / NANOS_PER_SECOND, nanoseconds: (at.0 % NANOS_PER_SECOND) as u32 }
    }
}

/// A peer delay message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// `sourcePortIdentity`.
    pub source: PortIdentity,
    /// `sequenceId`: that of the request, in all three messages of an exchange.
    pub sequence: u16,
    /// `correctionField`, in units of 2^-16 ns.
    pub correction: i64,
    /// The content.
    pub body: Body,
}

/// The content of a peer delay message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Pdelay_Req.
    Request {
        /// `logMessageInterval`: the interval of requests is two to the power of this, in seconds.
        log_interval: i8,
    },
    /// Pdelay_Resp, in two steps.
    Response {
        /// `requestReceiptTimestamp`: t2.
        received: Timestamp,
        /// `requestingPortIdentity`: the source of the request.
        requester: PortIdentity,
    },
    /// Pdelay_Resp_Follow_Up.
    FollowUp {
        /// `responseOriginTimestamp`: t3.
        sent: Timestamp,
        /// `requestingPortIdentity`: the source of the request.
        requester: PortIdentity,
    },
}

/// A PTP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ptp {
    /// A peer delay message of gPTP.
    PeerDelay(Message),
    /// A message of this `messageType`, which is none of these.
    Other(u8),
}

impl Ptp {
    /// Reads `bytes`, the payload of EtherType 0x88F7. Padding may follow.
    ///
    /// # Errors
    /// Truncated, where a peer delay message is not all there. Invalid if its `majorSdoId`, `versionPTP`,
    /// `domainNumber` or `minorSdoId` is not that of gPTP, if it states a length that it does not have, if its
    /// nanoseconds make a second, or if a response has no follow-up.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let [first] = *checked_head::<1>(Protocol::Ptp, bytes)?;
        let message_type = first & 0xf;
        if !matches!(message_type, REQUEST | RESPONSE | FOLLOW_UP) {
            return Ok(Self::Other(message_type));
        }
        let message = checked_head::<MESSAGE_LEN>(Protocol::Ptp, bytes)?;
        check_header(message, bytes.len())?;
        let requester = PortIdentity::read(message, REQUESTER_AT);
        let body = match message_type {
            REQUEST => Body::Request { log_interval: message[INTERVAL_AT].cast_signed() },
            RESPONSE if message[FLAGS_AT] & TWO_STEP == 0 => {
                return Err(invalid(Protocol::Ptp, "twoStepFlag", 0));
            }
            RESPONSE => Body::Response { received: Timestamp::read(message)?, requester },
            _ => Body::FollowUp { sent: Timestamp::read(message)?, requester },
        };
        Ok(Self::PeerDelay(Message {
            source: PortIdentity::read(message, SOURCE_AT),
            sequence: u16_at(message, SEQUENCE_AT),
            correction: u64_at(message, CORRECTION_AT).cast_signed(),
            body,
        }))
    }
}

/// Checks what all peer delay messages of gPTP have in common. `available` bytes are there.
fn check_header(message: &[u8; MESSAGE_LEN], available: usize) -> Result<(), ParseError> {
    let length = u16_at(message, LENGTH_AT);
    let fixed = [
        ("majorSdoId", message[0] >> 4, GPTP),
        ("versionPTP", message[VERSION_AT] & 0xf, VERSION),
        ("domainNumber", message[DOMAIN_AT], 0),
        ("minorSdoId", message[MINOR_SDO_AT], 0),
    ];
    if let Some((field, value, _)) = fixed.into_iter().find(|(_, value, expected)| value != expected) {
        return Err(invalid(Protocol::Ptp, field, value.into()));
    }
    if usize::from(length) < MESSAGE_LEN {
        return Err(invalid(Protocol::Ptp, "messageLength", length.into()));
    }
    if usize::from(length) > available {
        return Err(truncated(Protocol::Ptp, length.into(), available));
    }
    Ok(())
}

impl Message {
    /// Writes the message as a frame from `source`; returns [`FRAME_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, source: MacAddress, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<FRAME_LEN>(out)?;
        *out = [0; FRAME_LEN];
        let header = ethernet::Header { destination: DESTINATION, source, ether_type: EtherType::PTP };
        let start = header.emit(out)?;
        let message = &mut out[start..];
        let (message_type, flags, interval) = match self.body {
            Body::Request { log_interval } => (REQUEST, 0, log_interval),
            Body::Response { .. } => (RESPONSE, TWO_STEP, NO_INTERVAL),
            Body::FollowUp { .. } => (FOLLOW_UP, 0, NO_INTERVAL),
        };
        put(message, 0, &[GPTP << 4 | message_type, VERSION]);
        put(message, LENGTH_AT, &(MESSAGE_LEN as u16).to_be_bytes());
        put(message, FLAGS_AT, &[flags]);
        put(message, CORRECTION_AT, &self.correction.to_be_bytes());
        self.source.emit(message, SOURCE_AT);
        put(message, SEQUENCE_AT, &self.sequence.to_be_bytes());
        put(message, CONTROL_AT, &[CONTROL, interval.cast_unsigned()]);
        if let Body::Response { received: at, requester } | Body::FollowUp { sent: at, requester } = self.body
        {
            at.emit(message);
            requester.emit(message, REQUESTER_AT);
        }
        Ok(FRAME_LEN)
    }
}

#[cfg(test)]
mod tests;
