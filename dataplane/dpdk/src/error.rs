//! The errors of DPDK and its devices.

use core::ffi::c_int;
use std::io;

use thiserror::Error;
use units::Bytes;

use crate::capability::Capability;

/// Why DPDK does not start, or does not take a device.
#[derive(Debug, Error)]
pub enum EalError {
    /// One process, one DPDK, also after [`crate::Eal::cleanup`].
    #[error("DPDK was already started in this process")]
    AlreadyStarted,
    /// The kernel has not set enough hugepages aside.
    #[error(
        "DPDK needs {wanted} of hugepages, but only {free} are free: `sysctl -w vm.nr_hugepages={pages}` \
         reserves enough pages of {page_size}"
    )]
    TooFewHugepages {
        /// The memory that was asked for.
        wanted: Bytes,
        /// The memory in free hugepages.
        free: Bytes,
        /// The page size that is meant.
        page_size: Bytes,
        /// How many there should be.
        pages: u64,
    },
    /// Something that only a privileged process may do.
    #[error("{what} requires {capability}, which this process does not have")]
    NotPermitted {
        /// The step that was refused.
        what: String,
        /// The missing capability.
        capability: Capability,
    },
    /// An argument holds a NUL.
    #[error("{0:?} cannot be passed to DPDK: it contains a NUL byte")]
    Argument(String),
    /// DPDK does not start with these arguments; its log, on stderr, says more.
    #[error("cannot start DPDK with the arguments `{arguments}`: {source}")]
    Start {
        /// The arguments.
        arguments: String,
        /// The error of DPDK.
        source: io::Error,
    },
    /// There is no such PCI device.
    #[error("there is no PCI device {0}")]
    NoPciDevice(String),
    /// A PCI device that DPDK was allowed to take, and did not.
    #[error(
        "DPDK cannot use the PCI device {device}, which is bound to {}: {}",
        driver.as_deref().unwrap_or("no driver"), how_to_bind(device, driver.as_deref())
    )]
    PciDeviceNotTaken {
        /// The device.
        device: String,
        /// The kernel's driver that has it.
        driver: Option<String>,
    },
    /// Another process has a PCI device.
    #[error(
        "the PCI device {device} is in use: another process has {group} open (`fuser -v {group}` shows which); stop that \
         process, or choose another device"
    )]
    PciDeviceInUse {
        /// The device.
        device: String,
        /// The file of its group of the IOMMU.
        group: String,
    },
    /// This process may not open a PCI device.
    #[error(
        "the PCI device {device} is bound to vfio-pci, but this user may not open {group}: change its owner (chown)"
    )]
    PciDeviceForbidden {
        /// The device.
        device: String,
        /// The file of its group of the IOMMU.
        group: String,
    },
    /// No driver that is installed makes a virtual device of this name.
    #[error(
        "DPDK has no driver for {device}{} `ls /usr/lib/*/dpdk/pmds-*` lists those that are installed, and a package \
         librte-net-NAME brings another", meant.map_or(".".into(), |name| format!("; did you mean {name}?"))
    )]
    NoDriver {
        /// The name of the device, which begins with that of its driver.
        device: String,
        /// A driver with a similar name.
        meant: Option<&'static str>,
    },
    /// A virtual device could not be made; DPDK's log, on stderr, says more.
    #[error("DPDK cannot create the device {device}: {source}")]
    Device {
        /// The device with its parameters.
        device: String,
        /// The error of DPDK.
        source: io::Error,
    },
    /// A thread could not be registered.
    #[error("cannot register another thread with DPDK: {0}")]
    Thread(io::Error),
}

/// What makes DPDK use a PCI device that is bound to this driver of the kernel. Cards of mlx5 stay bound to theirs.
fn how_to_bind(device: &str, driver: Option<&str>) -> String {
    match driver {
        Some("mlx5_core") => {
            "leave it bound, install librte-net-mlx5 and ibverbs-providers, load ib_uverbs and mlx5_ib, and let this user \
             open /dev/infiniband/uverbs* (docs/connectx.md)"
                .to_owned()
        }
        _ => format!("bind it to vfio-pci (dpdk-devbind.py --bind=vfio-pci {device})"),
    }
}

/// The error that a function of DPDK returned, as a negative number.
pub(crate) fn error_of(status: c_int) -> io::Error {
    io::Error::from_raw_os_error(status.saturating_neg())
}
