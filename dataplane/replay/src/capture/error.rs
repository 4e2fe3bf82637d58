//! What can go wrong with a capture, one clear line each.

use core::fmt;
use std::io;
use std::path::PathBuf;
use units::Nanos;

/// Why a capture cannot be read or written. Offsets are bytes from the start of the capture, to
/// the record or block that is at fault.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened for reading.
    #[error("{}: cannot be opened: {source}", path.display())]
    Open {
        /// The capture.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be created.
    #[error("{}: cannot be created: {source}", path.display())]
    Create {
        /// The capture.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Reading failed.
    #[error("{}: cannot be read past byte {offset}: {source}", path.display())]
    Read {
        /// The capture.
        path: PathBuf,
        /// Bytes that were read before.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// Not a single byte.
    #[error("{}: empty file; a capture has at least a header", path.display())]
    Empty {
        /// The capture.
        path: PathBuf,
    },
    /// Neither pcap nor pcapng.
    #[error("{}: neither pcap nor pcapng: it starts with {magic:02x?}{}", path.display(), hint(*magic))]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// Its first four bytes.
        magic: [u8; 4],
    },
    /// A version of a format that is not known.
    #[error("{}: byte {offset}: unsupported {format} version {major}.{minor}", path.display())]
    UnknownVersion {
        /// The capture.
        path: PathBuf,
        /// Where its header starts.
        offset: u64,
        /// pcap or pcapng.
        format: &'static str,
        /// The first part of the version.
        major: u16,
        /// The second part.
        minor: u16,
    },
    /// Frames that are not Ethernet.
    #[error(
        "{}: byte {offset}: {}link type is {found}, but only Ethernet (1) is supported",
        path.display(), of_interface(*interface)
    )]
    NotEthernet {
        /// The capture.
        path: PathBuf,
        /// The header of a pcap file, the first frame of the interface in pcapng.
        offset: u64,
        /// The interface within its section; `None` for pcap.
        interface: Option<u32>,
        /// The link type found.
        found: LinkType,
    },
    /// The capture stops within a record or block. All frames before it were delivered.
    #[error("{}: truncated in the record at byte {offset}", path.display())]
    Truncated {
        /// The capture.
        path: PathBuf,
        /// Where the record starts.
        offset: u64,
    },
    /// A record or block that contradicts itself. All frames before it were delivered.
    #[error("{}: byte {offset}: {cause}", path.display())]
    Corrupt {
        /// The capture.
        path: PathBuf,
        /// Where the record or block starts.
        offset: u64,
        /// The contradiction.
        cause: Corruption,
    },
    /// Standard input was to be played more than once.
    #[error("standard input cannot be replayed {loops} times: it can be read only once; name a file")]
    StdinCannotLoop {
        /// How often it was to be played.
        loops: u32,
    },
    /// Writing failed. What the file holds are whole records.
    #[error("{}: cannot be written after {frames} frames: {source}", path.display())]
    Write {
        /// The capture.
        path: PathBuf,
        /// Whole frames that are in the file.
        frames: u64,
        /// What the system says.
        source: io::Error,
    },
    /// A frame was offered after writing had failed.
    #[error("{}: closed after a write error", path.display())]
    Closed {
        /// The capture.
        path: PathBuf,
    },
    /// A frame is longer than the snap length that is written.
    #[error("{}: a frame of {length} bytes exceeds the snap length of 262144", path.display())]
    FrameTooLong {
        /// The capture.
        path: PathBuf,
        /// Bytes of the frame.
        length: usize,
    },
    /// An instant past the year 2106, which pcap has no room for.
    #[error("{}: time {at} exceeds 4294967295 s, the largest time that pcap can store", path.display())]
    TimeTooLate {
        /// The capture.
        path: PathBuf,
        /// The instant.
        at: Nanos,
    },
}

/// How a record or block contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corruption {
    /// More captured bytes than any capture program writes.
    #[error("the frame claims {length} captured bytes; at most {limit} are allowed", limit = super::SNAP_LENGTH)]
    FrameTooLong {
        /// The claim.
        length: u32,
    },
    /// A block length that cannot be.
    #[error("the block claims a length of {length} bytes; it must be a multiple of 4 and at least {least}")]
    BlockLength {
        /// The claim.
        length: u32,
        /// The shortest block of its type.
        least: u32,
    },
    /// A block that has to be read as a whole and is too long for that.
    #[error("the block claims {length} bytes; at most {limit} are allowed for its type")]
    BlockTooLong {
        /// The claim.
        length: u32,
        /// The bound.
        limit: u32,
    },
    /// The two lengths of a block differ.
    #[error("the block claims {leading} bytes at its start and {trailing} at its end")]
    BlockLengthsDiffer {
        /// The length before the body.
        leading: u32,
        /// The length behind it.
        trailing: u32,
    },
    /// A section whose byte order mark is none.
    #[error("the byte order magic of the section is {mark:#010x}, not 0x1a2b3c4d")]
    ByteOrderMark {
        /// The mark, read as big endian.
        mark: u32,
    },
    /// A frame that does not fit its block.
    #[error("the frame claims {length} captured bytes, but its block has room for {room}")]
    FrameOutsideBlock {
        /// The claim.
        length: u32,
        /// Bytes of the block that are left for it.
        room: u32,
    },
    /// A frame of an interface that was not described.
    #[error("the frame belongs to interface {interface}, but the section describes only {described}")]
    UnknownInterface {
        /// The interface.
        interface: u32,
        /// How many there are.
        described: u32,
    },
    /// More interfaces than fit.
    #[error("the section describes more than {limit} interfaces")]
    TooManyInterfaces {
        /// The bound.
        limit: u32,
    },
    /// An option that does not fit its block or has a length that its code does not allow.
    #[error("option {code} claims {length} bytes, more than the block holds")]
    OptionLength {
        /// The option code.
        code: u16,
        /// The claim.
        length: u16,
    },
    /// An instant before 1970 or after 2553.
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

/// The name where it is known, and the number.
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

fn of_interface(interface: Option<u32>) -> String {
    interface.map_or_else(String::new, |number| format!("interface {number}: "))
}
