//! What a file yields.

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
    /// Its name: what the file says, or the file's own name without its ending.
    pub name: String,
    /// Whether the file has a `gateway.seed`, or the program has the default one.
    pub seed_stated: bool,
    /// Its switch. The names of the ports are in it.
    pub program: Arc<Program>,
    /// What is known of each port's link that the switch need not know, in the order of ports.
    pub links: Vec<Link>,
    /// Buffer that a byte is taken to occupy when headroom is computed, 1 to 4.
    pub cell_occupancy: f64,
    /// What only a running gateway needs.
    pub runtime: Runtime,
    /// What holds, and may surprise: to be shown to whoever starts the gateway.
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

    /// The memory of its devices; `None` where no port has one.
    pub fn memory(&self) -> Option<MemorySum> {
        let any = self.runtime.devices.iter().any(Option::is_some);
        any.then(|| MemorySum::new(self.program.settings(), &self.runtime))
    }

    /// What the ports of each core bring, in the order of cores; nothing where no port has a device.
    pub fn cores(&self) -> Vec<CoreLoad> {
        if self.runtime.devices.iter().all(Option::is_none) {
            return Vec::new();
        }
        cores::loads(self.program.settings(), &self.runtime)
    }

    /// What LSCC amounts to on each port that has it, with the port's name.
    pub fn lscc(&self) -> impl Iterator<Item = (&str, LsccSum)> {
        let settings = self.program.settings();
        let ports = settings.ports.iter().zip(&self.links);
        ports.filter_map(|(port, link)| {
            Some((port.name.as_str(), LsccSum::new(port, link, &settings.buffer)?))
        })
    }
}
