//! Classic pcap. The `pcap-file` crate parses the format; this module adds limits and offsets.

use super::record::Record;
use super::window::Window;
use super::{CaptureError, Corruption, LinkType, SNAP_LENGTH};
use pcap_file::pcap::PcapParser;
use pcap_file::{Endianness, PcapError, TsResolution};
use std::io::Read;
use units::Nanos;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// The offset of the captured length in the record header.
const CAPTURED_LENGTH: usize = 8;

/// The properties of a pcap file from its header.
pub(super) struct Pcap {
    parser: PcapParser,
    big_endian: bool,
    nanos_per_unit: u64,
    /// Bytes of FCS at the end of each frame.
    fcs: u8,
}

impl Pcap {
    /// Whether a capture that starts with `magic` is pcap, of any byte order and resolution.
    pub(super) fn recognizes(magic: [u8; 4]) -> bool {
        const MICROSECONDS: u32 = 0xa1b2_c3d4;
        const NANOSECONDS: u32 = 0xa1b2_3c4d;
        [u32::from_le_bytes(magic), u32::from_be_bytes(magic)]
            .iter()
            .any(|number| [MICROSECONDS, NANOSECONDS].contains(number))
    }

    /// Reads the header of the file.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Self, CaptureError> {
        window.need(FILE_HEADER)?;
        let Ok((_, parser)) = PcapParser::new(window.available()) else {
            // Length and magic number were already checked, and the parser checks nothing else.
            return Err(window.truncated());
        };
        let header = parser.header();
        let offset = window.offset();
        if header.version_major != 2 {
            return Err(CaptureError::UnknownVersion {
                path: window.path().into(),
                offset,
                format: "pcap",
                major: header.version_major,
                minor: header.version_minor,
            });
        }
        // draft-ietf-opsawg-pcap section 4: the link type has 16 bits. If bit 26 is set, the top four bits
        // hold the length of the FCS, in units of two bytes.
        let network = u32::from(header.datalink);
        let found = LinkType(network as u16);
        if found != LinkType::ETHERNET {
            let path = window.path().into();
            return Err(CaptureError::NotEthernet { path, offset, interface: None, found });
        }
        let fcs = if network & (1 << 26) != 0 { (network >> 28) as u8 * 2 } else { 0 };
        window.consume(FILE_HEADER);
        Ok(Self {
            parser,
            big_endian: header.endianness == Endianness::Big,
            nanos_per_unit: if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1_000 },
            fcs,
        })
    }

    /// Moves to the next frame; `None` at the end.
    #[inline]
    pub(super) fn advance<R: Read>(&self, window: &mut Window<R>) -> Result<Option<Record>, CaptureError> {
        loop {
            let available = window.available();
            match self.parser.next_raw_packet(available) {
                Ok((rest, packet)) => {
                    if packet.incl_len > SNAP_LENGTH {
                        return Err(window.corrupt(Corruption::FrameTooLong { length: packet.incl_len }));
                    }
                    let nanos = u64::from(packet.ts_frac) * self.nanos_per_unit;
                    let at = Nanos(u64::from(packet.ts_sec) * 1_000_000_000 + nanos);
                    let length = available.len() - rest.len();
                    let start = window.position() + RECORD_HEADER;
                    let record = Record::new(at, start, packet.incl_len, packet.orig_len, self.fcs);
                    window.consume(length);
                    return Ok(Some(record));
                }
                Err(PcapError::IncompleteBuffer) => {
                    self.check_length(window)?;
                    if !window.fill()? {
                        let clean = window.available().is_empty();
                        return if clean { Ok(None) } else { Err(window.truncated()) };
                    }
                }
                // The raw parser has no other errors.
                Err(_) => return Err(window.truncated()),
            }
        }
    }

    /// Refuses an incomplete record early if its length is invalid.
    #[cold]
    fn check_length<R: Read>(&self, window: &Window<R>) -> Result<(), CaptureError> {
        let Some(field) = window.available()[..].get(CAPTURED_LENGTH..).and_then(<[u8]>::first_chunk) else {
            return Ok(());
        };
        let length = if self.big_endian { u32::from_be_bytes(*field) } else { u32::from_le_bytes(*field) };
        if length > SNAP_LENGTH {
            return Err(window.corrupt(Corruption::FrameTooLong { length }));
        }
        Ok(())
    }
}
