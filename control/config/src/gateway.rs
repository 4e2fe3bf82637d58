//! The gateway that a file describes.

use std::sync::Arc;

use switch::program::Program;
use units::PortId;

use crate::core_load::CoreLoad;
use crate::cores;
use crate::link::Link;
use crate::lscc_sum::LsccSum;
use crate::memory::MemorySum;
use crate::problem::Problem;
use crate::runtime::Runtime;

/// One gateway, ready to run.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Its name: the one in the file, or the file's own name without its ending.
    pub name: String,
    /// Whether the file has a `gateway.seed`. Otherwise the program has the default seed.
    pub seed_stated: bool,
    /// Its switch, with the names of the ports.
    pub program: Arc<Program>,
    /// The link of each port, in the order of ports.
    pub links: Vec<Link>,
    /// Factor for cell occupancy in the headroom formula, 1.08 to 4.
    pub cell_occupancy: f64,
    /// Settings that only a running gateway needs.
    pub runtime: Runtime,
    /// Warnings, to be shown when the gateway starts.
    pub warnings: Vec<Problem>,
}

impl Gateway {
    /// The port called `name`.
    pub fn port(&self, name: &str) -> Option<PortId> {
        let index = self.program.settings().ports.iter().position(|port| port.name == name)?;
        u16::try_from(index).ok().map(PortId)
    }

    /// The names of the ports, in the order of their numbers.
    pub fn port_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.program.settings().ports.iter().map(|port| port.name.as_str())
    }

    /// The memory of its devices; `None` if no port has a device.
    pub fn memory(&self) -> Option<MemorySum> {
        let any = self.runtime.devices.iter().any(Option::is_some);
        any.then(|| MemorySum::new(self.program.settings(), &self.runtime))
    }

    /// The load of each core, in the order of cores; empty if no port has a device.
    pub fn cores(&self) -> Vec<CoreLoad> {
        if self.runtime.devices.iter().all(Option::is_none) {
            return Vec::new();
        }
        cores::loads(self.program.settings(), &self.links, &self.runtime)
    }

    /// The sum of LSCC on each port that has it, with the name of the port.
    pub fn lscc(&self) -> impl Iterator<Item = (&str, LsccSum)> {
        let settings = self.program.settings();
        let ports = settings.ports.iter().zip(&self.links);
        ports.filter_map(|(port, link)| {
            Some((port.name.as_str(), LsccSum::new(port, link, &settings.buffer)?))
        })
    }
}
