//! Captures of the ports of tapped switches, as pcap files for `longspan replay`.

use replay::capture::{CaptureError, CaptureWriter, Saved};
use simulation::topology::Topology;
use simulation::{NodeId, Tap};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use units::{Bytes, Nanos, PortId};

/// A capture for each direction of each port of the tapped switches.
pub struct Captures {
    writers: BTreeMap<Tap, CaptureWriter>,
    error: Option<CaptureError>,
}

/// The length of each capture in bytes, and its frames.
pub type CaptureState = BTreeMap<Tap, (u64, u64)>;

impl Captures {
    /// Creates `directory/<node>.<port>.in.pcap` and `.out.pcap` for each port of `taps`.
    ///
    /// # Errors
    /// [`CaptureError::Create`].
    pub fn create(directory: &Path, taps: &[NodeId], topology: &Topology) -> Result<Self, CaptureError> {
        let create = |_, path| CaptureWriter::create(path);
        Self::all(directory, taps, topology, create)
    }

    /// Opens the same files as they were in `state`, and goes on there. All after that is removed.
    ///
    /// # Errors
    /// [`CaptureError::Create`], also for a file that is shorter.
    pub fn go_on(
        directory: &Path,
        taps: &[NodeId],
        topology: &Topology,
        state: &CaptureState,
    ) -> Result<Self, CaptureError> {
        let open = |tap, path| {
            let (bytes, frames) = state.get(&tap).copied().unwrap_or_default();
            CaptureWriter::go_on(path, Saved { bytes, frames })
        };
        Self::all(directory, taps, topology, open)
    }

    fn all(
        directory: &Path,
        taps: &[NodeId],
        topology: &Topology,
        open: impl Fn(Tap, PathBuf) -> Result<CaptureWriter, CaptureError>,
    ) -> Result<Self, CaptureError> {
        let mut writers = BTreeMap::new();
        for node in taps.iter().copied() {
            for (number, port) in topology.node(node).ports.iter().enumerate() {
                for (inbound, way) in [(true, "in"), (false, "out")] {
                    let name = format!("{}.{}.{way}.pcap", topology.node(node).name, port.name);
                    let tap = Tap { node, port: PortId(number as u16), inbound };
                    writers.insert(tap, open(tap, directory.join(name))?);
                }
            }
        }
        Ok(Self { writers, error: None })
    }

    /// Adds a frame of `length` bytes that starts with `headers`.
    pub fn add(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        let Some(writer) = self.writers.get_mut(&tap) else { return };
        let length = u32::try_from(length.0).unwrap_or(u32::MAX);
        if let Err(error) = writer.write(at, headers, length) {
            self.error.get_or_insert(error);
        }
    }

    /// Their state, for a checkpoint, once what was captured is on the disk.
    ///
    /// # Errors
    /// [`CaptureError`], also if one has failed before.
    pub fn state(&mut self) -> Result<CaptureState, CaptureError> {
        let save = |(tap, writer): (&Tap, &mut CaptureWriter)| {
            writer.save().map(|Saved { bytes, frames }| (*tap, (bytes, frames)))
        };
        self.writers.iter_mut().map(save).collect()
    }

    /// Whether writing a capture has failed, so that the run may as well end.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Completes the captures.
    ///
    /// # Errors
    /// The first error since they were created.
    pub fn finish(self) -> Result<(), CaptureError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.writers.into_values().try_for_each(|writer| writer.finish().map(drop))
    }
}
