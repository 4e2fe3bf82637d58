//! Shared parts of the replay tests: the binary, generated captures, and tshark.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, UdpHeader};
use replay::capture::{CaptureReader, FrameSource};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const DC0: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const HOST: [u8; 6] = [2, 0, 0, 0, 0x10, 2];

/// An owned frame: instant in nanoseconds, bytes, original length.
pub type Kept = (u64, Vec<u8>, u32);

/// A path in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn soft_roce() -> PathBuf {
    repository("tests/data/captures/rxe-cm-multiqp.pcap")
}

pub fn longspan() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    command.stdin(Stdio::null());
    command
}

/// The outcome of a run of the binary.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    ended(longspan().args(arguments))
}

/// The outcome of a completed command.
pub fn ended(command: &mut Command) -> Run {
    let output: Output = command.stdin(Stdio::null()).output().unwrap();
    Run {
        status: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `replay` with these arguments. It must succeed, and may warn only about the key of the examples, which is
/// public or missing.
pub fn replayed(arguments: &[&str]) -> Run {
    let run = run([&["replay"], arguments].concat());
    let warned: Vec<_> = run.stderr.lines().filter(|line| !line.contains(": port.lscc.key")).collect();
    assert_eq!((run.status, warned), (0, Vec::new()), "{arguments:?}");
    run
}

/// Runs `replay` with these arguments. It must fail with one line.
pub fn refused(status: i32, arguments: &[&str]) -> String {
    complaint(status, &run([&["replay"], arguments].concat()))
}

/// The only line of a failed run.
pub fn complaint(status: i32, run: &Run) -> String {
    assert_eq!(run.status, status, "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    // A place in a file stands first.
    run.stderr.strip_prefix("longspan: ").unwrap_or(&run.stderr).trim_end().to_owned()
}

/// A directory for one test.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// Two ports patched to each other. Priority 3 is lossless at `dc0`, and `lh0` is slow.
pub const SLOW_HAUL: &str = r#"
[[port]]
name = "dc0"
rate = "100G"
distance = "100m"
[[port.lossless]]
priorities = [3]
reserved = "2kB"
xoff = "24kB"
xon = "16kB"
headroom = "8MiB"

[[port]]
name = "lh0"
rate = "100M"
[[port.queue]]
priorities = [3]
ecn = { kmin = "8kB", kmax = "64kB", pmax = 0.2 }
"#;

/// An IPv4 and UDP frame of `length` bytes in total.
pub fn udp_frame(length: usize, dscp: u8) -> Vec<u8> {
    let payload = vec![0; length - 42];
    let udp = UdpHeader::without_ipv4_checksum(0xc001, 0x1234, payload.len()).unwrap();
    let mut ip = Ipv4Header::new(udp.length, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 1, 0, 1]).unwrap();
    (ip.dscp, ip.ecn) = (IpDscp::try_new(dscp).unwrap(), IpEcn::Ect0);
    (ip.identification, ip.dont_fragment) = (1, false);
    ip.header_checksum = ip.calc_header_checksum();
    [&DC0[..], &HOST, &[0x08, 0x00], &ip.to_bytes(), &udp.to_bytes(), &payload].concat()
}

/// A PFC frame that pauses priority 3 for `quanta`.
pub fn pfc_frame(quanta: u16) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 1];
    frame.extend(HOST);
    frame.extend([0x88, 0x08, 0x01, 0x01, 0, 0x08, 0, 0, 0, 0, 0, 0]);
    frame.extend(quanta.to_be_bytes());
    frame.resize(60, 0);
    frame
}

pub fn pcap_header(link_type: u32) -> Vec<u8> {
    let mut header = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    header.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    header.extend([262_144, link_type].map(u32::to_le_bytes).concat());
    header
}

pub fn pcap_record((at, data, original): &Kept) -> Vec<u8> {
    let fields = [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, data.len() as u32, *original];
    [fields.map(u32::to_le_bytes).concat(), data.clone()].concat()
}

pub fn pcap(frames: &[Kept]) -> Vec<u8> {
    let records: Vec<_> = frames.iter().map(pcap_record).collect();
    [pcap_header(1), records.concat()].concat()
}

/// The same frames as pcapng, with nanoseconds.
pub fn pcapng(frames: &[Kept]) -> Vec<u8> {
    let block = |kind: u32, body: Vec<u8>| {
        let padded = body.len().next_multiple_of(4);
        let length = (padded as u32 + 12).to_le_bytes();
        let mut block = [kind.to_le_bytes(), length].concat();
        block.extend(body);
        block.resize(8 + padded, 0);
        block.extend(length);
        block
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let interface = [&[1, 0, 0, 0][..], &[0, 0, 4, 0], &[9, 0, 1, 0, 9, 0, 0, 0], &[0; 4]].concat();
    let mut capture = [block(0x0a0d_0d0a, section), block(1, interface)].concat();
    for (at, data, original) in frames {
        let fields = [0, (at >> 32) as u32, *at as u32, data.len() as u32, *original];
        capture.extend(block(6, [fields.map(u32::to_le_bytes).concat(), data.clone()].concat()));
    }
    capture
}

/// `count` frames of `length` bytes, `gap` nanoseconds apart.
pub fn stream(count: u64, length: usize, gap: u64) -> Vec<Kept> {
    let frame = udp_frame(length, 26);
    (0..count).map(|number| (1_000_000_000 + number * gap, frame.clone(), length as u32)).collect()
}

/// All frames of a valid capture.
pub fn frames_of(path: impl AsRef<Path>) -> Vec<Kept> {
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = CaptureReader::new(file, path.as_ref()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push((frame.at.0, frame.data.to_vec(), frame.original_length));
    }
    frames
}

/// The output of `tshark -T fields` for a capture, one line per frame.
pub fn tshark(capture: impl AsRef<Path>, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture.as_ref()).args(["-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark can be run (package tshark)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The report of `--json`.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}
