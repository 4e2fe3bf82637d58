//! The rate feedback message of LSCC: at which rate the other end of a long link shall send ("LSCC:
//! Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III-B,
//! deployment). The paper asks for an ICMP message and gives no format. This one is our own, of the ICMP
//! type for experiments (RFC 4727 section 4); `docs/lscc.md` shows its bytes.

use core::fmt;
use core::net::Ipv4Addr;

use siphasher::sip::SipHasher24;
use units::{BitRate, Nanos};

use crate::bytes::{checked_head, head, put, u16_at, u32_at, u64_at};
use crate::checksum::Sum;
use crate::error::{invalid, truncated};
use crate::ethernet::{self, EtherType, MacAddress};
use crate::icmpv4::Type;
use crate::ip::{Dscp, Ecn, IpProtocol};
use crate::{BufferTooSmall, ParseError, Protocol, ipv4};

/// Bytes of a message without a tag.
pub const MESSAGE_LEN: usize = 28;
/// Bytes of a message with its tag.
pub const TAGGED_MESSAGE_LEN: usize = MESSAGE_LEN + TAG_LEN;
/// Bytes of the longest frame: with a tag.
pub const MAX_FRAME_LEN: usize = ethernet::HEADER_LEN + ipv4::MIN_HEADER_LEN + TAGGED_MESSAGE_LEN;
/// The TTL that it is sent with and must arrive with: nobody but a neighbour can send such a packet (the
/// generalized TTL security mechanism, RFC 5082).
pub const TTL: u8 = 255;
/// Bits per second in a unit of the rate: the paper's Delta F.
pub const RATE_UNIT: u64 = 1_000_000;

const VERSION: u8 = 1;
const AUTHENTICATED: u8 = 0x01;
const TAG_LEN: usize = 8;

const CODE_AT: usize = 1;
const CHECKSUM_AT: usize = 2;
const VERSION_AT: usize = 4;
const FLAGS_AT: usize = 5;
const PORT_AT: usize = 6;
const SEQUENCE_AT: usize = 8;
const TIMESTAMP_AT: usize = 16;
const RATE_AT: usize = 24;
const TAG_AT: usize = MESSAGE_LEN;

/// What both ends of a link share, for the tag. It is not shown in debug output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// SipHash-2-4 over both addresses and the message, with its checksum and its tag as zeroes.
    fn tag(&self, source: Ipv4Addr, destination: Ipv4Addr, message: &[u8; MESSAGE_LEN]) -> u64 {
        let mut hashed = [0; 8 + TAGGED_MESSAGE_LEN];
        put(&mut hashed, 0, &source.octets());
        put(&mut hashed, 4, &destination.octets());
        put(&mut hashed, 8, message);
        put(&mut hashed, 8 + CHECKSUM_AT, &[0, 0]);
        SipHasher24::new_with_key(&self.0).hash(&hashed)
    }
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IPv4 packet that is no fragment, without padding. Checksum and
    /// tag are not looked at.
    ///
    /// # Errors
    /// Truncated below the 28 or 36 bytes that it must have; invalid, where it has more, and where type,
    /// code, version, flags or rate are not those of this message: a rate is never zero.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let available = bytes.as_ref().len();
        let raw = checked_head::<MESSAGE_LEN>(Protocol::RateFeedback, bytes.as_ref())?;
        let refused = |field, value| Err(invalid(Protocol::RateFeedback, field, value));
        if raw[0] != Type::EXPERIMENT_1.0 {
            return refused("type", raw[0].into());
        }
        if raw[CODE_AT] != 0 {
            return refused("code", raw[CODE_AT].into());
        }
        if raw[VERSION_AT] != VERSION {
            return refused("version", raw[VERSION_AT].into());
        }
        if raw[FLAGS_AT] & !AUTHENTICATED != 0 {
            return refused("flags", raw[FLAGS_AT].into());
        }
        if u32_at(raw, RATE_AT) == 0 {
            return refused("rate", 0);
        }
        let needed = if raw[FLAGS_AT] == 0 { MESSAGE_LEN } else { TAGGED_MESSAGE_LEN };
        match available {
            _ if available < needed => Err(truncated(Protocol::RateFeedback, needed, available)),
            _ if available > needed => refused("length", u32::try_from(available).unwrap_or(u32::MAX)),
            _ => Ok(Self(bytes)),
        }
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; MESSAGE_LEN] {
        head(self.0.as_ref())
    }

    /// The sender's number of its port.
    #[inline]
    pub fn port(&self) -> u16 {
        u16_at(self.raw(), PORT_AT)
    }

    /// Grows from message to message.
    #[inline]
    pub fn sequence(&self) -> u64 {
        u64_at(self.raw(), SEQUENCE_AT)
    }

    /// When it was made, by the sender's clock.
    #[inline]
    pub fn timestamp(&self) -> Nanos {
        Nanos(u64_at(self.raw(), TIMESTAMP_AT))
    }

    /// At which rate to send.
    #[inline]
    pub fn rate(&self) -> BitRate {
        in_bits(u32_at(self.raw(), RATE_AT))
    }

    /// The message as a value.
    #[inline]
    pub fn message(&self) -> Message {
        Message {
            port: self.port(),
            sequence: self.sequence(),
            timestamp: self.timestamp(),
            rate: self.rate(),
        }
    }

    /// Whether it has a tag, right or wrong.
    #[inline]
    pub fn is_authenticated(&self) -> bool {
        self.raw()[FLAGS_AT] & AUTHENTICATED != 0
    }

    /// Whether the checksum over the whole message is right.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        Sum::ZERO.bytes(self.0.as_ref()).folded() == 0xffff
    }

    /// Whether it has a tag and that is the one of `key` for these addresses. It takes the same time
    /// whichever bits are wrong.
    #[inline]
    pub fn verify_tag(&self, source: Ipv4Addr, destination: Ipv4Addr, key: &Key) -> bool {
        let tag = self.0.as_ref().get(TAG_AT..).and_then(<[u8]>::first_chunk);
        tag.is_some_and(|tag| u64::from_be_bytes(*tag) ^ key.tag(source, destination, self.raw()) == 0)
    }
}

/// A message that arrived, with the addresses that it came with.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
    /// What it says.
    pub message: View<&'a [u8]>,
}

impl<'a> Received<'a> {
    /// Reads `packet`, which starts with the IPv4 header and holds the whole packet. Padding may follow.
    /// The checksums and the tag are not looked at.
    ///
    /// # Errors
    /// Those of [`ipv4::View::parse`] and of [`View::parse`]; and invalid, where the packet is a fragment,
    /// its protocol is not ICMP or its TTL is not [`TTL`].
    pub fn parse(packet: &'a [u8]) -> Result<Self, ParseError> {
        let ip = ipv4::View::parse(packet)?;
        if ip.is_fragment() {
            return Err(invalid(Protocol::RateFeedback, "fragment offset", ip.fragment_offset().into()));
        }
        if ip.protocol() != IpProtocol::ICMPV4 {
            return Err(invalid(Protocol::RateFeedback, "protocol", ip.protocol().0.into()));
        }
        if ip.ttl() != TTL {
            return Err(invalid(Protocol::RateFeedback, "TTL", ip.ttl().into()));
        }
        let (source, destination) = (ip.source(), ip.destination());
        Ok(Self { source, destination, message: View::parse(ip.into_payload())? })
    }

    /// Whether it has a tag and that is the one of `key`.
    #[inline]
    pub fn verify_tag(&self, key: &Key) -> bool {
        self.message.verify_tag(self.source, self.destination, key)
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The sender's number of its port.
    pub port: u16,
    /// Grows from message to message, also when the sender starts again.
    pub sequence: u64,
    /// When it was made, by the sender's clock.
    pub timestamp: Nanos,
    /// At which rate to send; the message holds what [`Message::carried`] makes of it.
    pub rate: BitRate,
}

impl Message {
    /// What a message can say of `rate`: whole Mb/s (the paper's Delta F), rounded down; at least one, since
    /// no rate is zero, and at most 2^32 - 1.
    #[inline]
    pub const fn carried(rate: BitRate) -> BitRate {
        in_bits(in_units(rate))
    }

    fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, key: Option<&Key>, out: &mut [u8]) {
        let mut message = [0; MESSAGE_LEN];
        put(&mut message, 0, &[Type::EXPERIMENT_1.0]);
        put(&mut message, VERSION_AT, &[VERSION, if key.is_some() { AUTHENTICATED } else { 0 }]);
        put(&mut message, PORT_AT, &self.port.to_be_bytes());
        put(&mut message, SEQUENCE_AT, &self.sequence.to_be_bytes());
        put(&mut message, TIMESTAMP_AT, &self.timestamp.0.to_be_bytes());
        put(&mut message, RATE_AT, &in_units(self.rate).to_be_bytes());
        put(out, 0, &message);
        if let Some(key) = key {
            put(out, TAG_AT, &key.tag(source, destination, &message).to_be_bytes());
        }
        let checksum = Sum::ZERO.bytes(out).checksum();
        put(out, CHECKSUM_AT, &checksum.to_be_bytes());
    }
}

const fn in_units(rate: BitRate) -> u32 {
    match rate.bits_per_second() / RATE_UNIT {
        0 => 1,
        units if units > u32::MAX as u64 => u32::MAX,
        units => units as u32,
    }
}

const fn in_bits(units: u32) -> BitRate {
    match BitRate::new(units as u64 * RATE_UNIT) {
        Some(rate) => rate,
        // A view has refused it when it was parsed.
        None => const { BitRate::new(RATE_UNIT).expect("one unit is not zero") },
    }
}

/// A whole frame as a value.
///
/// It goes to 01-80-C2-00-00-03, the group address of the nearest bridge that is more than a two-port
/// relay: it reaches the other end of the link without an ARP entry, and no bridge forwards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The port that sends it.
    pub source_mac: MacAddress,
    /// The sender.
    pub source: Ipv4Addr,
    /// The other end of the link.
    pub destination: Ipv4Addr,
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// IPv4 identification.
    pub identification: u16,
    /// What it says.
    pub message: Message,
}

impl Frame {
    /// Its length in bytes: 62, and 70 with a tag.
    #[inline]
    pub const fn length(tagged: bool) -> usize {
        if tagged { MAX_FRAME_LEN } else { MAX_FRAME_LEN - TAG_LEN }
    }

    /// Writes the frame, with a tag where there is a `key`; returns [`Frame::length`]. It must not be
    /// fragmented and its TTL is [`TTL`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, key: Option<&Key>, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let (needed, available) = (Self::length(key.is_some()), out.len());
        let out = out.get_mut(..needed).ok_or(BufferTooSmall { needed, available })?;
        let link = ethernet::Header {
            destination: MacAddress::NEAREST_NON_TPMR_BRIDGE,
            source: self.source_mac,
            ether_type: EtherType::IPV4,
        };
        let at = link.emit(out)?;
        let (_, packet) = out.split_at_mut(at);
        let ip = ipv4::Header {
            dscp: self.dscp,
            ecn: Ecn::NotEct,
            total_length: packet.len() as u16,
            identification: self.identification,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: TTL,
            protocol: IpProtocol::ICMPV4,
            source: self.source,
            destination: self.destination,
        };
        let at = ip.emit(packet)?;
        let (_, message) = packet.split_at_mut(at);
        self.message.emit(self.source, self.destination, key, message);
        Ok(needed)
    }
}

#[cfg(test)]
mod tests;
