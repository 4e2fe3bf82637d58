//! Frames per second through the capture reader and writer, 64-byte frames in a page-cached file,
//! beside the reader of the `pcap-file` crate.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use replay::capture::{CaptureFile, CaptureSink, CaptureWriter, FrameSource, Merge, Pace, SNAP_LENGTH};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use units::Nanos;

const FRAMES: u64 = 1_000_000;
const FRAME: [u8; 64] = [0x5a; 64];

/// Forgets what is written, so that the disk is not measured.
struct Nowhere;

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CaptureSink for Nowhere {
    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

fn write_frames<W: CaptureSink>(mut writer: CaptureWriter<W>) {
    for number in 0..FRAMES {
        writer.write(Nanos(number * 67), &FRAME, 64).expect("there is room");
    }
    assert_eq!(writer.finish().expect("there is room"), FRAMES);
}

/// The same frames as enhanced packets of one interface with nanoseconds.
fn write_pcapng(path: &Path) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    let mut block = |kind: u32, body: &[&[u8]]| {
        let length = 12 + body.iter().map(|part| part.len() as u32).sum::<u32>();
        file.write_all(&[kind, length].map(u32::to_le_bytes).concat())?;
        file.write_all(&body.concat())?;
        file.write_all(&length.to_le_bytes())
    };
    block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]])?;
    block(1, &[&[1, 0, 0, 0], &SNAP_LENGTH.to_le_bytes(), &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]])?;
    for number in 0..FRAMES as u32 {
        block(6, &[&[0, 0, number * 67, 64, 64].map(u32::to_le_bytes).concat(), &FRAME])?;
    }
    file.flush()
}

fn read_frames(path: &Path) -> u64 {
    let mut capture = CaptureFile::open(path).expect("it was just written");
    let mut frames = 0;
    while let Some(frame) = capture.next_frame().expect("it is sound") {
        black_box((frame.at, frame.data[0]));
        frames += 1;
    }
    frames
}

fn read_with_pcap_file(path: &Path) -> u64 {
    let file = File::open(path).expect("it was just written");
    let mut capture = pcap_file::pcap::PcapReader::new(file).expect("it was just written");
    let mut frames = 0;
    while let Some(frame) = capture.next_packet() {
        let frame = frame.expect("it is sound");
        black_box((frame.timestamp, frame.data[0]));
        frames += 1;
    }
    frames
}

fn read_pcapng_with_pcap_file(path: &Path) -> u64 {
    let file = File::open(path).expect("it was just written");
    let mut capture = pcap_file::pcapng::PcapNgReader::new(file).expect("it was just written");
    let mut frames = 0;
    while let Some(block) = capture.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(frame) = block.expect("it is sound") {
            black_box((frame.timestamp, frame.data[0]));
            frames += 1;
        }
    }
    frames
}

fn merge_frames(path: &Path) -> u64 {
    let sources = [path, path].map(|path| (CaptureFile::open(path).expect("it is there"), Pace::AsCaptured));
    let mut merge = Merge::new(sources).expect("it is sound");
    let mut frames = 0;
    while let Some(next) = merge.next_frame().expect("it is sound") {
        black_box((next.now, next.frame.data[0]));
        frames += 1;
    }
    frames
}

fn captures(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (pcap, pcapng) = (directory.path().join("a.pcap"), directory.path().join("a.pcapng"));
    write_frames(CaptureWriter::create(&pcap).expect("a new file"));
    write_pcapng(&pcapng).expect("a new file");

    let mut group = criterion.benchmark_group("capture");
    group.sample_size(20).throughput(Throughput::Elements(FRAMES));
    group.bench_function("read pcap", |b| b.iter(|| assert_eq!(read_frames(&pcap), FRAMES)));
    group.bench_function("read pcapng", |b| b.iter(|| assert_eq!(read_frames(&pcapng), FRAMES)));
    group.bench_function("read pcap with pcap-file", |b| {
        b.iter(|| assert_eq!(read_with_pcap_file(&pcap), FRAMES));
    });
    group.bench_function("read pcapng with pcap-file", |b| {
        b.iter(|| assert_eq!(read_pcapng_with_pcap_file(&pcapng), FRAMES));
    });
    group.bench_function("write pcap", |b| b.iter(|| write_frames(CaptureWriter::new(Nowhere, "nowhere"))));
    group.throughput(Throughput::Elements(2 * FRAMES));
    group.bench_function("merge two pcap", |b| b.iter(|| assert_eq!(merge_frames(&pcap), 2 * FRAMES)));
}

criterion_group!(benches, captures);
criterion_main!(benches);
