//! The headers of nearly all RoCEv2 packets, read at fixed offsets.

use core::net::Ipv4Addr;

use super::{Opcode, Psn, UDP_PORT, bth};
use crate::bytes::{array, u16_at, u32_at};
use crate::ip::IpProtocol;
use crate::ipv4;
use crate::udp;

/// Bytes of IPv4 without options, UDP and BTH.
pub const LEN: usize = ipv4::MIN_HEADER_LEN + udp::HEADER_LEN + bth::HEADER_LEN;

const VERSION_AND_LENGTH: u8 = 0x45;
const FRAGMENT_AT: usize = 6;
/// The more-fragments flag and the fragment offset, in the word at [`FRAGMENT_AT`].
const FRAGMENT: u32 = 0x3fff << 16;
/// The protocol, in the same word.
const PROTOCOL: u32 = 0xff;
const SOURCE_AT: usize = 12;
const DESTINATION_AT: usize = 16;
const UDP_AT: usize = ipv4::MIN_HEADER_LEN;
const BTH_AT: usize = UDP_AT + udp::HEADER_LEN;

/// A checked view of the headers of an unfragmented packet over IPv4 without options. All other RoCEv2
/// packets are parsed layer by layer.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    raw: &'a [u8; LEN],
    packet: &'a [u8],
}

impl<'a> Head<'a> {
    /// Views `packet`, which starts with its IP header; `None` if it is of another kind or too short.
    #[inline(always)]
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        let raw: &[u8; LEN] = packet.first_chunk()?;
        let usual = raw[0] == VERSION_AND_LENGTH
            && u32_at(raw, FRAGMENT_AT) & (FRAGMENT | PROTOCOL) == IpProtocol::UDP.0.into()
            && u16_at(raw, UDP_AT + 2) == UDP_PORT
            && u16_at(raw, UDP_AT + 4) as usize >= udp::HEADER_LEN + bth::HEADER_LEN;
        usual.then_some(Self { raw, packet })
    }

    /// The sender.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<LEN, 4>(self.raw, SOURCE_AT))
    }

    /// The receiver.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<LEN, 4>(self.raw, DESTINATION_AT))
    }

    /// The bits in which the addresses of sender and receiver differ.
    #[inline(always)]
    pub fn address_difference(&self) -> u32 {
        u32_at(self.raw, SOURCE_AT) ^ u32_at(self.raw, DESTINATION_AT)
    }

    /// Operation code.
    #[inline(always)]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.raw[BTH_AT])
    }

    /// Packet sequence number.
    #[inline(always)]
    pub fn psn(&self) -> Psn {
        Psn::from_low_bits(u32_at(self.raw, LEN - 4))
    }

    /// UDP source port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16_at(self.raw, UDP_AT)
    }

    /// The BTH and everything after it.
    #[inline]
    pub fn into_bth(self) -> &'a [u8] {
        self.packet.get(BTH_AT..).unwrap_or_default()
    }
}
