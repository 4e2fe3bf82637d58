//! Ports whose devices send shorter packets than the file promises.

use units::{Bytes, PortId};
use wire::ethernet::HEADER_LEN;
use wire::vlan::TAG_LEN;

use crate::gateway::Gateway;

impl Gateway {
    /// The longest packet that `port` promises to pass: its `mtu`.
    pub fn mtu(&self, port: PortId) -> Bytes {
        self.program.port(port).max_frame.saturating_sub(Bytes((HEADER_LEN + TAG_LEN) as u64))
    }

    /// The longest packet that the device of `port` sends, if that is less than the port promises.
    pub fn short_mtu(&self, port: PortId) -> Option<Bytes> {
        self.program.port(port).device_mtu.filter(|mtu| *mtu < self.mtu(port))
    }

    /// This gateway, whose devices send packets of these lengths at most, in the order of ports; `None` for any length. What
    /// is longer is dropped by name before it is queued for the port.
    #[must_use]
    pub fn with_device_mtus(&self, mtus: &[Option<Bytes>]) -> Self {
        let mut settings = self.program.settings().clone();
        for (port, mtu) in settings.ports.iter_mut().zip(mtus) {
            // A frame without a tag may be as long as one with a tag.
            let promised = port.max_frame.saturating_sub(Bytes(HEADER_LEN as u64));
            port.device_mtu = mtu.filter(|mtu| *mtu < promised);
        }
        self.with(settings, self.links.clone())
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
