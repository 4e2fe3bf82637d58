//! pcapng (draft-ietf-opsawg-pcapng). `docs/captures.md` explains why no library is used.

use super::record::Record;
use super::resolution::Resolution;
use super::window::Window;
use super::{CaptureError, Corruption, LinkType, SNAP_LENGTH};
use std::io::Read;
use units::Nanos;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete, but present in old captures.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;

const OPTION_END: u16 = 0;
const OPTION_NAME: u16 = 2;
const OPTION_TSRESOL: u16 = 9;
const OPTION_FCSLEN: u16 = 13;
const OPTION_TSOFFSET: u16 = 14;

/// Type and total length before the body, total length after it.
const BLOCK_START: usize = 8;
const BLOCK_FRAME: u32 = 12;
/// Fixed fields of an enhanced packet and of an obsolete packet, before the frame.
const PACKET_FIELDS: usize = 20;
/// The longest block that is read as a whole: a frame of maximum length and as many bytes of options. Skipped
/// blocks may be longer.
const LARGEST_BLOCK: u32 = 2 * SNAP_LENGTH;
/// More than any real capture has; limits the memory of corrupt ones.
const MOST_INTERFACES: usize = 1 << 16;

/// The byte order of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// The fields at `at` of `bytes`. The caller has checked the length.
impl ByteOrder {
    #[inline]
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        u16::from_le_bytes(self.little_endian(bytes, at))
    }

    #[inline]
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(self.little_endian(bytes, at))
    }

    #[inline]
    fn little_endian<const N: usize>(self, bytes: &[u8], at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&bytes[at..at + N]);
        if self == Self::Big {
            field.reverse();
        }
        field
    }
}

/// The state of the current section.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// The instant of the last frame, for frames without one.
    latest: Nanos,
}

struct Interface {
    /// Empty if it has none in UTF-8.
    name: String,
    link_type: LinkType,
    /// The maximum captured bytes of a simple packet; zero is unlimited.
    snap_length: u32,
    /// Bytes of FCS at the end of each frame.
    fcs: u8,
    resolution: Resolution,
}

/// The block at the start of the window, completely in memory.
#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    length: u32,
}

impl Pcapng {
    /// Whether a capture that starts with `magic` is pcapng.
    pub(super) fn recognizes(magic: [u8; 4]) -> bool {
        u32::from_be_bytes(magic) == SECTION_HEADER
    }

    /// Reads the first section header.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Self, CaptureError> {
        let mut opened = Self { order: ByteOrder::Little, interfaces: Vec::new(), latest: Nanos::ZERO };
        opened.enter_section(window)?;
        Ok(opened)
    }

    /// Moves to the next frame, past all other blocks; `None` at the end.
    #[inline]
    pub(super) fn advance<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> Result<Option<Record>, CaptureError> {
        loop {
            if !window.need(BLOCK_START)? {
                return Ok(None);
            }
            let start = window.available();
            let block = Block { kind: self.order.u32_at(start, 0), length: self.order.u32_at(start, 4) };
            match block.kind {
                ENHANCED_PACKET | SIMPLE_PACKET | PACKET => return self.packet(window, block).map(Some),
                SECTION_HEADER => self.enter_section(window)?,
                INTERFACE_DESCRIPTION => self.describe_interface(window, block)?,
                _ => self.skip(window, block)?,
            }
        }
    }

    /// The name of an interface of this section.
    #[inline]
    pub(super) fn name(&self, interface: u32) -> &str {
        self.interfaces.get(interface as usize).map_or("", |it| &it.name)
    }

    /// Reads a section header, whose byte order mark applies to the rest of it and to the section.
    fn enter_section<R: Read>(&mut self, window: &mut Window<R>) -> Result<(), CaptureError> {
        window.need(BLOCK_START + 4)?;
        let mark = [0, 1, 2, 3].map(|index| window.available()[BLOCK_START + index]);
        self.order = match u32::from_be_bytes(mark) {
            BYTE_ORDER_MARK => ByteOrder::Big,
            mark if mark.swap_bytes() == BYTE_ORDER_MARK => ByteOrder::Little,
            mark => return Err(window.corrupt(Corruption::ByteOrderMark { mark })),
        };
        let block = Block { kind: SECTION_HEADER, length: self.order.u32_at(window.available(), 4) };
        self.check_whole(window, block, BLOCK_FRAME + 16)?;
        let [major, minor] = [12, 14].map(|at| self.order.u16_at(window.available(), at));
        if major != 1 {
            let (path, offset) = (window.path().into(), window.offset());
            return Err(CaptureError::UnknownVersion { path, offset, format: "pcapng", major, minor });
        }
        window.consume(block.length as usize);
        self.interfaces.clear();
        Ok(())
    }

    /// Reads an interface description: link type, snap length, options.
    fn describe_interface<R: Read>(
        &mut self,
        window: &mut Window<R>,
        block: Block,
    ) -> Result<(), CaptureError> {
        const FIELDS: usize = 8;
        let body = self.check_whole(window, block, BLOCK_FRAME + FIELDS as u32)?;
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(window.corrupt(Corruption::TooManyInterfaces { limit: MOST_INTERFACES as u32 }));
        }
        let mut interface = Interface {
            name: String::new(),
            link_type: LinkType(self.order.u16_at(body, 0)),
            snap_length: self.order.u32_at(body, 4),
            fcs: 0,
            resolution: Resolution::DEFAULT,
        };
        interface.read_options(self.order, &body[FIELDS..]).map_err(|cause| window.corrupt(cause))?;
        window.consume(block.length as usize);
        self.interfaces.push(interface);
        Ok(())
    }

    /// Reads a block with a frame.
    #[inline]
    fn packet<R: Read>(&mut self, window: &mut Window<R>, block: Block) -> Result<Record, CaptureError> {
        let fields = if block.kind == SIMPLE_PACKET { 4 } else { PACKET_FIELDS };
        let body = self.check_whole(window, block, BLOCK_FRAME + fields as u32)?;
        let order = self.order;
        let room = (body.len() - fields) as u32;
        let number = match block.kind {
            ENHANCED_PACKET => order.u32_at(body, 0),
            PACKET => u32::from(order.u16_at(body, 0)),
            _ => 0,
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            let described = self.interfaces.len() as u32;
            return Err(window.corrupt(Corruption::UnknownInterface { interface: number, described }));
        };
        if interface.link_type != LinkType::ETHERNET {
            let (path, offset, found) = (window.path().into(), window.offset(), interface.link_type);
            return Err(CaptureError::NotEthernet { path, offset, interface: Some(number), found });
        }
        let (at, captured, original) = if block.kind == SIMPLE_PACKET {
            let original = order.u32_at(body, 0);
            let limit = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
            // It has no timestamp and gets that of the previous frame.
            (Some(self.latest), original.min(limit), original)
        } else {
            let high = u64::from(order.u32_at(body, 4));
            let timestamp = (high << 32) | u64::from(order.u32_at(body, 8));
            (interface.resolution.instant(timestamp), order.u32_at(body, 12), order.u32_at(body, 16))
        };
        let cause = if captured > SNAP_LENGTH {
            Corruption::FrameTooLong { length: captured }
        } else if captured > room {
            Corruption::FrameOutsideBlock { length: captured, room }
        } else if let Some(at) = at {
            let start = window.position() + BLOCK_START + fields;
            let record =
                Record { interface: number, ..Record::new(at, start, captured, original, interface.fcs) };
            self.latest = at;
            window.consume(block.length as usize);
            return Ok(record);
        } else {
            Corruption::TimeOutOfRange
        };
        Err(window.corrupt(cause))
    }

    /// Reads a whole block of at least `least` bytes, checks that its lengths agree, and lends its body.
    #[inline]
    fn check_whole<'a, R: Read>(
        &self,
        window: &'a mut Window<R>,
        block: Block,
        least: u32,
    ) -> Result<&'a [u8], CaptureError> {
        const { assert!(LARGEST_BLOCK as usize <= Window::<std::io::Empty>::LARGEST_RECORD) };
        let Block { length, .. } = block;
        if length % 4 != 0 || length < least {
            return Err(window.corrupt(Corruption::BlockLength { length, least }));
        }
        if length > LARGEST_BLOCK {
            return Err(window.corrupt(Corruption::BlockTooLong { length, limit: LARGEST_BLOCK }));
        }
        window.need(length as usize)?;
        let end = length as usize - 4;
        let trailing = self.order.u32_at(window.available(), end);
        if trailing != length {
            return Err(window.corrupt(Corruption::BlockLengthsDiffer { leading: length, trailing }));
        }
        Ok(&window.available()[BLOCK_START..end])
    }

    /// Skips a block without frames, of any length.
    fn skip<R: Read>(&self, window: &mut Window<R>, block: Block) -> Result<(), CaptureError> {
        let (offset, Block { length, .. }) = (window.offset(), block);
        if length % 4 != 0 || length < BLOCK_FRAME {
            return Err(window.corrupt(Corruption::BlockLength { length, least: BLOCK_FRAME }));
        }
        let mut whole = window.skip(u64::from(length - 4))?;
        while whole && window.available().len() < 4 {
            whole = window.fill()?;
        }
        if !whole {
            return Err(window.truncated_at(offset));
        }
        let trailing = self.order.u32_at(window.available(), 0);
        if trailing != length {
            let cause = Corruption::BlockLengthsDiffer { leading: length, trailing };
            return Err(window.corrupt_at(offset, cause));
        }
        window.consume(4);
        Ok(())
    }
}

impl Interface {
    /// Reads the options that affect the parsing of frames. An option list may lack an end option (section
    /// 3.5).
    fn read_options(&mut self, order: ByteOrder, mut rest: &[u8]) -> Result<(), Corruption> {
        while rest.len() >= 4 {
            let (code, length) = (order.u16_at(rest, 0), order.u16_at(rest, 2));
            if code == OPTION_END {
                return Ok(());
            }
            let misfit = Corruption::OptionLength { code, length };
            let value = rest[4..].get(..usize::from(length)).ok_or(misfit)?;
            match (code, value) {
                (OPTION_NAME, name) => self.name = str::from_utf8(name).unwrap_or_default().into(),
                (OPTION_TSRESOL, [unit]) => self.resolution = self.resolution.with_unit(*unit),
                (OPTION_FCSLEN, [length]) => self.fcs = *length,
                (OPTION_TSOFFSET, [_, _, _, _, _, _, _, _]) => {
                    let offset = i64::from_le_bytes(order.little_endian(value, 0));
                    self.resolution = self.resolution.with_offset(offset);
                }
                (OPTION_TSRESOL | OPTION_FCSLEN | OPTION_TSOFFSET, _) => return Err(misfit),
                _ => {}
            }
            rest = rest.get(4 + usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn corruption(capture: &[u8]) -> (u64, Corruption) {
        match read(capture).1 {
            Some(CaptureError::Corrupt { offset, cause, .. }) => (offset, cause),
            other => panic!("{other:?}"),
        }
    }

    /// A section with one Ethernet interface, followed by `rest`.
    fn with(order: Order, rest: &[Vec<u8>]) -> Vec<u8> {
        [order.section(), order.interface(1, 0, &[]), rest.concat()].concat()
    }

    #[test]
    fn each_interface_has_its_own_resolution_and_offset() {
        for order in [LITTLE, BIG] {
            let capture = [
                order.section(),
                order.interface(1, 0, &[]),
                order.interface(1, 0, &[(9, &[9]), (0, &[])]),
                order.interface(1, 0, &[(9, &[0x80 | 20])]),
                order.interface(1, 0, &[(2, b"eth3"), (9, &[3]), (14, &order.i64(-1))]),
                order.enhanced(0, 1_500_000, &[0; 3], 3),
                order.enhanced(1, 5_000_000_000_000_000_001, &[1; 4], 1_500),
                order.enhanced(2, (7 << 20) + (1 << 19), &[2; 5], 5),
                order.enhanced(3, 3_250, &[3; 6], 6),
            ];
            assert_eq!(
                read_whole(&capture.concat()),
                [
                    (1_500_000_000, vec![0; 3], 3),
                    (5_000_000_000_000_000_001, vec![1; 4], 1_500),
                    (7_500_000_000, vec![2; 5], 5),
                    (2_250_000_000, vec![3; 6], 6),
                ]
            );
        }
    }

    #[test]
    fn a_section_starts_anew_with_its_own_byte_order_and_interfaces() {
        let second = [BIG.section(), BIG.interface(1, 0, &[(9, &[9])]), BIG.enhanced(0, 6, &[2], 1)].concat();
        let capture = [with(LITTLE, &[LITTLE.enhanced(0, 5, &[1], 1)]), second].concat();
        assert_eq!(read_whole(&capture), [(5_000, vec![1], 1), (6, vec![2], 1)]);
        let orphan = [with(LITTLE, &[]), BIG.section()].concat();
        let at = orphan.len() as u64;
        let (offset, cause) = corruption(&[orphan, BIG.enhanced(0, 0, &[], 0)].concat());
        assert_eq!((offset, cause), (at, Corruption::UnknownInterface { interface: 0, described: 0 }));
    }

    #[test]
    fn a_simple_packet_ends_at_its_length_or_the_snap_length_and_comes_with_the_frame_before_it() {
        let capture = [
            LITTLE.section(),
            LITTLE.interface(1, 6, &[]),
            LITTLE.simple(&[1; 5], 5),
            LITTLE.enhanced(0, 3, &[], 0),
            LITTLE.simple(&[2; 6], 1_500),
        ];
        let frames = [(0, vec![1; 5], 5), (3_000, vec![], 0), (3_000, vec![2; 6], 1_500)];
        assert_eq!(read_whole(&capture.concat()), frames);
    }

    #[test]
    fn the_obsolete_packet_block_is_still_read() {
        for order in [LITTLE, BIG] {
            let capture = with(order, &[order.obsolete(0, 1 << 33, &[7; 9], 10)]);
            assert_eq!(read_whole(&capture), [((1 << 33) * 1_000, vec![7; 9], 10)]);
        }
    }

    #[test]
    fn blocks_without_frames_are_skipped_however_long() {
        let secrets = LITTLE.block(10, &vec![0xee; 5_000_000]);
        let capture = with(LITTLE, &[secrets, LITTLE.block(4, &[]), LITTLE.enhanced(0, 1, &[1], 1)]);
        assert_eq!(read_whole(&capture).len(), 1);
    }

    #[test]
    fn options_may_be_unknown_or_not_text_and_behind_the_end_anything_goes() {
        let options: &[(u16, &[u8])] =
            &[(2, &[0xff, 0xfe]), (777, &[1; 300]), (9, &[9]), (0, &[]), (9, &[1, 2])];
        let capture =
            [LITTLE.section(), LITTLE.interface(1, 0, options), LITTLE.enhanced(0, 5, &[], 0)].concat();
        assert_eq!(read_whole(&capture), [(5, vec![], 0)]);
    }

    #[test]
    fn an_option_of_impossible_length_is_corrupt() {
        let at = LITTLE.section().len() as u64;
        let capture = [LITTLE.section(), LITTLE.interface(1, 0, &[(9, &[9, 9])])].concat();
        assert_eq!(corruption(&capture), (at, Corruption::OptionLength { code: 9, length: 2 }));
        let mut body = [1, 0, 0, 0, 0, 0, 0, 0].to_vec();
        body.extend([14, 0, 200, 0]);
        let capture = [LITTLE.section(), LITTLE.block(1, &body)].concat();
        assert_eq!(corruption(&capture), (at, Corruption::OptionLength { code: 14, length: 200 }));
    }

    #[test]
    fn a_frame_check_sequence_that_the_interface_announces_is_left_out() {
        let interface = LITTLE.interface(1, 0, &[(13, &[4])]);
        let capture = [LITTLE.section(), interface, LITTLE.enhanced(0, 0, &[1; 64], 64)].concat();
        assert_eq!(read_whole(&capture), [(0, vec![1; 60], 60)]);
    }

    #[test]
    fn an_interface_that_is_not_ethernet_harms_nobody_until_it_has_a_frame() {
        let mut capture = with(LITTLE, &[LITTLE.interface(276, 0, &[]), LITTLE.enhanced(0, 5, &[], 0)]);
        assert_eq!(read_whole(&capture).len(), 1);
        let at = capture.len();
        capture.extend(LITTLE.enhanced(1, 5, &[], 0));
        let (frames, error) = read(&capture);
        assert_eq!(frames.len(), 1);
        let told = format!(
            "made-up: byte {at}: interface 1: link type is LINUX_SLL2 (276), but only Ethernet (1) is supported; \
             leave it out: tshark -r made-up -Y 'frame.interface_id != 1' -w ethernet.pcapng"
        );
        assert_eq!(error.unwrap().to_string(), told);
    }

    #[test]
    fn lengths_that_contradict_each_other_are_corrupt_at_their_block() {
        let at = with(LITTLE, &[]).len();
        let sound = with(LITTLE, &[LITTLE.enhanced(0, 5, &[1; 8], 8)]);
        let changed = |place: usize, value: u32| {
            let mut capture = sound.clone();
            capture[place..place + 4].copy_from_slice(&value.to_le_bytes());
            corruption(&capture)
        };
        let at = (at, at as u64);
        assert_eq!(changed(at.0 + 4, 41), (at.1, Corruption::BlockLength { length: 41, least: 32 }));
        assert_eq!(changed(at.0 + 4, 28), (at.1, Corruption::BlockLength { length: 28, least: 32 }));
        let limit = LARGEST_BLOCK;
        assert_eq!(
            changed(at.0 + 4, limit + 4),
            (at.1, Corruption::BlockTooLong { length: limit + 4, limit })
        );
        let differ = Corruption::BlockLengthsDiffer { leading: 40, trailing: 44 };
        assert_eq!(changed(at.0 + 36, 44), (at.1, differ));
        assert_eq!(changed(at.0 + 20, 9), (at.1, Corruption::FrameOutsideBlock { length: 9, room: 8 }));
        assert_eq!(changed(at.0 + 20, 262_145), (at.1, Corruption::FrameTooLong { length: 262_145 }));
        let unknown = Corruption::UnknownInterface { interface: 1, described: 1 };
        assert_eq!(changed(at.0 + 8, 1), (at.1, unknown));
    }

    #[test]
    fn a_skipped_block_whose_lengths_differ_is_corrupt_at_its_start() {
        let at = with(LITTLE, &[]).len() as u64;
        let mut block = LITTLE.block(5, &[0; 8]);
        block[16] = 24;
        let differ = Corruption::BlockLengthsDiffer { leading: 20, trailing: 24 };
        assert_eq!(corruption(&with(LITTLE, &[block])), (at, differ));
    }

    #[test]
    fn a_timestamp_before_1970_is_corrupt() {
        let interface = LITTLE.interface(1, 0, &[(14, &LITTLE.i64(-10))]);
        let capture = [LITTLE.section(), interface, LITTLE.enhanced(0, 5, &[], 0)].concat();
        assert_eq!(corruption(&capture).1, Corruption::TimeOutOfRange);
    }

    #[test]
    fn more_interfaces_than_any_capture_has_are_refused() {
        let interfaces = vec![LITTLE.interface(1, 0, &[]); MOST_INTERFACES + 1].concat();
        let (_, cause) = corruption(&[LITTLE.section(), interfaces].concat());
        assert_eq!(cause, Corruption::TooManyInterfaces { limit: 65_536 });
    }

    #[test]
    fn a_section_of_another_version_is_refused() {
        let mut capture = LITTLE.section();
        capture[12] = 2;
        let (_, error) = read(&capture);
        let told = "made-up: byte 0: unsupported pcapng version 2.0";
        assert_eq!(error.unwrap().to_string(), told);
    }
}
