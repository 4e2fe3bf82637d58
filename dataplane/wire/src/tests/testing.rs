//! Helpers for the tests of several protocols: captured frames and arbitrary fields.

use core::net::{Ipv4Addr, Ipv6Addr};

use pcap_file::pcap::PcapReader;
use proptest::prelude::*;

use crate::ethernet::MacAddress;
use crate::ip::{Dscp, Ecn};
use crate::{ParseError, ethernet::EtherType, ipv4, udp, vlan};

/// Frames built one by one: see [`VECTOR_CNP`] and its neighbours.
pub static VECTORS: &[u8] = include_bytes!("../../../../tests/data/captures/wire-vectors.pcap");
/// Two soft-RoCE hosts.
pub static SOFT_ROCE: &[u8] = include_bytes!("../../../../tests/data/captures/rxe-cm-multiqp.pcap");

/// A request, its response and the follow-up between two `ptp4l`.
pub static PDELAY: &[u8] = include_bytes!("../../../../tests/data/captures/pdelay-ptp4l.pcap");

/// Two frames of `lldpd` with TLVs of DCBX, the second one as it shuts down, and two of `lldpad`: willing, and not.
pub static LLDP: &[u8] = include_bytes!("../../../../tests/data/captures/lldp.pcap");

/// The indices of the frames in [`VECTORS`].
pub const VECTOR_CNP: usize = 0;
pub const VECTOR_WRITE: usize = 1;
pub const VECTOR_TAGGED_WRITE: usize = 3;
pub const VECTOR_XOFF: usize = 4;
pub const VECTOR_XON: usize = 5;
pub const VECTOR_TWO_PRIORITIES: usize = 6;
pub const VECTOR_PAUSE: usize = 7;
pub const VECTOR_CONNECTX_CNP: usize = 8;

/// The frames of a capture.
pub fn frames(capture: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(capture).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(packet.unwrap().data.into_owned());
    }
    frames
}

/// The frame at `index` of [`VECTORS`].
pub fn vector(index: usize) -> Vec<u8> {
    frames(VECTORS).swap_remove(index)
}

/// The IPv4 packets over UDP port 4791 in a capture, padding removed.
pub fn roce_packets(capture: &[u8]) -> Vec<Vec<u8>> {
    let roce_packet = |frame: &Vec<u8>| {
        let stack = vlan::Stack::parse(frame).unwrap();
        let packet = &frame[stack.payload_offset..];
        let ip = ipv4::View::parse(packet).ok()?;
        let is_roce = stack.ether_type == EtherType::IPV4
            && ip.protocol() == crate::ip::IpProtocol::UDP
            && udp::View::parse(ip.payload()).unwrap().destination_port() == crate::roce::UDP_PORT;
        is_roce.then(|| packet[..ip.total_len()].to_vec())
    };
    frames(capture).iter().filter_map(roce_packet).collect()
}

/// Parses hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Asserts that every shorter prefix of `bytes` is refused as truncated.
pub fn assert_truncated_below<T>(
    length: usize,
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, ParseError>,
) {
    for available in 0..length {
        assert!(matches!(parse(&bytes[..available]), Err(ParseError::Truncated { .. })), "{available}");
    }
    assert!(parse(&bytes[..length]).is_ok());
}

pub fn any_mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

pub fn any_ecn() -> impl Strategy<Value = Ecn> {
    any::<u8>().prop_map(Ecn::from_low_bits)
}

pub fn any_dscp() -> impl Strategy<Value = Dscp> {
    any::<u8>().prop_map(Dscp::from_low_bits)
}

pub fn any_ipv4() -> impl Strategy<Value = Ipv4Addr> {
    any::<[u8; 4]>().prop_map(Ipv4Addr::from_octets)
}

pub fn any_ipv6() -> impl Strategy<Value = Ipv6Addr> {
    any::<[u8; 16]>().prop_map(Ipv6Addr::from_octets)
}

/// Up to `longest` bytes.
pub fn any_bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..=longest)
}
