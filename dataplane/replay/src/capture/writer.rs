//! Writing captures.

use super::{CaptureError, SNAP_LENGTH};
use pcap_file::pcap::{PcapHeader, RawPcapPacket};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use units::Nanos;

type LittleEndian = byteorder::LittleEndian;

const RECORD_HEADER: usize = 16;
/// Bytes collected before a write: few enough to stay in the second-level cache until the kernel copies them.
const BATCH: usize = 1 << 17;

/// A destination of a capture.
pub trait CaptureSink: Write {
    /// Truncates the output to its first `length` bytes.
    ///
    /// # Errors
    /// Where that cannot be done, as on a pipe.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl CaptureSink for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

impl CaptureSink for Vec<u8> {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// Writes pcap with nanoseconds, little endian, Ethernet and [`SNAP_LENGTH`]. The output depends only on the
/// frames.
///
/// Frames are written in large batches, so an error may show some frames late. After an error the file is
/// truncated to its last whole record, if possible. Call [`CaptureWriter::finish`]: a dropped writer still
/// writes its batch, but can only report errors on standard error.
#[must_use = "what is not finished may not be written"]
pub struct CaptureWriter<W: CaptureSink = File> {
    sink: W,
    path: PathBuf,
    /// Whole records not yet written, preceded by the file header until the first write.
    batch: Vec<u8>,
    /// The length of the file header at the start of `batch`.
    header: usize,
    /// Bytes in the sink.
    written: u64,
    frames: u64,
    frames_in_batch: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Failed,
    Finished,
}

impl CaptureWriter {
    /// Creates the capture at `path`, or empties it.
    ///
    /// # Errors
    /// [`CaptureError::Create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        match File::create(path) {
            Ok(file) => Ok(Self::new(file, path)),
            Err(source) => Err(CaptureError::Create { path: path.into(), source }),
        }
    }

    /// Opens a capture whose writer had [saved](CaptureWriter::save) this much of it, and goes on there. All after that is
    /// removed.
    ///
    /// # Errors
    /// [`CaptureError::Create`], also for a file that is shorter.
    pub fn go_on(path: impl AsRef<Path>, saved: Saved) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let open = || {
            let mut file = File::options().write(true).open(path)?;
            if file.metadata()?.len() < saved.bytes {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            file.cut(saved.bytes)?;
            Ok(file)
        };
        let file = open().map_err(|source| CaptureError::Create { path: path.into(), source })?;
        let mut writer = Self::new(file, path);
        writer.batch.clear();
        (writer.header, writer.written, writer.frames) = (0, saved.bytes, saved.frames);
        Ok(writer)
    }

    /// Writes the batch, and waits until all of the file is on the disk.
    ///
    /// # Errors
    /// Those of [`CaptureWriter::flush`].
    pub fn save(&mut self) -> Result<Saved, CaptureError> {
        self.flush()?;
        match self.sink.sync_data() {
            Ok(()) => Ok(Saved { bytes: self.written, frames: self.frames }),
            Err(source) => Err(self.fail(0, source)),
        }
    }
}

/// How much of a capture is on the disk: whole records, and the header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The length of the file.
    pub bytes: u64,
    /// Its frames.
    pub frames: u64,
}

impl<W: CaptureSink> CaptureWriter<W> {
    /// Starts a capture in `sink`, which is empty. Errors use `name` as the path.
    pub fn new(sink: W, name: impl Into<PathBuf>) -> Self {
        let header = PcapHeader {
            version_major: 2,
            version_minor: 4,
            ts_correction: 0,
            ts_accuracy: 0,
            snaplen: SNAP_LENGTH,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
        };
        let mut batch = Vec::with_capacity(BATCH.max(RECORD_HEADER + SNAP_LENGTH as usize));
        // Writing to a vector cannot fail.
        let _ = header.write_to(&mut batch);
        let header = batch.len();
        let (frames, frames_in_batch, written) = (0, 0, 0);
        Self { sink, path: name.into(), batch, header, written, frames, frames_in_batch, state: State::Open }
    }

    /// Frames accepted so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Writes a frame that was on the link at `at` with `original_length` bytes, starting with `data`. An
    /// original length below that of `data` is raised.
    ///
    /// # Errors
    /// [`CaptureError::FrameTooLong`] and [`CaptureError::TimeTooLate`], after which the next
    /// frame is welcome; [`CaptureError::Write`], and [`CaptureError::Closed`] from then on.
    #[inline]
    pub fn write(&mut self, at: Nanos, data: &[u8], original_length: u32) -> Result<(), CaptureError> {
        if data.len() > SNAP_LENGTH as usize {
            return Err(CaptureError::FrameTooLong { path: self.path.clone(), length: data.len() });
        }
        let Ok(ts_sec) = u32::try_from(at.0 / 1_000_000_000) else {
            return Err(CaptureError::TimeTooLate { path: self.path.clone(), at });
        };
        if self.batch.len() + RECORD_HEADER + data.len() > BATCH || self.state != State::Open {
            self.flush()?;
        }
        let incl_len = data.len() as u32;
        let record = RawPcapPacket {
            ts_sec,
            ts_frac: (at.0 % 1_000_000_000) as u32,
            incl_len,
            orig_len: original_length.max(incl_len),
            data: Cow::Borrowed(data),
        };
        // Writing to a vector cannot fail, and its capacity suffices.
        let _: Result<usize, PcapError> = record.write_to::<_, LittleEndian>(&mut self.batch);
        self.frames += 1;
        self.frames_in_batch += 1;
        Ok(())
    }

    /// Writes the batch.
    ///
    /// # Errors
    /// [`CaptureError::Write`], [`CaptureError::Closed`] after an earlier failure.
    #[cold]
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        if self.state == State::Failed {
            return Err(CaptureError::Closed { path: self.path.clone() });
        }
        let mut done = 0;
        let outcome = write_all(&mut self.sink, &self.batch, &mut done).and_then(|()| self.sink.flush());
        match outcome {
            Ok(()) => {
                self.written += self.batch.len() as u64;
                self.batch.clear();
                self.frames_in_batch = 0;
                self.header = 0;
                Ok(())
            }
            Err(source) => Err(self.fail(done, source)),
        }
    }

    /// Writes the batch and returns the number of frames in the capture.
    ///
    /// # Errors
    /// Those of [`CaptureWriter::flush`].
    pub fn finish(mut self) -> Result<u64, CaptureError> {
        self.flush()?;
        self.state = State::Finished;
        Ok(self.frames)
    }

    /// Truncates the file to its last whole record, after the first `done` bytes of the batch were written.
    fn fail(&mut self, done: usize, source: io::Error) -> CaptureError {
        self.state = State::Failed;
        let (kept, frames) = whole_records(&self.batch[..done], self.header);
        // The original error is reported.
        let _ = self.sink.cut(self.written + kept as u64);
        let frames = self.frames - self.frames_in_batch + frames;
        CaptureError::Write { path: self.path.clone(), frames, source }
    }
}

/// [`Write::write_all`] that counts the written bytes in `done`.
fn write_all(sink: &mut impl Write, batch: &[u8], done: &mut usize) -> io::Result<()> {
    while *done < batch.len() {
        match sink.write(&batch[*done..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => *done += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The bytes of `batch` up to the end of its last whole record, and the number of records. An incomplete
/// `header` is not kept either.
fn whole_records(batch: &[u8], header: usize) -> (usize, u64) {
    if batch.len() < header {
        return (0, 0);
    }
    let (mut end, mut records) = (header, 0);
    while let Some(length) = batch.get(end + 8..).and_then(<[u8]>::first_chunk) {
        let next = end + RECORD_HEADER + u32::from_le_bytes(*length) as usize;
        if next > batch.len() {
            break;
        }
        (end, records) = (next, records + 1);
    }
    (end, records)
}

impl<W: CaptureSink> Drop for CaptureWriter<W> {
    fn drop(&mut self) {
        if self.state == State::Open
            && let Err(error) = self.flush()
        {
            eprintln!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{any_frames, read_whole};
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A shared disk of limited size.
    #[derive(Clone)]
    struct Disk {
        room: usize,
        held: Rc<RefCell<Vec<u8>>>,
    }

    impl Disk {
        fn with_room(room: usize) -> Self {
            Self { room, held: Rc::default() }
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut held = self.held.borrow_mut();
            let taken = bytes.len().min(self.room - held.len()).min(1_000);
            held.extend(&bytes[..taken]);
            if taken == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl CaptureSink for Disk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.held.borrow_mut().truncate(length as usize);
            Ok(())
        }
    }

    #[test]
    fn the_header_says_nanoseconds_little_endian_and_ethernet() {
        let disk = Disk::with_room(1_000);
        assert_eq!(CaptureWriter::new(disk.clone(), "disk").finish().unwrap(), 0);
        let header = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        assert_eq!(*disk.held.borrow(), header);
    }

    #[test]
    fn a_full_disk_is_reported_with_its_path_and_leaves_whole_records() {
        const RECORD: usize = 116;
        for room in [0, 1, 23, 24, 25, 24 + RECORD - 1, 24 + RECORD, 24 + 7 * RECORD + 50, 1_500_000] {
            let disk = Disk::with_room(room);
            let mut writer = CaptureWriter::new(disk.clone(), "disk");
            let mut outcome = Ok(());
            for number in 0..20_000 {
                outcome = writer.write(Nanos(number), &[7; 100], 100);
                if outcome.is_err() {
                    break;
                }
            }
            let error = outcome.and_then(|()| writer.flush()).unwrap_err();
            let whole = room.saturating_sub(24) / RECORD;
            assert_eq!(
                error.to_string(),
                format!("disk: cannot be written after {whole} frames: no storage space")
            );
            assert!(matches!(writer.write(Nanos(0), &[], 0), Err(CaptureError::Closed { .. })));
            drop(writer);
            let held = disk.held.borrow();
            assert_eq!(held.len(), if room < 24 { 0 } else { 24 + whole * RECORD });
            if room >= 24 {
                assert_eq!(read_whole(&held).len(), whole);
            }
        }
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "needs Linux's /dev/full")]
    fn a_file_on_a_full_device_reports_what_the_system_says() {
        let error = CaptureWriter::create(Path::new("/dev/full")).unwrap().finish().unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: cannot be written after 0 frames: No space"));
    }

    #[test]
    fn a_writer_that_is_dropped_has_written_what_it_took() {
        let disk = Disk::with_room(1_000);
        let mut writer = CaptureWriter::new(disk.clone(), "disk");
        writer.write(Nanos(5), &[1, 2], 9).unwrap();
        drop(writer);
        assert_eq!(read_whole(&disk.held.borrow()), [(5, vec![1, 2], 9)]);
    }

    #[test]
    fn what_pcap_cannot_hold_is_refused_and_the_next_frame_is_welcome() {
        let disk = Disk::with_room(1_000_000);
        let mut writer = CaptureWriter::new(disk.clone(), "disk");
        let too_late = writer.write(Nanos(4_294_967_296_000_000_000), &[], 0);
        assert!(matches!(too_late, Err(CaptureError::TimeTooLate { .. })));
        let too_long = writer.write(Nanos(0), &[0; 262_145], 262_145);
        assert!(matches!(too_long, Err(CaptureError::FrameTooLong { length: 262_145, .. })));
        writer.write(Nanos(0), &[0; 262_144], 262_144).unwrap();
        assert_eq!(writer.finish().unwrap(), 1);
        assert_eq!(read_whole(&disk.held.borrow())[0].1.len(), 262_144);
    }

    #[test]
    fn a_file_is_emptied_before_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pcap");
        std::fs::write(&path, [0; 5_000]).unwrap();
        let mut writer = CaptureWriter::create(&path).unwrap();
        writer.write(Nanos(1), &[3], 1).unwrap();
        writer.finish().unwrap();
        assert_eq!(read_whole(&std::fs::read(&path).unwrap()), [(1, vec![3], 1)]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_the_same_frames_give_the_same_bytes(frames in any_frames()) {
            let written = [(), ()].map(|()| {
                let disk = Disk::with_room(usize::MAX);
                let mut writer = CaptureWriter::new(disk.clone(), "disk");
                for (at, data, original) in &frames {
                    writer.write(Nanos(*at), data, *original).unwrap();
                }
                writer.finish().unwrap();
                disk.held.take()
            });
            prop_assert_eq!(&written[0], &written[1]);
            prop_assert_eq!(read_whole(&written[0]), frames);
        }
    }
}
