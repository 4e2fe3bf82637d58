//! Comparisons with Wireshark's tools (Debian's package tshark) on the same captures.

use super::testing::*;
use super::{CaptureFile, CaptureInterface, CaptureWriter, PcapngWriter};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use units::Nanos;

/// The standard output of a tool.
fn run(tool: &str, arguments: &[&str], files: &[&Path]) -> String {
    let output = Command::new(tool).args(arguments).args(files).output();
    let output = output.unwrap_or_else(|error| panic!("{tool} cannot be run (package tshark): {error}"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Instant, captured length and original length of each frame, according to tshark.
fn dissected(path: &Path) -> Vec<(u64, usize, u32)> {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len", "-e", "frame.len", "-r"];
    let table = run("tshark", &fields, &[path]);
    let row = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        let (seconds, nanos) = cells[0].split_once('.').unwrap();
        assert_eq!(nanos.len(), 9);
        let at = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        (at, cells[1].parse().unwrap(), cells[2].parse().unwrap())
    };
    table.lines().map(row).collect()
}

fn ours(path: &Path) -> Vec<Kept> {
    let (frames, error) = drain(&mut CaptureFile::open(path).unwrap());
    assert!(error.is_none(), "{error:?}");
    frames
}

fn summary(frames: &[Kept]) -> Vec<(u64, usize, u32)> {
    frames.iter().map(|(at, data, original)| (*at, data.len(), *original)).collect()
}

fn saved(directory: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Two sections of different byte order, interfaces of many resolutions, some with an offset.
fn many_interfaces() -> Vec<u8> {
    let mut capture = Vec::new();
    // The fraction of a picosecond timestamp is small, because tshark multiplies it in 64 bits.
    for order in [LITTLE, BIG] {
        let offset = order.i64(1_000_000_000);
        let resolutions: [&[(u16, &[u8])]; 8] = [
            &[],
            &[(9, &[9])],
            &[(9, &[3]), (14, &offset)],
            &[(9, &[0])],
            &[(9, &[12])],
            &[(9, &[0x80 | 32])],
            &[(9, &[0x80 | 20]), (14, &offset)],
            &[(2, b"eth7"), (9, &[0x80 | 10]), (0, &[])],
        ];
        capture.extend(order.section());
        for options in resolutions {
            capture.extend(order.interface(1, 0, options));
        }
        let units =
            [10, 1_700_000_000_123_456_789, 1_234_567, 1_700_000_000, 99_000_000_012_345, 7 << 32 | 12_345]
                .into_iter()
                .chain([(3 << 20) | 777, (5 << 10) | 33]);
        for (interface, timestamp) in (0_u32..).zip(units) {
            let data = vec![interface as u8; 14 + interface as usize];
            capture.extend(order.enhanced(interface, timestamp, &data, 14 + interface * 100));
        }
    }
    capture
}

#[test]
fn tshark_sees_the_same_instants_and_lengths_in_a_capture_of_many_resolutions() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory, "many.pcapng", &many_interfaces());
    let dissected = dissected(&path);
    assert_eq!(dissected.len(), 16);
    assert_eq!(summary(&ours(&path)), dissected);
}

#[test]
fn tshark_reads_what_we_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ours.pcap");
    let mut writer = CaptureWriter::create(&path).unwrap();
    for number in 0..300_u32 {
        let at = Nanos(1_700_000_000_000_000_001 + u64::from(number) * 333);
        writer.write(at, &vec![1; number as usize], number + 5).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 300);
    assert_eq!(summary(&ours(&path)), dissected(&path));
}

#[test]
fn tshark_and_we_read_the_frames_interfaces_directions_and_losses_of_a_pcapng_that_we_write() {
    let interface = |name: &str, outbound| CaptureInterface {
        name: name.into(),
        description: format!("port {name}"),
        outbound,
    };
    let interfaces = [interface("lh0 received", false), interface("lh0 sent", true)];
    let mut writer = PcapngWriter::new(Vec::new(), "Longspan", &interfaces, 100).unwrap();
    let at = |number: u32| Nanos(1_700_000_000_000_000_001 + u64::from(number) * 333);
    for number in 0..100_u32 {
        writer.write(number as usize % 2, at(number), &vec![1; number as usize], number + 5).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory, "ours.pcapng", &writer.finish(at(100), Some(&[0, 7])).unwrap());
    assert_eq!(ours(&path).len(), 100);
    assert_eq!(summary(&ours(&path)), dissected(&path));
    let fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.packet_flags_direction", "-r"];
    let table = run("tshark", &fields, &[&path]);
    let rows: Vec<_> = table.lines().take(2).collect();
    assert_eq!(rows, ["lh0 received\t0x00000001", "lh0 sent\t0x00000002"]);
    // The blocks of the file, rather than its frames.
    let blocks = ["-X", "read_format:MIME Files Format", "-T", "fields"];
    let statistics =
        ["received", "dropped"].map(|name| format!("pcapng.options.option.data.interface.{name}"));
    let fields = statistics.iter().flat_map(|name| ["-e", name]);
    let table = run("tshark", &blocks.into_iter().chain(fields).chain(["-r"]).collect::<Vec<_>>(), &[&path]);
    assert_eq!(table.trim_end(), "50,57\t0,7", "frames received and lost by interface");
}

#[test]
fn a_capture_that_editcap_converted_has_the_same_frames_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let records: Vec<_> =
        (0..50_u32).map(|n| LITTLE.record(9, n * 1_000, &vec![n as u8; 20 + n as usize], 90)).collect();
    let bytes = [LITTLE.pcap(NANOSECONDS, 1), records.concat()].concat();
    let original = saved(&directory, "original.pcap", &bytes);
    for format in ["pcap", "nsecpcap", "pcapng"] {
        let converted = directory.path().join(format);
        run("editcap", &["-F", format], &[&original, &converted]);
        assert_eq!(ours(&converted), ours(&original), "{format}");
    }
    let cut = directory.path().join("cut");
    run("editcap", &["-F", "pcapng", "-s", "30"], &[&original, &cut]);
    let shortened = ours(&original).into_iter().map(|(at, mut data, original)| {
        data.truncate(30);
        (at, data, original)
    });
    let expected: Vec<_> = shortened.collect();
    assert_eq!(ours(&cut), expected);
}

#[test]
fn a_capture_that_mergecap_merged_is_the_one_that_we_merge() {
    use super::{Merge, Pace};
    let directory = tempfile::tempdir().unwrap();
    // The steps make all instants distinct, as mergecap promises no order for equal ones.
    let capture = |name: &str, step: u32| {
        let records: Vec<_> =
            (0..40_u32).map(|n| LITTLE.record(1, n * step + step + step % 100, &[n as u8; 14], 64)).collect();
        saved(&directory, name, &[LITTLE.pcap(NANOSECONDS, 1), records.concat()].concat())
    };
    let (left, right) = (capture("left.pcap", 700), capture("right.pcap", 1_101));
    let merged = directory.path().join("merged.pcapng");
    run("mergecap", &["-w"], &[&merged, &left, &right]);
    let sources = [&left, &right].map(|path| (CaptureFile::open(path).unwrap(), Pace::AsCaptured));
    let mut merge = Merge::new(sources).unwrap();
    let mut frames = Vec::new();
    while let Some(next) = merge.next_frame().unwrap() {
        frames.push((next.now.0, next.frame.data.to_vec(), next.frame.original_length));
    }
    assert_eq!(frames, ours(&merged));
}
