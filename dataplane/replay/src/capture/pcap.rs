//! Classic pcap. The format itself is the business of the `pcap-file` crate; this adds the bounds
//! and the offsets.

use super::reader::Record;
use super::window::Window;
use super::{CaptureError, Corruption, LinkType, SNAP_LENGTH};
use pcap_file::pcap::PcapParser;
use pcap_file::{Endianness, PcapError, TsResolution};
use std::io::Read;
use units::Nanos;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Where in the record header the captured length is.
const CAPTURED_LENGTH: usize = 8;

/// What is known of a pcap file once its header was read.
pub(super) struct Pcap {
    parser: PcapParser,
    big_endian: bool,
    nanos_per_unit: u64,
    /// Bytes of frame check sequence at the end of each frame.
    fcs: u8,
}

impl Pcap {
    /// Whether a capture that starts so is pcap, of whichever byte order and resolution.
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
            // The length and the magic number were checked, and nothing else is.
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
        // draft-ietf-opsawg-pcap section 4: the link type has 16 bits; bit 26 says that the top
        // four hold the length of the FCS, in units of two bytes.
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
                // The raw form has no other error; a record that cannot be read is no frame.
                Err(_) => return Err(window.truncated()),
            }
        }
    }

    /// Refuses the record that is being waited for if it will never be a sane one.
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
