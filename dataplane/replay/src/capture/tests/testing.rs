//! Captures generated in memory, for the tests of this module.

use super::{CaptureError, CaptureReader, FrameSource};
use proptest::prelude::*;

pub(super) const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub(super) const MICROSECONDS: u32 = 0xa1b2_c3d4;

/// The byte order of a generated capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) big: bool,
}

pub(super) const LITTLE: Order = Order { big: false };
pub(super) const BIG: Order = Order { big: true };

impl Order {
    pub(super) fn u16(self, number: u16) -> [u8; 2] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    pub(super) fn u32(self, number: u32) -> [u8; 4] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    pub(super) fn i64(self, number: i64) -> [u8; 8] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    /// The header of a pcap file.
    pub(super) fn pcap(self, magic: u32, network: u32) -> Vec<u8> {
        let mut file = self.u32(magic).to_vec();
        file.extend(self.u16(2));
        file.extend(self.u16(4));
        file.extend([0; 8]);
        file.extend(self.u32(65_535));
        file.extend(self.u32(network));
        file
    }

    /// A record of pcap.
    pub(super) fn record(self, seconds: u32, fraction: u32, data: &[u8], original: u32) -> Vec<u8> {
        let fields = [seconds, fraction, data.len() as u32, original];
        let mut record = fields.map(|field| self.u32(field)).concat();
        record.extend(data);
        record
    }

    /// A block of pcapng.
    pub(super) fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let length = self.u32(padded as u32 + 12);
        let mut block = [self.u32(kind), length].concat();
        block.extend(body);
        block.resize(8 + padded, 0);
        block.extend(length);
        block
    }

    pub(super) fn section(self) -> Vec<u8> {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend([self.u16(1), self.u16(0)].concat());
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    /// An interface description with `options`, each a code and a value, and no end of options.
    pub(super) fn interface(self, link_type: u16, snap_length: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [self.u16(link_type), self.u16(0)].concat();
        body.extend(self.u32(snap_length));
        for (code, value) in options {
            body.extend([self.u16(*code), self.u16(value.len() as u16)].concat());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    pub(super) fn enhanced(self, interface: u32, timestamp: u64, data: &[u8], original: u32) -> Vec<u8> {
        let (high, low) = ((timestamp >> 32) as u32, timestamp as u32);
        let fields = [interface, high, low, data.len() as u32, original];
        self.block(6, &[fields.map(|field| self.u32(field)).as_flattened(), data].concat())
    }

    pub(super) fn obsolete(self, interface: u16, timestamp: u64, data: &[u8], original: u32) -> Vec<u8> {
        let mut body = [self.u16(interface), self.u16(9)].concat();
        let (high, low) = ((timestamp >> 32) as u32, timestamp as u32);
        body.extend([high, low, data.len() as u32, original].map(|field| self.u32(field)).concat());
        body.extend(data);
        self.block(2, &body)
    }

    pub(super) fn simple(self, data: &[u8], original: u32) -> Vec<u8> {
        self.block(3, &[&self.u32(original), data].concat())
    }
}

/// An owned frame: instant, bytes, original length.
pub(super) type Kept = (u64, Vec<u8>, u32);

/// All frames of `source`, and its final error, if any.
pub(super) fn drain(source: &mut impl FrameSource) -> (Vec<Kept>, Option<CaptureError>) {
    let mut frames = Vec::new();
    loop {
        match source.next_frame() {
            Ok(Some(frame)) => frames.push((frame.at.0, frame.data.to_vec(), frame.original_length)),
            Ok(None) => return (frames, None),
            Err(error) => {
                assert!(matches!(source.advance(), Ok(false)), "nothing follows an error");
                assert_eq!(source.current(), None);
                return (frames, Some(error));
            }
        }
    }
}

/// The frames of a capture in memory, and its final error, if any.
pub(super) fn read(capture: &[u8]) -> (Vec<Kept>, Option<CaptureError>) {
    match CaptureReader::new(capture, "made-up") {
        Ok(mut reader) => drain(&mut reader),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// The frames of a valid capture in memory.
pub(super) fn read_whole(capture: &[u8]) -> Vec<Kept> {
    let (frames, error) = read(capture);
    assert!(error.is_none(), "{error:?}");
    frames
}

/// Frames that pcap can represent.
pub(super) fn any_frames() -> impl Strategy<Value = Vec<Kept>> {
    let frame = (0..4_294_967_296_000_000_000_u64, prop::collection::vec(any::<u8>(), 0..200), 0..9_000_u32);
    let frame = frame.prop_map(|(at, data, more)| {
        let original = data.len() as u32 + more;
        (at, data, original)
    });
    prop::collection::vec(frame, 0..40)
}
