//! Test frames: UDP between addresses that no one has (RFC 2544 section C.2.2), and frames of other EtherTypes.
//!
//! Of the payload, eight bytes are the session number of the sender, so that a frame of another run counts for
//! nothing; six are the number of the frame, one its step, and one says what the step tries with it.

use switch::Frame;
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::{ipv4, udp};

/// Shortest frame, without FCS.
pub const SHORTEST: usize = 60;
const IP_AT: usize = ethernet::HEADER_LEN;
const UDP_AT: usize = IP_AT + ipv4::MIN_HEADER_LEN;
const PAYLOAD_AT: usize = UDP_AT + udp::HEADER_LEN;
const PAYLOAD_LEN: usize = 16;
/// Frames take turns with so many ports, so that whatever spreads flows spreads them.
const SOURCE_PORTS: u64 = 1_024;
const FIRST_SOURCE_PORT: u16 = 49_152;
/// The discard protocol (RFC 863).
const DISCARD: u16 = 9;
/// Other EtherTypes that a link may keep to itself: LLDP and gPTP.
pub const KINDS: [EtherType; 2] = [EtherType::LLDP, EtherType::PTP];

/// The contents of a test frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The session of the sender.
    pub session: u64,
    /// Its number, below 2^48.
    pub number: u64,
    /// The step that it belongs to.
    pub step: u8,
    /// The subject that the step tries with it.
    pub value: u8,
}

impl Stamp {
    fn write(&self, payload: &mut [u8]) {
        let number = (self.number & 0xffff_ffff_ffff) << 16;
        let last = number | u64::from(self.step) << 8 | u64::from(self.value);
        for (into, from) in payload.chunks_mut(8).zip([self.session, last]) {
            into.copy_from_slice(&from.to_be_bytes());
        }
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let (words, _) = payload.as_chunks::<8>();
        let [session, last] = words.get(..2)? else { return None };
        let [session, last] = [session, last].map(|it| u64::from_be_bytes(*it));
        Some(Self { session, number: last >> 16, step: (last >> 8) as u8, value: last as u8 })
    }
}

/// The addresses of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub source: MacAddress,
    pub destination: MacAddress,
}

/// Writes a test frame of `length` bytes with these marks, at least [`SHORTEST`], to `out`.
pub fn write(out: &mut Vec<u8>, way: Way, length: usize, (dscp, ecn): (u8, u8), stamp: &Stamp) {
    out.resize(length.max(SHORTEST), 0);
    let ethernet =
        ethernet::Header { destination: way.destination, source: way.source, ether_type: EtherType::IPV4 };
    let packet = (out.len() - IP_AT) as u16;
    let ip = ipv4::Header {
        dscp: Dscp::from_low_bits(dscp),
        ecn: Ecn::from_low_bits(ecn),
        total_length: packet,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: IpProtocol::UDP,
        source: [198, 18, 0, 1].into(),
        destination: [198, 19, 0, 1].into(),
    };
    let udp = udp::Header {
        source_port: FIRST_SOURCE_PORT + (stamp.number % SOURCE_PORTS) as u16,
        destination_port: DISCARD,
        length: packet - ipv4::MIN_HEADER_LEN as u16,
        checksum: 0,
    };
    let written = [ethernet.emit(out), ip.emit(&mut out[IP_AT..]), udp.emit(&mut out[UDP_AT..])];
    debug_assert!(written.iter().all(Result::is_ok), "the shortest frame has room for all headers");
    stamp.write(&mut out[PAYLOAD_AT..PAYLOAD_AT + PAYLOAD_LEN]);
}

/// A frame of another EtherType.
pub fn of_kind(way: Way, ether_type: EtherType, stamp: &Stamp) -> [u8; SHORTEST] {
    let mut out = [0; SHORTEST];
    let header = ethernet::Header { destination: MacAddress::NEAREST_BRIDGE, source: way.source, ether_type };
    if let Ok(start) = header.emit(&mut out) {
        stamp.write(&mut out[start..start + PAYLOAD_LEN]);
    }
    out
}

/// A frame that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub stamp: Stamp,
    /// DSCP and ECN, or the place among [`KINDS`].
    pub marks: Result<(u8, u8), usize>,
}

/// Reads a test frame; `None` for any other.
pub fn read(frame: &impl Frame) -> Option<Arrived> {
    let (frame, length) = (frame.headers(), frame.length().0 as usize);
    let ethernet = ethernet::View::parse(frame).ok()?;
    if let Some(kind) = KINDS.iter().position(|it| *it == ethernet.ether_type()) {
        return Some(Arrived { stamp: Stamp::read(&frame[IP_AT..])?, marks: Err(kind) });
    }
    if ethernet.ether_type() != EtherType::IPV4 {
        return None;
    }
    let ip = ipv4::View::parse_head(&frame[IP_AT..], length - IP_AT).ok()?;
    let is_test = ip.source().octets()[..2] == [198, 18] && ip.destination().octets()[..2] == [198, 19];
    if ip.protocol() != IpProtocol::UDP || !is_test {
        return None;
    }
    let (dscp, ecn) = (ip.dscp().number(), ip.ecn() as u8);
    Some(Arrived { stamp: Stamp::read(frame.get(PAYLOAD_AT..)?)?, marks: Ok((dscp, ecn)) })
}
