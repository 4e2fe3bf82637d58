//! Reading captures of either format.

use super::CaptureError;
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::record::Record;
use super::source::{Captured, FrameSource, Interface};
use super::window::Window;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A capture in a file or on standard input.
pub type CaptureFile = CaptureReader<Box<dyn Read + Send>>;

/// Streams the frames of a pcap or pcapng capture, of any byte order and resolution.
///
/// Memory does not depend on the length of the capture, and frames are neither allocated nor copied. pcapng
/// blocks without frames are skipped.
pub struct CaptureReader<R> {
    window: Window<R>,
    format: Format,
    record: Option<Record>,
    done: bool,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl CaptureFile {
    /// Opens the capture at `path`, or standard input for `-`, and reads its header.
    ///
    /// # Errors
    /// [`CaptureError::Open`], and those of [`CaptureReader::new`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Self::new(Box::new(std::io::stdin()), "standard input");
        }
        match File::open(path) {
            Ok(file) => Self::new(Box::new(file), path),
            Err(source) => Err(CaptureError::Open { path: path.into(), source }),
        }
    }
}

impl<R: Read> CaptureReader<R> {
    /// Reads the header of the capture in `input`. Reads are large, so `input` needs no buffer. Errors use
    /// `name` as the path.
    ///
    /// # Errors
    /// [`CaptureError::Empty`], [`CaptureError::NotACapture`], [`CaptureError::NotEthernet`] (for
    /// pcapng only at the first frame of such an interface), [`CaptureError::Truncated`],
    /// [`CaptureError::Read`].
    pub fn new(input: R, name: impl Into<PathBuf>) -> Result<Self, CaptureError> {
        let mut window = Window::new(input, name.into());
        if !window.need(4)? {
            return Err(CaptureError::Empty { path: window.path().into() });
        }
        let magic: [u8; 4] = core::array::from_fn(|index| window.available()[index]);
        let format = if Pcap::recognizes(magic) {
            Format::Pcap(Pcap::open(&mut window)?)
        } else if Pcapng::recognizes(magic) {
            Format::Pcapng(Pcapng::open(&mut window)?)
        } else {
            return Err(CaptureError::NotACapture { path: window.path().into(), magic });
        };
        Ok(Self { window, format, record: None, done: false })
    }
}

impl<R: Read> FrameSource for CaptureReader<R> {
    #[inline]
    fn advance(&mut self) -> Result<bool, CaptureError> {
        self.record = None;
        if self.done {
            return Ok(false);
        }
        // Any end, including an error, is final.
        self.done = true;
        self.record = match &mut self.format {
            Format::Pcap(pcap) => pcap.advance(&mut self.window)?,
            Format::Pcapng(pcapng) => pcapng.advance(&mut self.window)?,
        };
        self.done = self.record.is_none();
        Ok(!self.done)
    }

    #[inline]
    fn current(&self) -> Option<Captured<'_>> {
        let Record { at, start, length, original_length, interface } = self.record?;
        let name = match &self.format {
            Format::Pcap(_) => "",
            Format::Pcapng(pcapng) => pcapng.name(interface),
        };
        let interface = Interface { number: interface, name };
        Some(Captured { at, data: self.window.bytes(start, length as usize), original_length, interface })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Corruption, LinkType};
    use super::*;
    use proptest::prelude::*;
    use std::io;

    /// Returns one byte per read, each after an interruption.
    struct Drip<'a>(&'a [u8], bool);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                Err(io::ErrorKind::Interrupted.into())
            } else {
                self.0.take(1).read(buffer).inspect(|&n| self.0 = &self.0[n..])
            }
        }
    }

    fn small_pcap(order: Order, magic: u32) -> Vec<u8> {
        let records = [order.record(5, 7, &[1, 2, 3], 90), order.record(6, 999_999, &[], 0)];
        [order.pcap(magic, 1), records.concat()].concat()
    }

    /// A capture of each kind, with the offsets at which it may end.
    fn sound_captures() -> Vec<(Vec<u8>, Vec<usize>)> {
        let mut captures = Vec::new();
        for order in [LITTLE, BIG] {
            let pieces = [
                order.pcap(NANOSECONDS, 1),
                order.record(1, 2, &[0xa5; 61], 61),
                order.record(1, 3, &[], 0),
                order.record(1, 1, &[7; 14], 1_500),
            ];
            captures.push(joined(&pieces, 0));
            let other = if order.big { LITTLE } else { BIG };
            let pieces = [
                order.section(),
                order.interface(1, 0, &[(9, &[9])]),
                order.enhanced(0, 77, &[0x5a; 61], 61),
                order.block(0x0bad_cafe, &[1; 33]),
                order.simple(&[3; 5], 5),
                other.section(),
                other.interface(113, 0, &[]),
                other.interface(1, 64, &[]),
                other.obsolete(1, 99, &[8; 7], 70),
            ];
            captures.push(joined(&pieces, 0));
        }
        captures
    }

    fn joined(pieces: &[Vec<u8>], start: usize) -> (Vec<u8>, Vec<usize>) {
        let ends = pieces.iter().scan(start, |end, piece| {
            *end += piece.len();
            Some(*end)
        });
        let ends = ends.collect();
        (pieces.concat(), ends)
    }

    #[test]
    fn pcap_of_either_byte_order_and_resolution_gives_nanoseconds() {
        for order in [LITTLE, BIG] {
            let nanos = read_whole(&small_pcap(order, NANOSECONDS));
            assert_eq!(nanos, [(5_000_000_007, vec![1, 2, 3], 90), (6_000_999_999, vec![], 0)]);
            let micros = read_whole(&small_pcap(order, MICROSECONDS));
            assert_eq!(micros, [(5_000_007_000, vec![1, 2, 3], 90), (6_999_999_000, vec![], 0)]);
        }
    }

    #[test]
    fn a_frame_shorter_than_its_original_length_is_cut() {
        let capture = small_pcap(LITTLE, NANOSECONDS);
        let mut reader = CaptureReader::new(&capture[..], "made-up").unwrap();
        assert!(reader.next_frame().unwrap().unwrap().is_cut());
        assert!(!reader.next_frame().unwrap().unwrap().is_cut());
    }

    #[test]
    fn an_original_length_below_the_captured_one_is_raised() {
        let capture = [LITTLE.pcap(NANOSECONDS, 1), LITTLE.record(0, 0, &[1; 60], 20)].concat();
        assert_eq!(read_whole(&capture), [(0, vec![1; 60], 60)]);
    }

    #[test]
    fn a_frame_check_sequence_that_the_header_announces_is_left_out() {
        let network = 1 | 1 << 26 | 2 << 28;
        let records = [LITTLE.record(0, 0, &[1; 64], 64), LITTLE.record(0, 0, &[1; 50], 64)].concat();
        let capture = [LITTLE.pcap(NANOSECONDS, network), records].concat();
        assert_eq!(read_whole(&capture), [(0, vec![1; 60], 60), (0, vec![1; 50], 60)]);
    }

    #[test]
    fn a_file_without_a_byte_is_empty_and_a_header_alone_is_a_capture_without_frames() {
        let (_, error) = read(&[]);
        assert_eq!(error.unwrap().to_string(), "made-up: empty file; a capture has at least a header");
        assert_eq!(read_whole(&LITTLE.pcap(MICROSECONDS, 1)), []);
        assert_eq!(read_whole(&BIG.section()), []);
    }

    #[test]
    fn a_file_that_is_not_a_capture_is_refused_by_its_first_bytes() {
        let (_, error) = read(b"hello");
        let told = "made-up: neither pcap nor pcapng: it starts with [68, 65, 6c, 6c]";
        assert_eq!(error.unwrap().to_string(), told);
        let (_, error) = read(&[0x1f, 0x8b, 8, 0, 0]);
        assert!(error.unwrap().to_string().ends_with("(gzip; decompress it first)"));
    }

    #[test]
    fn frames_that_are_not_ethernet_are_refused_by_name() {
        let (_, error) = read(&LITTLE.pcap(MICROSECONDS, 113));
        let told = "made-up: byte 0: link type is LINUX_SLL (113), but only Ethernet (1) is supported";
        assert_eq!(error.unwrap().to_string(), told);
        assert_eq!(LinkType(60_000).to_string(), "60000");
    }

    #[test]
    fn a_record_of_insane_length_is_refused_without_waiting_for_it() {
        let mut capture = small_pcap(BIG, NANOSECONDS);
        let at = capture.len() as u64;
        for length in [262_145_u32, u32::MAX] {
            capture.truncate(at as usize);
            capture.extend([0, 0, length, length].map(u32::to_be_bytes).concat());
            let (frames, error) = read(&capture);
            assert_eq!(frames.len(), 2);
            let cause = Corruption::FrameTooLong { length };
            assert!(matches!(error, Some(CaptureError::Corrupt { offset, cause: found, .. })
                if offset == at && found == cause));
        }
    }

    #[test]
    fn the_longest_sane_frame_is_delivered() {
        let data = vec![9; 262_144];
        let records = vec![LITTLE.record(0, 0, &data, 262_144); 9].concat();
        let frames = read_whole(&[LITTLE.pcap(NANOSECONDS, 1), records].concat());
        assert!(frames.len() == 9 && frames.iter().all(|frame| frame.1 == data));
    }

    #[test]
    fn frames_are_the_same_however_the_input_is_portioned() {
        for (capture, _) in sound_captures() {
            let mut dripping = CaptureReader::new(Drip(&capture, false), "made-up").unwrap();
            let (frames, error) = drain(&mut dripping);
            assert!(error.is_none());
            assert_eq!(frames, read_whole(&capture));
        }
    }

    #[test]
    fn a_capture_cut_anywhere_gives_its_whole_frames_and_says_where_it_is_cut() {
        for (capture, ends) in sound_captures() {
            let whole = read_whole(&capture);
            for cut in 1..capture.len() {
                let (frames, error) = read(&capture[..cut]);
                assert_eq!(frames, whole[..frames.len()], "cut at {cut}");
                if ends.contains(&cut) {
                    assert!(error.is_none(), "cut at {cut}: {error:?}");
                    continue;
                }
                let start = ends.iter().rev().find(|end| **end < cut).copied().unwrap_or(0) as u64;
                match error {
                    Some(CaptureError::Truncated { offset, .. }) => assert_eq!(offset, start, "cut at {cut}"),
                    other => panic!("cut at {cut}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_capture_much_longer_than_the_buffer_is_read_to_its_end() {
        let mut capture = LITTLE.pcap(NANOSECONDS, 1);
        for number in 0..50_000_u32 {
            capture.extend(LITTLE.record(number, number, &number.to_le_bytes(), 64 + number % 1_437));
        }
        let frames = read_whole(&capture);
        assert_eq!(frames.len(), 50_000);
        for (number, frame) in (0_u32..).zip(frames) {
            assert_eq!(frame.0, u64::from(number) * 1_000_000_001);
            assert_eq!(frame.1, number.to_le_bytes());
            assert_eq!(frame.2, 64 + number % 1_437);
        }
    }

    #[test]
    fn a_failing_read_is_reported_with_its_offset() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is on fire"))
            }
        }
        let capture = small_pcap(LITTLE, NANOSECONDS);
        let mut reader = CaptureReader::new(capture.chain(Failing), "made-up").unwrap();
        let (frames, error) = drain(&mut reader);
        assert_eq!(frames.len(), 2);
        let told = "made-up: cannot be read past byte 59: the disk is on fire";
        assert_eq!(error.unwrap().to_string(), told);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = CaptureFile::open("/nowhere/a.pcap").err().unwrap();
        assert!(error.to_string().starts_with("/nowhere/a.pcap: cannot be opened: "));
    }

    fn check_frames(capture: &[u8]) {
        let (frames, _) = read(capture);
        assert!(frames.iter().all(|(_, data, original)| data.len() <= *original as usize));
        assert!(frames.iter().map(|frame| frame.1.len()).sum::<usize>() <= capture.len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_without_panic(
            kind in 0..7_usize, bytes in prop::collection::vec(any::<u8>(), 0..400)
        ) {
            let start = [
                Vec::new(),
                LITTLE.pcap(NANOSECONDS, 1),
                BIG.pcap(MICROSECONDS, 1),
                LITTLE.section(),
                BIG.section(),
                [LITTLE.section(), LITTLE.interface(1, 0, &[])].concat(),
                [0x0a, 0x0d, 0x0d, 0x0a].to_vec(),
            ];
            check_frames(&[start[kind].clone(), bytes].concat());
        }

        #[test]
        fn a_sound_capture_with_changed_bytes_is_read_or_refused_without_panic(
            kind in 0..4_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
        ) {
            let (mut capture, _) = sound_captures().swap_remove(kind);
            for (place, byte) in changes {
                let place = place.index(capture.len());
                capture[place] = byte;
            }
            check_frames(&capture);
        }
    }
}
