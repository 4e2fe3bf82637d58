//! Errors of captures, each with a one-line message.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use units::Nanos;

/// Why a capture cannot be read or written. Offsets are in bytes from the start of the capture to the faulty
/// record or block.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened for reading.
    #[error("{}: cannot be opened: {source}", path.display())]
    Open {
        /// The capture.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be created.
    #[error("{}: cannot be created: {source}", path.display())]
    Create {
        /// The capture.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading failed.
    #[error("{}: cannot be read past byte {offset}: {source}", path.display())]
    Read {
        /// The capture.
        path: PathBuf,
        /// Bytes read before the error.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The file is empty.
    #[error("{}: empty file; a capture has at least a header", path.display())]
    Empty {
        /// The capture.
        path: PathBuf,
    },
    /// The file is neither pcap nor pcapng.
    #[error("{}: neither pcap nor pcapng: it starts with {magic:02x?}{}", path.display(), hint(*magic))]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// Its first four bytes.
        magic: [u8; 4],
    },
    /// The version of the format is unknown.
    #[error("{}: byte {offset}: unsupported {format} version {major}.{minor}", path.display())]
    UnknownVersion {
        /// The capture.
        path: PathBuf,
        /// The offset of the header.
        offset: u64,
        /// pcap or pcapng.
        format: &'static str,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// The frames are not Ethernet.
    #[error(
        "{}: byte {offset}: {}link type is {found}, but only Ethernet (1) is supported{}",
        path.display(), of_interface(*interface), without_interface(path, *interface)
    )]
    NotEthernet {
        /// The capture.
        path: PathBuf,
        /// The offset of the header of a pcap file, or of the first frame of the interface in pcapng.
        offset: u64,
        /// The interface within its section; `None` for pcap.
        interface: Option<u32>,
        /// The link type found.
        found: LinkType,
    },
    /// The capture ends within a record or block. All earlier frames were delivered.
    #[error("{}: truncated in the record at byte {offset}", path.display())]
    Truncated {
        /// The capture.
        path: PathBuf,
        /// The offset of the record.
        offset: u64,
    },
    /// A record or block is inconsistent. All earlier frames were delivered.
    #[error("{}: byte {offset}: {cause}", path.display())]
    Corrupt {
        /// The capture.
        path: PathBuf,
        /// The offset of the record or block.
        offset: u64,
        /// The inconsistency.
        cause: Corruption,
    },
    /// Standard input cannot be played more than once.
    #[error("standard input cannot be replayed {loops} times: it can be read only once; name a file")]
    StdinCannotLoop {
        /// The requested number of loops.
        loops: u32,
    },
    /// Writing failed. The file contains only whole records.
    #[error("{}: cannot be written after {frames} frames: {source}", path.display())]
    Write {
        /// The capture.
        path: PathBuf,
        /// Whole frames in the file.
        frames: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A frame was given after a write error.
    #[error("{}: closed after a write error", path.display())]
    Closed {
        /// The capture.
        path: PathBuf,
    },
    /// A frame is longer than the snap length of written captures.
    #[error("{}: a frame of {length} bytes exceeds the snap length of 262144", path.display())]
    FrameTooLong {
        /// The capture.
        path: PathBuf,
        /// The length of the frame in bytes.
        length: usize,
    },
    /// The instant is after the year 2106, which pcap cannot store.
    #[error("{}: time {at} exceeds 4294967295 s, the largest time that pcap can store", path.display())]
    TimeTooLate {
        /// The capture.
        path: PathBuf,
        /// The instant.
        at: Nanos,
    },
}

/// How a record or block is inconsistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corruption {
    /// A record claims more captured bytes than any capture program writes.
    #[error("the frame claims {length} captured bytes; at most {limit} are allowed", limit = super::SNAP_LENGTH)]
    FrameTooLong {
        /// The claimed length.
        length: u32,
    },
    /// A block length is impossible.
    #[error("the block claims a length of {length} bytes; it must be a multiple of 4 and at least {least}")]
    BlockLength {
        /// The claimed length.
        length: u32,
        /// The shortest block of its type.
        least: u32,
    },
    /// A block that must be read as a whole is too long.
    #[error("the block claims {length} bytes; at most {limit} are allowed for its type")]
    BlockTooLong {
        /// The claimed length.
        length: u32,
        /// The limit.
        limit: u32,
    },
    /// The two lengths of a block differ.
    #[error("the block claims {leading} bytes at its start and {trailing} at its end")]
    BlockLengthsDiffer {
        /// The length before the body.
        leading: u32,
        /// The length after it.
        trailing: u32,
    },
    /// A section has an invalid byte order mark.
    #[error("the byte order magic of the section is {mark:#010x}, not 0x1a2b3c4d")]
    ByteOrderMark {
        /// The mark, read as big endian.
        mark: u32,
    },
    /// A frame does not fit into its block.
    #[error("the frame claims {length} captured bytes, but its block has room for {room}")]
    FrameOutsideBlock {
        /// The claimed length.
        length: u32,
        /// The bytes of the block left for it.
        room: u32,
    },
    /// A frame belongs to an interface without a description.
    #[error("the frame belongs to interface {interface}, but the section describes only {described}")]
    UnknownInterface {
        /// The interface.
        interface: u32,
        /// The number of described interfaces.
        described: u32,
    },
    /// There are more interfaces than supported.
    #[error("the section describes more than {limit} interfaces")]
    TooManyInterfaces {
        /// The limit.
        limit: u32,
    },
    /// An option does not fit into its block or has an invalid length for its code.
    #[error("option {code} claims {length} bytes, more than the block holds")]
    OptionLength {
        /// The option code.
        code: u16,
        /// The claimed length.
        length: u16,
    },
    /// An instant is before 1970 or after 2553.
    #[error("the timestamp is not between 1970 and 2553")]
    TimeOutOfRange,
}

/// A link type by its registered number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// IEEE 802.3 Ethernet: LINKTYPE_ETHERNET.
    pub const ETHERNET: Self = Self(1);
}

/// The name, if known, and the number.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match pcap_file::DataLink::from(u32::from(self.0)) {
            pcap_file::DataLink::Unknown(number) => number.fmt(f),
            named => write!(f, "{named:?} ({})", self.0),
        }
    }
}

fn hint(magic: [u8; 4]) -> &'static str {
    match magic {
        [0x1f, 0x8b, ..] => " (gzip; decompress it first)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd; decompress it first)",
        [0xfd, b'7', b'z', b'X'] => " (xz; decompress it first)",
        _ => "",
    }
}

/// How to go on without the frames of an interface.
fn without_interface(path: &Path, interface: Option<u32>) -> String {
    interface.map_or_else(String::new, |number| {
        let path = path.display();
        format!("; leave it out: tshark -r {path} -Y 'frame.interface_id != {number}' -w ethernet.pcapng")
    })
}

fn of_interface(interface: Option<u32>) -> String {
    interface.map_or_else(String::new, |number| format!("interface {number}: "))
}
