//! The gateway that a file describes.

use std::sync::Arc;

use switch::program::Program;
use switch::{ForwardingSettings, LearnedRoute, RouteSettings};
use units::{Bytes, PortId};
use wire::ethernet::HEADER_LEN;
use wire::vlan::TAG_LEN;

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

    /// The longest packet that the device of `port` has to send: its `mtu`, and a shim where it repairs.
    pub fn mtu(&self, port: PortId) -> Bytes {
        let port = self.program.port(port);
        (port.max_frame + port.added_on_link()).saturating_sub(Bytes((HEADER_LEN + TAG_LEN) as u64))
    }

    /// The longest packet that the device of `port` sends, if that is less than the port promises.
    pub fn short_mtu(&self, port: PortId) -> Option<Bytes> {
        let added = self.program.port(port).added_on_link();
        let sent = self.program.port(port).device_mtu.map(|mtu| mtu + added);
        sent.filter(|mtu| *mtu < self.mtu(port))
    }

    /// This gateway, whose devices send packets of these lengths at most, in the order of ports; `None` for any length. What
    /// is longer is dropped by name before it is queued for the port.
    #[must_use]
    pub fn with_device_mtus(&self, mtus: &[Option<Bytes>]) -> Self {
        let mut settings = self.program.settings().clone();
        for (port, mtu) in settings.ports.iter_mut().zip(mtus) {
            // A frame without a tag may be as long as one with a tag.
            let promised = port.max_frame.saturating_sub(Bytes(HEADER_LEN as u64));
            let left = mtu.map(|mtu| mtu.saturating_sub(port.added_on_link()));
            port.device_mtu = left.filter(|mtu| *mtu < promised);
        }
        self.with(settings, self.links.clone())
    }

    /// This gateway with these routes of its kernel; the same if it has no kernel path.
    #[must_use]
    pub fn with_learned(&self, routes: &Arc<[LearnedRoute]>) -> Self {
        let mut settings = self.program.settings().clone();
        let ForwardingSettings::Route(RouteSettings { kernel: Some(kernel), .. }) = &mut settings.forwarding
        else {
            return self.clone();
        };
        kernel.learned = routes.clone();
        self.with(settings, self.links.clone())
    }

    /// This gateway with the routes of the kernel that `other` has.
    #[must_use]
    pub fn with_learned_of(&self, other: &Self) -> Self {
        let path = other.program.settings().forwarding.kernel_path();
        path.map_or_else(|| self.clone(), |path| self.with_learned(&path.learned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_limits_a_port_that_promises_more_and_no_other() {
        let port = |name: &str| format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\nmtu = 9000\n");
        let gateway = crate::parse(&[port("dc0"), port("lh0")].concat(), "gw.toml").unwrap();
        assert_eq!(gateway.mtu(PortId(1)), Bytes(9_000));
        let limits = |mtus: &[Option<Bytes>]| {
            let gateway = gateway.with_device_mtus(mtus);
            let ports = gateway.program.settings().ports.iter().map(|port| port.device_mtu);
            ports.collect::<Vec<_>>()
        };
        assert_eq!(limits(&[Some(Bytes(9_004)), None]), [None, None]);
        let limited = gateway.with_device_mtus(&[Some(Bytes(9_000)), Some(Bytes(1_500))]);
        let short = [0, 1].map(|port| limited.short_mtu(PortId(port)));
        assert_eq!(short, [None, Some(Bytes(1_500))], "a packet of 9,000 bytes leaves the first");
        assert_eq!(
            limits(&[Some(Bytes(9_000)), Some(Bytes(1_500))]),
            [Some(Bytes(9_000)), Some(Bytes(1_500))]
        );
    }
}
