//! The rate feedback message of LSCC: the rate at which the far end of a long link shall send ("LSCC:
//! Link-Segmented Congestion Control for RDMA in Cross-Datacenter Networks", section III-B, deployment). The
//! paper asks for an ICMP message and gives no format. Ours uses the experimental ICMP type (RFC 4727 section
//! 4); `docs/lscc.md` shows its bytes.
//!
//! A tag proves that a message is the peer's. By answering a challenge, the peer proves that the message is
//! new and not a recording from before either end restarted.

use core::fmt;
use core::net::Ipv4Addr;
use serde::{Deserialize, Serialize};

use siphasher::sip::SipHasher24;
use units::{BitRate, Nanos};

use crate::bytes::{checked_head, head, put, u16_at, u32_at, u64_at};
use crate::checksum::Sum;
use crate::error::invalid;
use crate::ethernet::{self, EtherType, MacAddress};
use crate::icmpv4::Type;
use crate::ip::{Dscp, Ecn, IpProtocol};
use crate::{BufferTooSmall, ParseError, Protocol, ipv4};

/// Bytes of a message.
pub const MESSAGE_LEN: usize = 36;
/// Bytes of a frame.
pub const FRAME_LEN: usize = ethernet::HEADER_LEN + ipv4::MIN_HEADER_LEN + MESSAGE_LEN;
/// The TTL of sent and received messages: only a neighbour can send such a packet (the generalized TTL
/// security mechanism, RFC 5082).
pub const TTL: u8 = 255;
/// Bits per second per unit of the rate: the paper's Delta F.
pub const RATE_UNIT: u64 = 1_000_000;

/// The supported version.
pub const VERSION: u8 = 2;
/// The name of the version field in [`ParseError::Invalid`], to tell a message of another version from a
/// malformed one.
pub const VERSION_FIELD: &str = "version";

const RATE: u8 = 0;
const CHALLENGE: u8 = 1;
const AUTHENTICATED: u8 = 0x01;
const ANSWER: u8 = 0x02;
const TAG_LEN: usize = 8;

const CODE_AT: usize = 1;
const CHECKSUM_AT: usize = 2;
const VERSION_AT: usize = 4;
const FLAGS_AT: usize = 5;
const PORT_AT: usize = 6;
const SEQUENCE_AT: usize = 8;
/// The session of a rate message, or the nonce of a challenge.
const SESSION_AT: usize = 16;
const RATE_AT: usize = 24;
const TAG_AT: usize = MESSAGE_LEN - TAG_LEN;

/// The shared key of both ends of a link, for the tag. Debug output hides it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// SipHash-2-4 over both addresses, the message with checksum and tag zeroed, and, in an answer, the
    /// nonce of the challenge.
    fn tag(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        message: &[u8; MESSAGE_LEN],
        answers: Option<u64>,
    ) -> u64 {
        const NONCE_AT: usize = 8 + MESSAGE_LEN;
        let mut hashed = [0; NONCE_AT + 8];
        put(&mut hashed, 0, &source.octets());
        put(&mut hashed, 4, &destination.octets());
        put(&mut hashed, 8, message);
        put(&mut hashed, 8 + CHECKSUM_AT, &[0, 0]);
        put(&mut hashed, 8 + TAG_AT, &[0; TAG_LEN]);
        put(&mut hashed, NONCE_AT, &answers.unwrap_or_default().to_be_bytes());
        let length = if answers.is_some() { hashed.len() } else { NONCE_AT };
        SipHasher24::new_with_key(&self.0).hash(&hashed[..length])
    }

    /// A number that cannot be predicted without the key: SipHash-2-4 over `purpose`, `seed` and `at`. This
    /// input is shorter than that of any tag, so no number is a tag.
    pub fn draw(&self, purpose: [u8; 8], seed: u64, at: Nanos) -> u64 {
        let mut hashed = [0; 24];
        put(&mut hashed, 0, &purpose);
        put(&mut hashed, 8, &seed.to_be_bytes());
        put(&mut hashed, 16, &at.0.to_be_bytes());
        SipHasher24::new_with_key(&self.0).hash(&hashed)
    }
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IPv4 packet that is not a fragment, without padding. The checksum and
    /// the tag are not verified.
    ///
    /// # Errors
    /// Truncated below the 36 bytes that it has; invalid, where it has more, and where type, code, version,
    /// flags, or what must be zero are not those of this message. The version is looked at before all that
    /// another version may have changed, the length included.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let raw = bytes.as_ref();
        let refused = |field, value| Err(invalid(Protocol::RateFeedback, field, value));
        if let Some(&kind) = raw.first().filter(|kind| **kind != Type::EXPERIMENT_1.0) {
            return refused("type", kind.into());
        }
        if let Some(&version) = raw.get(VERSION_AT).filter(|version| **version != VERSION) {
            return refused(VERSION_FIELD, version.into());
        }
        let available = raw.len();
        let raw = checked_head::<MESSAGE_LEN>(Protocol::RateFeedback, raw)?;
        if available > MESSAGE_LEN {
            return refused("length", u32::try_from(available).unwrap_or(u32::MAX));
        }
        let (code, flags, rate) = (raw[CODE_AT], raw[FLAGS_AT], u32_at(raw, RATE_AT));
        let tagged = flags & AUTHENTICATED != 0;
        match code {
            _ if !tagged && u64_at(raw, TAG_AT) != 0 => refused("tag", raw[TAG_AT].into()),
            RATE if !matches!(flags, 0 | AUTHENTICATED) && flags != AUTHENTICATED | ANSWER => {
                refused("flags", flags.into())
            }
            RATE if rate == 0 => refused("rate", 0),
            RATE => Ok(Self(bytes)),
            CHALLENGE if flags != AUTHENTICATED => refused("flags", flags.into()),
            CHALLENGE if rate != 0 => refused("rate", rate),
            CHALLENGE if u64_at(raw, SEQUENCE_AT) != 0 => refused("sequence", u32_at(raw, SEQUENCE_AT)),
            CHALLENGE => Ok(Self(bytes)),
            _ => refused("code", code.into()),
        }
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; MESSAGE_LEN] {
        head(self.0.as_ref())
    }

    /// The message as a value.
    #[inline]
    pub fn message(&self) -> Message {
        let raw = self.raw();
        let mark = u64_at(raw, SESSION_AT);
        let content = match raw[CODE_AT] {
            CHALLENGE => Content::Challenge { nonce: mark },
            _ => Content::Rate {
                rate: in_bits(u32_at(raw, RATE_AT)),
                sequence: u64_at(raw, SEQUENCE_AT),
                session: mark,
            },
        };
        Message { port: u16_at(raw, PORT_AT), content }
    }

    /// Whether it has a tag, valid or not.
    #[inline]
    pub fn is_authenticated(&self) -> bool {
        self.raw()[FLAGS_AT] & AUTHENTICATED != 0
    }

    /// Whether it answers a challenge, so that its tag covers a nonce.
    #[inline]
    pub fn is_answer(&self) -> bool {
        self.raw()[FLAGS_AT] & ANSWER != 0
    }

    /// Whether the checksum over the whole message is valid.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        Sum::ZERO.bytes(self.0.as_ref()).folded() == 0xffff
    }

    /// Whether it has a valid tag for `key` and these addresses and, if it is an answer, for `nonce`. Takes
    /// the same time whichever bits are wrong.
    #[inline]
    pub fn verify_tag(&self, source: Ipv4Addr, destination: Ipv4Addr, key: &Key, nonce: Option<u64>) -> bool {
        let answers = nonce.filter(|_| self.is_answer());
        if !self.is_authenticated() || self.is_answer() != answers.is_some() {
            return false;
        }
        u64_at(self.raw(), TAG_AT) ^ key.tag(source, destination, self.raw(), answers) == 0
    }
}

/// A received message with its addresses.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
    /// The message.
    pub message: View<&'a [u8]>,
}

impl<'a> Received<'a> {
    /// Parses `packet`, which starts with the IPv4 header and holds the whole packet. Padding may follow. The
    /// checksums and the tag are not verified.
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

    /// Like [`View::verify_tag`], with the addresses of the packet.
    #[inline]
    pub fn verify_tag(&self, key: &Key, nonce: Option<u64>) -> bool {
        self.message.verify_tag(self.source, self.destination, key, nonce)
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The sender's number of its port.
    pub port: u16,
    /// The message.
    pub content: Content,
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Gives the rate to send at.
    Rate {
        /// The rate; the wire carries [`Message::carried`] of it.
        rate: BitRate,
        /// The sender's clock in nanoseconds, or more if the clock stood still: it increases with each
        /// message.
        sequence: u64,
        /// Drawn by the sender when it starts, so that its messages differ from those before a restart; zero
        /// without a key.
        session: u64,
    },
    /// Asks for a message whose tag covers `nonce`. It needs a key.
    Challenge {
        /// Drawn by the challenger.
        nonce: u64,
    },
}

impl Message {
    /// The rate that a message carries for `rate`: whole Mb/s (the paper's Delta F), rounded down; at least
    /// one, because a rate is never zero, and at most 2^32 - 1.
    #[inline]
    pub const fn carried(rate: BitRate) -> BitRate {
        in_bits(in_units(rate))
    }

    fn emit(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        seal: Option<(&Key, Option<u64>)>,
        out: &mut [u8],
    ) {
        let (code, sequence, mark, rate) = match self.content {
            Content::Rate { rate, sequence, session } => (RATE, sequence, session, in_units(rate)),
            Content::Challenge { nonce } => (CHALLENGE, 0, nonce, 0),
        };
        let flags = match seal {
            None => 0,
            Some((_, None)) => AUTHENTICATED,
            Some((_, Some(_))) => AUTHENTICATED | ANSWER,
        };
        let mut message = [0; MESSAGE_LEN];
        put(&mut message, 0, &[Type::EXPERIMENT_1.0, code]);
        put(&mut message, VERSION_AT, &[VERSION, flags]);
        put(&mut message, PORT_AT, &self.port.to_be_bytes());
        put(&mut message, SEQUENCE_AT, &sequence.to_be_bytes());
        put(&mut message, SESSION_AT, &mark.to_be_bytes());
        put(&mut message, RATE_AT, &rate.to_be_bytes());
        if let Some((key, answers)) = seal {
            let tag = key.tag(source, destination, &message, answers);
            put(&mut message, TAG_AT, &tag.to_be_bytes());
        }
        let checksum = Sum::ZERO.bytes(&message).checksum();
        put(&mut message, CHECKSUM_AT, &checksum.to_be_bytes());
        put(out, 0, &message);
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
        // `View::parse` refuses zero.
        None => const { BitRate::new(RATE_UNIT).expect("one unit is not zero") },
    }
}

/// A whole frame as a value.
///
/// Its destination is 01-80-C2-00-00-03, the group address of the nearest bridge that is more than a two-port
/// relay. So it reaches the far end of the link without an ARP entry, and no bridge forwards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The port that sends it.
    pub source_mac: MacAddress,
    /// The sender.
    pub source: Ipv4Addr,
    /// The far end of the link.
    pub destination: Ipv4Addr,
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// IPv4 identification.
    pub identification: u16,
    /// The message.
    pub message: Message,
}

impl Frame {
    /// Writes the frame, with a tag if there is a `key`; returns [`FRAME_LEN`]. Fragmentation is forbidden
    /// and the TTL is [`TTL`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, key: Option<&Key>, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        self.emit_sealed(key.map(|key| (key, None)), out)
    }

    /// Writes the frame as an answer to the challenge with `nonce`, which its tag covers. The message must
    /// not itself be a challenge: [`View::parse`] refuses such an answer.
    ///
    /// # Errors
    /// As [`Frame::emit`].
    pub fn emit_answer(&self, key: &Key, nonce: u64, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        self.emit_sealed(Some((key, Some(nonce))), out)
    }

    fn emit_sealed(
        &self,
        seal: Option<(&Key, Option<u64>)>,
        out: &mut [u8],
    ) -> Result<usize, BufferTooSmall> {
        let (needed, available) = (FRAME_LEN, out.len());
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
        self.message.emit(self.source, self.destination, seal, message);
        Ok(needed)
    }
}

#[cfg(test)]
mod tests;
