//! Devices that send shorter packets than their ports promise.
//!
//! The kernel drops a frame beyond the MTU of its interface, and the driver of DPDK counts it as sent. So the gateway raises
//! the MTU at its start, where it may, and refuses to start where a lossless frame could be lost. It goes on to look at the
//! MTU, and the switch drops by name what a device that has changed would drop in silence.
//!
//! The MTU of one end of a veth pair is not raised: the other end would refuse the frame, and af_packet would offer it again
//! and again, ahead of all others.

use std::{fmt, io};

use config::Gateway;
use dpdk::{Interface, Port};
use telemetry::events::What;
use units::{Bytes, PortId};

use crate::line::Line;
use crate::links;

/// Why frames of a port would be lost.
#[derive(Debug, thiserror::Error)]
pub enum MtuError {
    /// The MTU of an interface stays too small.
    #[error(
        "the MTU of {interface} is {mtu}, and longer lossless frames would be lost: this port has {promised}. The gateway \
         does not raise it ({source}): `ip link set {interface} mtu {}`, at both ends of the link, or set mtu = {} here",
        promised.whole().0, promised.within(*mtu)
    )]
    Interface {
        /// The interface.
        interface: String,
        /// Its MTU, in bytes.
        mtu: u64,
        /// The longest packet of the port.
        promised: Promised,
        /// The system's error.
        source: io::Error,
    },
    /// A device has no larger MTU.
    #[error(
        "{device} ({driver}) has an MTU of {mtu} at most, and longer lossless frames would be lost: this port has \
         {promised}; set mtu = {}",
        promised.within(*mtu)
    )]
    Device {
        /// The device.
        device: String,
        /// Its driver.
        driver: String,
        /// Its MTU, in bytes.
        mtu: u64,
        /// The longest packet of the port.
        promised: Promised,
    },
}

/// The longest packet that the device of a port has to send: its `mtu`, and what repair adds on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    mtu: Bytes,
    added: Bytes,
}

impl Promised {
    fn of(gateway: &Gateway, port: PortId) -> Self {
        let added = gateway.program.port(port).added_on_link();
        Self { mtu: gateway.mtu(port) - added, added }
    }

    fn whole(self) -> Bytes {
        self.mtu + self.added
    }

    /// The `mtu` for which a device with an MTU of `mtu` is enough.
    fn within(self, mtu: u64) -> u64 {
        mtu.saturating_sub(self.added.0)
    }
}

impl fmt::Display for Promised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mtu = {}", self.mtu.0)?;
        match self.added {
            Bytes::ZERO => Ok(()),
            added => write!(f, ", and repair adds {} bytes", added.0),
        }
    }
}

/// Raises the MTU of the interface below `port` to that of the port, if it is smaller.
///
/// # Errors
/// It cannot be raised, and the gateway has lossless frames.
pub fn raise(gateway: &Gateway, port: PortId, interface: &Interface) -> Result<(), MtuError> {
    let promised = Promised::of(gateway, port);
    let needed = promised.whole();
    // Without an answer there is nothing to compare with.
    let Some(mtu) = interface.mtu().ok().filter(|mtu| *mtu < needed) else { return Ok(()) };
    let (name, of_port) = (interface.name(), &gateway.program.port(port).name);
    let raised = match links::is_own_link(name) {
        true => interface.set_mtu(needed),
        false => Err(io::Error::other("its other end must have it too")),
    };
    match raised {
        Ok(()) => tracing::info!(
            "port {of_port}: raised the MTU of {name} from {} to {}; what is connected to it must take such frames too",
            mtu.0,
            needed.0
        ),
        Err(source) => {
            let error = MtuError::Interface { interface: name.into(), mtu: mtu.0, promised, source };
            refuse_if_lossless(gateway, of_port, error)?;
        }
    }
    Ok(())
}

/// Compares the MTU of the device of `port`, if that limits what it sends.
///
/// # Errors
/// It is smaller than that of the port, and the gateway has lossless frames.
pub fn check(gateway: &Gateway, port: PortId, device: &Port) -> Result<(), MtuError> {
    let promised = Promised::of(gateway, port);
    let Some(mtu) = device.mtu().filter(|mtu| *mtu < promised.whole()) else { return Ok(()) };
    let (device, driver, mtu) = (device.name().into(), device.driver().into(), mtu.0);
    let error = MtuError::Device { device, driver, mtu, promised };
    refuse_if_lossless(gateway, &gateway.program.port(port).name, error)
}

/// Returns the error if the gateway has lossless frames, and logs it otherwise.
fn refuse_if_lossless(gateway: &Gateway, port: &str, error: MtuError) -> Result<(), MtuError> {
    if has_lossless(gateway) {
        return Err(error);
    }
    tracing::warn!("port {port}: {error}");
    Ok(())
}

/// Whether any frame may be lossless: one leaves by another port than that where it came in.
fn has_lossless(gateway: &Gateway) -> bool {
    gateway.program.settings().ports.iter().any(|port| !port.lossless().is_empty())
}

/// The MTUs of all devices, as they were last seen.
pub struct DeviceMtus(Vec<Option<Bytes>>);

impl DeviceMtus {
    /// Those of `lines`.
    pub fn of(lines: &[impl Line]) -> Self {
        let mut seen = Self(vec![None; lines.len()]);
        seen.see(lines);
        seen
    }

    /// Looks at the devices. Returns the ports whose MTU is another than before. One that is gone keeps its last.
    pub fn see(&mut self, lines: &[impl Line]) -> Vec<PortId> {
        let mut changed = Vec::new();
        for (port, (known, line)) in (0..).map(PortId).zip(self.0.iter_mut().zip(lines)) {
            let Some(mtu) = line.mtu() else { continue };
            if known.replace(mtu) != Some(mtu) {
                changed.push(port);
            }
        }
        changed
    }

    /// `gateway`, whose ports pass what their devices send.
    pub fn apply(&self, gateway: &Gateway) -> Gateway {
        gateway.with_device_mtus(&self.0)
    }

    /// Logs that the MTU of `port` has changed, under `gateway`, which knows it. Returns the event.
    pub fn tell(&self, port: PortId, device: &str, gateway: &Gateway) -> Option<What> {
        let (mtu, promised) = (self.0[port.index()]?, Promised::of(gateway, port));
        let name = &gateway.program.port(port).name;
        if mtu < promised.whole() {
            tracing::warn!(
                "port {name}: the MTU of {device} is now {}, and the port has {promised}: longer frames are dropped as oversize, \
                 lossless ones too; `ip link set {device} mtu {}`",
                mtu.0,
                promised.whole().0
            );
        } else {
            tracing::info!("port {name}: the MTU of {device} is now {}", mtu.0);
        }
        Some(What::DeviceMtu { mtu_bytes: mtu.0, promised_bytes: promised.whole().0 })
    }

    /// The ports to which `next` gives a larger MTU than their device, and than `before` had promised lossless frames, as reasons
    /// to refuse it. None if `next` has no lossless frames.
    pub fn refuse(&self, before: &Gateway, next: &Gateway) -> Vec<String> {
        let of_port = |(port, mtu): (PortId, &Option<Bytes>)| {
            let (mtu, promised) = ((*mtu)?, Promised::of(next, port));
            let needed = promised.whole();
            let name = &next.program.port(port).name;
            let is_new = needed > before.mtu(port) || !has_lossless(before);
            (is_new && needed > mtu).then(|| {
                format!(
                    "port {name}: its device has an MTU of {} at most, and the port has {promised}",
                    mtu.0
                )
            })
        };
        if !has_lossless(next) {
            return Vec::new();
        }
        (0..).map(PortId).zip(&self.0).filter_map(of_port).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway whose second port has an MTU of 4000 and these keys.
    fn gateway(keys: &str) -> Gateway {
        let port = |name: &str| {
            format!(
                "[[port]]\nname = \"{name}\"\nrate = \"10G\"\nmtu = 4000\ndistance = \"1km\"\nlossless = [{{ priorities = [3] }}]\n"
            )
        };
        let text = format!("[buffer]\nshared = \"64MiB\"\n{}{}{keys}\n", port("dc0"), port("lh0"));
        config::parse(&text, "gw.toml").unwrap()
    }

    /// The messages about an interface and a device with an MTU of 1500.
    fn messages(keys: &str) -> [String; 2] {
        let promised = Promised::of(&gateway(keys), PortId(1));
        let source = io::Error::other("no right");
        let interface = MtuError::Interface { interface: "eth0".into(), mtu: 1_500, promised, source };
        let device = MtuError::Device { device: "a".into(), driver: "b".into(), mtu: 1_500, promised };
        [interface.to_string(), device.to_string()]
    }

    #[test]
    fn the_message_about_a_short_mtu_names_what_repair_adds_and_an_mtu_that_would_be_enough() {
        let [interface, device] = messages("repair = {}");
        for said in
            ["mtu = 4000, and repair adds 16 bytes", "`ip link set eth0 mtu 4016`", "set mtu = 1484 here"]
        {
            assert!(interface.contains(said), "{interface}");
        }
        assert!(
            device.ends_with("this port has mtu = 4000, and repair adds 16 bytes; set mtu = 1484"),
            "{device}"
        );
        let [interface, device] = messages("");
        for said in ["this port has mtu = 4000. The", "`ip link set eth0 mtu 4000`", "set mtu = 1500 here"] {
            assert!(interface.contains(said), "{interface}");
        }
        assert!(device.ends_with("this port has mtu = 4000; set mtu = 1500"), "{device}");
    }

    #[test]
    fn a_reload_that_adds_repair_to_a_device_that_is_too_short_for_it_is_refused_with_its_bytes() {
        let seen = DeviceMtus(vec![None, Some(Bytes(4_000))]);
        let refused = seen.refuse(&gateway(""), &gateway("repair = {}"));
        assert_eq!(
            refused,
            [
                "port lh0: its device has an MTU of 4000 at most, and the port has mtu = 4000, and repair adds 16 bytes"
            ]
        );
        assert!(seen.refuse(&gateway(""), &gateway("")).is_empty());
        let event = seen.tell(PortId(1), "eth0", &gateway("repair = {}"));
        assert_eq!(event, Some(What::DeviceMtu { mtu_bytes: 4_000, promised_bytes: 4_016 }));
    }
}
