//! Identifiers of a chassis and of its port.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

use super::octets::Octets;
use crate::ethernet::MacAddress;

/// A chassis ID or port ID (clauses 8.5.2 and 8.5.3): both together name a neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Id {
    /// The form of the identifier, which differs between the two.
    pub subtype: u8,
    /// The identifier, one octet at least.
    pub octets: Octets,
}

impl Id {
    const CHASSIS_MAC: u8 = 4;
    const CHASSIS_NETWORK: u8 = 5;
    const PORT_MAC: u8 = 3;
    const PORT_NETWORK: u8 = 4;
    const PORT_INTERFACE_NAME: u8 = 5;

    /// The chassis with this address.
    pub fn of_chassis(mac: MacAddress) -> Self {
        Self { subtype: Self::CHASSIS_MAC, octets: Octets::new(&mac.0) }
    }

    /// The port with this name.
    pub fn of_port(name: &str) -> Self {
        Self { subtype: Self::PORT_INTERFACE_NAME, octets: Octets::new(name.as_bytes()) }
    }

    /// The identifier of a chassis, for people.
    pub fn chassis_text(&self) -> impl fmt::Display {
        Text { id: *self, mac: Self::CHASSIS_MAC, network: Self::CHASSIS_NETWORK }
    }

    /// The identifier of a port, for people.
    pub fn port_text(&self) -> impl fmt::Display {
        Text { id: *self, mac: Self::PORT_MAC, network: Self::PORT_NETWORK }
    }
}

/// An identifier, and the subtypes that stand for addresses.
struct Text {
    id: Id,
    mac: u8,
    network: u8,
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Id { subtype, octets } = self.id;
        match octets.as_bytes() {
            [a, b, c, d, e, f] if subtype == self.mac => {
                write!(out, "{}", MacAddress([*a, *b, *c, *d, *e, *f]))
            }
            [1, a, b, c, d] if subtype == self.network => {
                write!(out, "{}", Ipv4Addr::new(*a, *b, *c, *d))
            }
            [2, address @ ..] if subtype == self.network && address.len() == 16 => {
                let address = address.first_chunk().copied().unwrap_or_default();
                write!(out, "{}", Ipv6Addr::from_octets(address))
            }
            _ => write!(out, "{octets}"),
        }
    }
}
