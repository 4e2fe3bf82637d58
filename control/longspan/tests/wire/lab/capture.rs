//! What arrives at an interface, kept with the kernel's stamps.

use super::process::Process;
use super::wait::wait_until;
use super::{Lab, Namespace, PYTHON, repository};
use replay::capture::{CaptureReader, FrameSource};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A frame and when it arrived, in nanoseconds of the machine's clock.
pub struct Frame {
    pub at_ns: u64,
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The DSCP, where it is an untagged IPv4 frame.
    pub fn dscp(&self) -> Option<u8> {
        (self.bytes.get(12..14)? == [8, 0]).then(|| self.bytes.get(15).map(|tos| tos >> 2))?
    }
}

/// A capture that is going on.
pub struct Capture {
    process: Process,
    path: PathBuf,
}

impl Capture {
    /// Begins to capture what arrives at `interface`; it has begun when this returns.
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

    /// What arrived until now.
    pub fn so_far(&self) -> Vec<Frame> {
        read_capture(&self.path)
    }

    /// Waits until as many frames as that, of those that `which` chooses, have arrived.
    pub fn wait_for_frames(&mut self, count: usize, which: impl Fn(&Frame) -> bool) {
        wait_until(&format!("{count} frames in a capture"), || {
            self.process.expect_running();
            self.so_far().iter().filter(|frame| which(frame)).count() >= count
        });
    }

    /// Ends the capture. All that had arrived is in it; the lab has failed when it is not.
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

/// The whole frames of a capture, also of one that is being written.
pub fn read_capture(path: &Path) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut reader) = CaptureReader::open(path) else { return frames };
    while let Ok(Some(frame)) = reader.next_frame() {
        assert!(!frame.is_cut(), "the lab captures whole frames");
        frames.push(Frame { at_ns: frame.at.0, bytes: frame.data.to_vec() });
    }
    frames
}

/// A Python script beside this file.
pub fn script(name: &str) -> PathBuf {
    repository("control/longspan/tests/wire/lab").join(name)
}
