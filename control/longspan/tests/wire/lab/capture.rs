//! Captures of arriving frames with the kernel's timestamps.

use super::process::Process;
use super::wait::wait_until;
use super::{Lab, Namespace, PYTHON, repository};
use replay::capture::{CaptureReader, FrameSource};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A frame and its arrival, in nanoseconds of the machine's clock.
pub struct Frame {
    pub at_ns: u64,
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The DSCP, if it is an untagged IPv4 frame.
    pub fn dscp(&self) -> Option<u8> {
        (self.bytes.get(12..14)? == [8, 0]).then(|| self.bytes.get(15).map(|tos| tos >> 2))?
    }
}

/// A running capture.
pub struct Capture {
    process: Process,
    path: PathBuf,
}

impl Capture {
    /// Starts to capture frames that arrive at `interface`. The capture runs when this returns.
    pub fn start(lab: &Lab, namespace: &Namespace, interface: &str) -> Self {
        let name = format!("capture-{}-{interface}", namespace.name());
        let path = lab.path(&format!("{name}.pcap"));
        let mut command = namespace.command(PYTHON);
        command.arg(script("capture.py")).arg(interface).arg(&path);
        let mut process = Process::start(&name, command, lab.directory());
        process.wait_for_output("capturing");
        Self { process, path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The frames that have arrived so far.
    pub fn so_far(&self) -> Vec<Frame> {
        read_capture(&self.path)
    }

    /// Waits until this number of frames that match `which` have arrived.
    pub fn wait_for_frames(&mut self, count: usize, which: impl Fn(&Frame) -> bool) {
        wait_until(&format!("{count} frames in a capture"), || {
            self.process.expect_running();
            self.so_far().iter().filter(|frame| which(frame)).count() >= count
        });
    }

    /// Ends the capture, which must contain all arrived frames; otherwise the lab has failed.
    pub fn end(self) -> Vec<Frame> {
        let ended = self.process.end();
        let last = ended.stdout.lines().last().expect("a capture ends with a line of JSON");
        let told: Value = serde_json::from_str(last).unwrap();
        let frames = read_capture(&self.path);
        assert_eq!(
            (&told["overflow"], &told["frames"]),
            (&0.into(), &frames.len().into()),
            "the capture is whole"
        );
        frames
    }
}

/// The complete frames of a capture, which may still be running.
pub fn read_capture(path: &Path) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut reader) = CaptureReader::open(path) else { return frames };
    while let Ok(Some(frame)) = reader.next_frame() {
        assert!(!frame.is_cut(), "the lab captures whole frames");
        frames.push(Frame { at_ns: frame.at.0, bytes: frame.data.to_vec() });
    }
    frames
}

/// A Python script in this directory.
pub fn script(name: &str) -> PathBuf {
    repository("control/longspan/tests/wire/lab").join(name)
}
