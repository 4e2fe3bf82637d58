//! Capabilities of Linux.

use core::fmt;

use rustix::thread::{CapabilitySet, capabilities};

/// What the kernel asks of a process before it does something for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Memory that stays where it is: hugepages, and memory for devices.
    IpcLock,
    /// Interfaces: XDP sockets and programs, tap devices.
    NetAdmin,
    /// Packet sockets.
    NetRaw,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
        })
    }
}

impl Capability {
    pub(crate) fn is_missing(self) -> bool {
        let flag = match self {
            Self::IpcLock => CapabilitySet::IPC_LOCK,
            Self::NetAdmin => CapabilitySet::NET_ADMIN,
            Self::NetRaw => CapabilitySet::NET_RAW,
        };
        capabilities(None).is_ok_and(|sets| !sets.effective.contains(flag))
    }
}
