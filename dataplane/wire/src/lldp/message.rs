//! The announcement of one end of a link.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

use super::dcbx::{Applications, Ets, Pfc};
use super::id::Id;
use super::octets::Octets;
use super::tlv::{self, Tlv, Tlvs, Writer};
use crate::error::{invalid, truncated};
use crate::ethernet::{self, EtherType, MacAddress};
use crate::{BufferTooSmall, ParseError, Protocol};

/// The destination of each frame: the nearest bridge, so that it stays on its link (clause 7.1).
pub const DESTINATION: MacAddress = MacAddress::NEAREST_BRIDGE;
/// Bytes of the longest frame that [`Message::emit`] writes.
pub const LONGEST_EMITTED: usize = 384;

/// IEEE 802.1: the organization of DCBX.
const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
/// IEEE 802.3.
const IEEE_802_3: [u8; 3] = [0x00, 0x12, 0x0f];

/// Intel: the organization of CEE, the form of DCBX before that of IEEE (DCB Capability Exchange Protocol 1.01, section 3).
const CEE: [u8; 3] = [0x00, 0x1b, 0x21];
const CEE_DCBX: u8 = 0x02;

const MAX_FRAME: u8 = 0x04;
const ETS_CONFIGURATION: u8 = 0x09;
const ETS_RECOMMENDATION: u8 = 0x0a;
const PFC: u8 = 0x0b;
const APPLICATIONS: u8 = 0x0c;

/// Address families of management addresses (`AddressFamilyNumbers` of IANA).
const FAMILY_IPV4: u8 = 1;
const FAMILY_IPV6: u8 = 2;
/// The interface number of a management address is unknown (clause 8.5.9.5), and it has no OID.
const NO_INTERFACE: [u8; 6] = [1, 0, 0, 0, 0, 0];
/// The most bytes of an identifier, with its subtype.
const LONGEST_ID: usize = 256;

/// The announcement of one end of a link: the TLVs of one LLDPDU that are read here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The chassis.
    pub chassis: Id,
    /// Its port on this link.
    pub port: Id,
    /// How long this holds, in seconds. Zero ends it at once: the agent shuts down.
    pub ttl_seconds: u16,
    /// The name of the system; empty without one.
    pub system_name: Octets,
    /// The first management address that is an IP address.
    pub management: Option<IpAddr>,
    /// The longest frame that the port takes, in bytes with FCS (IEEE 802.3 clause 79.3.4).
    pub max_frame: Option<u16>,
    /// The ETS configuration.
    pub ets: Option<Ets>,
    /// The ETS configuration that the other end is asked to have.
    pub ets_recommendation: Option<Ets>,
    /// The PFC configuration.
    pub pfc: Option<Pfc>,
    /// The priorities of applications; empty without them.
    pub applications: Applications,
    /// Whether it has the CEE form of DCBX, which is not read and never written.
    pub cee: bool,
}

/// An LLDPDU that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The announcement.
    pub message: Message,
    /// TLVs that are malformed or repeated and say nothing (`statsTLVsDiscardedTotal`).
    pub discarded: u16,
}

impl Message {
    /// Reads `bytes`, the payload of EtherType 0x88CC, as clause 9.2.8.7 asks. Padding may follow the End Of LLDPDU. A malformed
    /// TLV behind the first three is discarded alone, and of repeated ones the first counts.
    ///
    /// # Errors
    /// Truncated if a TLV is not all there. Invalid if the first three are not the chassis ID, the port ID and the time to live,
    /// of the lengths that they must have, if one of these comes again, or if there are more than
    /// [`LONGEST_LLDPDU`](super::LONGEST_LLDPDU) bytes.
    pub fn parse(bytes: &[u8]) -> Result<Received, ParseError> {
        let mut tlvs = Tlvs::new(bytes)?;
        let mut mandatory = |kind: u8, field: &'static str| match tlvs.next() {
            Some(Ok(tlv)) if tlv.kind == kind => Ok(tlv.value),
            Some(Ok(tlv)) => Err(invalid(Protocol::Lldp, field, tlv.kind.into())),
            Some(Err(error)) => Err(error),
            None => Err(truncated(Protocol::Lldp, bytes.len() + 2, bytes.len())),
        };
        let mut message = Self {
            chassis: id(mandatory(tlv::CHASSIS, "first TLV type")?, "chassis ID length")?,
            port: id(mandatory(tlv::PORT, "second TLV type")?, "port ID length")?,
            ttl_seconds: ttl(mandatory(tlv::TTL, "third TLV type")?)?,
            ..Self::default()
        };
        let (mut discarded, mut seen) = (0, Seen::default());
        for tlv in tlvs {
            let tlv = tlv?;
            if matches!(tlv.kind, tlv::CHASSIS | tlv::PORT | tlv::TTL) {
                return Err(invalid(Protocol::Lldp, "repeated TLV type", tlv.kind.into()));
            }
            discarded += u16::from(message.take(tlv, &mut seen).is_none());
        }
        Ok(Received { message, discarded })
    }

    /// Takes what `tlv` says; `None` if it is malformed or repeated. One that is not known says nothing.
    fn take(&mut self, tlv: Tlv<'_>, seen: &mut Seen) -> Option<()> {
        match (tlv.kind, tlv.value) {
            (tlv::SYSTEM_NAME, name) => {
                seen.first(Seen::NAME)?;
                self.system_name = Octets::new(name);
            }
            (tlv::MANAGEMENT, value) => self.management = self.management.or(management(value)?),
            (tlv::ORGANIZATION, [a, b, c, subtype, value @ ..]) => {
                return self.take_of([*a, *b, *c], *subtype, value, seen);
            }
            (tlv::ORGANIZATION, _) => return None,
            _ => {}
        }
        Some(())
    }

    fn take_of(&mut self, of: [u8; 3], subtype: u8, value: &[u8], seen: &mut Seen) -> Option<()> {
        match (of, subtype) {
            (IEEE_802_3, MAX_FRAME) => {
                seen.first(Seen::MAX_FRAME)?;
                self.max_frame = Some(u16::from_be_bytes(value.try_into().ok()?));
            }
            (IEEE_802_1, ETS_CONFIGURATION) => {
                seen.first(Seen::ETS)?;
                self.ets = Some(Ets::read(value.try_into().ok()?)?);
            }
            (IEEE_802_1, ETS_RECOMMENDATION) => {
                seen.first(Seen::ETS_RECOMMENDATION)?;
                // The flags of a configuration are reserved here.
                self.ets_recommendation = Some(Ets::read(value.try_into().ok()?)?.recommended());
            }
            (IEEE_802_1, PFC) => {
                seen.first(Seen::PFC)?;
                self.pfc = Some(Pfc::read(value.try_into().ok()?));
            }
            (IEEE_802_1, APPLICATIONS) => {
                seen.first(Seen::APPLICATIONS)?;
                let [_reserved, entries @ ..] = value else { return None };
                self.applications = Applications::read(entries)?;
            }
            (CEE, CEE_DCBX) => self.cee = true,
            _ => {}
        }
        Some(())
    }

    /// Writes the message as a frame from `source`, no shorter than the shortest frame and no longer than
    /// [`LONGEST_EMITTED`]. Returns its length.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below [`LONGEST_EMITTED`].
    pub fn emit(&self, source: MacAddress, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = crate::bytes::room::<LONGEST_EMITTED>(out)?;
        *out = [0; LONGEST_EMITTED];
        let header = ethernet::Header { destination: DESTINATION, source, ether_type: EtherType::LLDP };
        let start = header.emit(out)?;
        let mut writer = Writer::new(out, start);
        for (kind, Id { subtype, octets }) in [(tlv::CHASSIS, &self.chassis), (tlv::PORT, &self.port)] {
            writer.tlv(kind, &[&[*subtype], octets.as_bytes()]);
        }
        writer.tlv(tlv::TTL, &[&self.ttl_seconds.to_be_bytes()]);
        if !self.system_name.is_empty() {
            writer.tlv(tlv::SYSTEM_NAME, &[self.system_name.as_bytes()]);
        }
        match self.management {
            Some(IpAddr::V4(address)) => write_management(&mut writer, FAMILY_IPV4, &address.octets()),
            Some(IpAddr::V6(address)) => write_management(&mut writer, FAMILY_IPV6, &address.octets()),
            None => {}
        }
        self.write_of_organizations(&mut writer);
        Ok(writer.end().max(ethernet::MIN_FRAME_LEN))
    }

    fn write_of_organizations(&self, writer: &mut Writer<'_>) {
        let mut write =
            |of: [u8; 3], subtype, value: &[u8]| writer.tlv(tlv::ORGANIZATION, &[&of, &[subtype], value]);
        if let Some(max_frame) = self.max_frame {
            write(IEEE_802_3, MAX_FRAME, &max_frame.to_be_bytes());
        }
        if let Some(ets) = &self.ets {
            write(IEEE_802_1, ETS_CONFIGURATION, &ets.bytes());
        }
        if let Some(ets) = &self.ets_recommendation {
            write(IEEE_802_1, ETS_RECOMMENDATION, &ets.recommended().bytes());
        }
        if let Some(pfc) = &self.pfc {
            write(IEEE_802_1, PFC, &pfc.bytes());
        }
        let (entries, length) = self.applications.bytes();
        if length > 0 {
            writer.tlv(
                tlv::ORGANIZATION,
                &[&IEEE_802_1, &[APPLICATIONS, 0], entries.get(..length).unwrap_or_default()],
            );
        }
    }
}

/// The TLVs that came already, of those that may come once.
#[derive(Clone, Copy, Debug, Default)]
struct Seen(u8);

impl Seen {
    const NAME: u8 = 1;
    const MAX_FRAME: u8 = 1 << 1;
    const ETS: u8 = 1 << 2;
    const ETS_RECOMMENDATION: u8 = 1 << 3;
    const PFC: u8 = 1 << 4;
    const APPLICATIONS: u8 = 1 << 5;

    /// `None` if `bit` came already.
    fn first(&mut self, bit: u8) -> Option<()> {
        let is_first = self.0 & bit == 0;
        self.0 |= bit;
        is_first.then_some(())
    }
}

fn id(value: &[u8], field: &'static str) -> Result<Id, ParseError> {
    match value {
        [subtype, octets @ ..] if !octets.is_empty() && value.len() <= LONGEST_ID => {
            Ok(Id { subtype: *subtype, octets: Octets::new(octets) })
        }
        _ => Err(invalid(Protocol::Lldp, field, value.len() as u32)),
    }
}

/// Further bytes are ignored, as clause 8.5.4 asks.
fn ttl(value: &[u8]) -> Result<u16, ParseError> {
    match value.first_chunk() {
        Some(seconds) => Ok(u16::from_be_bytes(*seconds)),
        None => Err(invalid(Protocol::Lldp, "time to live length", value.len() as u32)),
    }
}

/// The address in a management address TLV (clause 8.5.9), and none of another family; `None` if it is malformed.
fn management(value: &[u8]) -> Option<Option<IpAddr>> {
    let (length, rest) = value.split_first()?;
    let (address, rest) = rest.split_at_checked(usize::from(*length))?;
    // The numbering, the number, and an OID with its length.
    let (_, [oid_length, oid @ ..]) = rest.split_at_checked(NO_INTERFACE.len() - 1)? else { return None };
    if address.is_empty() || oid.len() < usize::from(*oid_length) {
        return None;
    }
    Some(match *address {
        [FAMILY_IPV4, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).into()),
        [FAMILY_IPV6, ref octets @ ..] => {
            <[u8; 16]>::try_from(octets).ok().map(|octets| Ipv6Addr::from_octets(octets).into())
        }
        _ => None,
    })
}

fn write_management(writer: &mut Writer<'_>, family: u8, address: &[u8]) {
    writer.tlv(tlv::MANAGEMENT, &[&[address.len() as u8 + 1, family], address, &NO_INTERFACE]);
}
