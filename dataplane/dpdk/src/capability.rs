//! Capabilities of Linux.

use core::fmt;

use rustix::thread::{CapabilitySet, capabilities};

/// A capability that a process may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability(CapabilitySet);

impl Capability {
    /// Memory that stays in place: hugepages, and memory for devices.
    pub const IPC_LOCK: Self = Self(CapabilitySet::IPC_LOCK);
    /// Interfaces: XDP sockets and programs, tap devices.
    pub const NET_ADMIN: Self = Self(CapabilitySet::NET_ADMIN);
    /// Packet sockets.
    pub const NET_RAW: Self = Self(CapabilitySet::NET_RAW);

    pub(crate) fn is_missing(self) -> bool {
        capabilities(None).is_ok_and(|sets| !sets.effective.contains(self.0))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter_names().try_for_each(|(name, _)| write!(f, "CAP_{name}"))
    }
}
