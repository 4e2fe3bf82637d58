//! Captures of the ports of tapped switches, as pcap files for `longspan replay`.

use replay::capture::{CaptureError, CaptureWriter};
use simulation::topology::Topology;
use simulation::{NodeId, Tap};
use std::collections::BTreeMap;
use std::path::Path;
use units::{Bytes, Nanos, PortId};

/// A capture for each direction of each port of the tapped switches.
pub struct Captures {
    writers: BTreeMap<Tap, CaptureWriter>,
    error: Option<CaptureError>,
}

impl Captures {
    /// Creates `directory/<node>.<port>.in.pcap` and `.out.pcap` for each port of `taps`.
    ///
    /// # Errors
    /// [`CaptureError::Create`].
    pub fn create(directory: &Path, taps: &[NodeId], topology: &Topology) -> Result<Self, CaptureError> {
        let mut writers = BTreeMap::new();
        for node in taps.iter().copied() {
            for (number, port) in topology.node(node).ports.iter().enumerate() {
                for (inbound, way) in [(true, "in"), (false, "out")] {
                    let name = format!("{}.{}.{way}.pcap", topology.node(node).name, port.name);
                    let tap = Tap { node, port: PortId(number as u16), inbound };
                    writers.insert(tap, CaptureWriter::create(directory.join(name))?);
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
