//! Helpful errors for missing devices and permissions.

use core::ffi::c_int;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use crate::capability::Capability;
use crate::drivers;
use crate::error::{EalError, error_of};
use crate::{EalOptions, Memory};

/// The capabilities that drivers need, by the beginning of a device's name.
const NEEDED: [(&str, Capability); 4] = [
    ("net_af_packet", Capability::NET_RAW),
    ("net_af_xdp", Capability::NET_ADMIN),
    ("net_pcap", Capability::NET_RAW),
    ("net_tap", Capability::NET_ADMIN),
];

/// The error of DPDK for a device of a driver that it does not have: EFAULT.
const NO_DRIVER: c_int = 14;

pub(crate) fn why_not_started(options: &EalOptions, arguments: Vec<String>, source: io::Error) -> EalError {
    let capability = Capability::IPC_LOCK;
    if matches!(options.memory, Memory::Hugepages(_)) && capability.is_missing() {
        return EalError::NotPermitted { what: "memory in hugepages".to_owned(), capability };
    }
    EalError::Start { arguments: arguments.join(" "), source }
}

pub(crate) fn why_not_made(device: &str, status: c_int) -> EalError {
    let needed = NEEDED.iter().find(|(name, _)| device.starts_with(name));
    // Among pcap devices, only those on an interface need a capability.
    let uses_interface = !device.starts_with("net_pcap") || device.contains("iface=");
    if let Some(&(_, capability)) = needed.filter(|(_, capability)| uses_interface && capability.is_missing())
    {
        return EalError::NotPermitted { what: format!("the device {device}"), capability };
    }
    if locks_too_much(device) {
        let what = format!("locking the rings of the device {device} exceeds the limit on locked memory and");
        return EalError::NotPermitted { what, capability: Capability::IPC_LOCK };
    }
    if status == -NO_DRIVER {
        let name = device.split(',').next().unwrap_or(device);
        return EalError::NoDriver { device: name.to_owned(), meant: drivers::similar(name) };
    }
    // Many drivers return -1 for any failure; it does not mean EPERM.
    let source = if status == -1 { io::Error::other("its driver rejected it") } else { error_of(status) };
    EalError::Device { device: device.to_owned(), source }
}

/// Whether the rings of an af_packet device need more locked memory than this process may have. The driver
/// has one ring per direction.
fn locks_too_much(device: &str) -> bool {
    let Some(arguments) = device.strip_prefix("net_af_packet") else { return false };
    let argument = |key: &str, default: u64| {
        let stated = arguments.split(',').find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='));
        stated.and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let ring: u64 = argument("framesz", 2_048).saturating_mul(argument("framecnt", 512));
    let rings = ring.saturating_mul(2);
    let allowed = getrlimit(Resource::Memlock).current;
    Capability::IPC_LOCK.is_missing() && allowed.is_some_and(|allowed| rings > allowed)
}

/// Checks that a PCI device exists. The address may be followed by parameters.
pub(crate) fn pci_device_exists(device: &str) -> Result<(), EalError> {
    let address = device.split(',').next().unwrap_or(device);
    if pci_directory(address).exists() {
        return Ok(());
    }
    Err(EalError::NoPciDevice(address.to_owned()))
}

pub(crate) fn why_pci_not_taken(address: &str) -> EalError {
    let driver = fs::read_link(pci_directory(address).join("driver")).ok();
    let driver = driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    let group = fs::read_link(pci_directory(address).join("iommu_group")).ok();
    let group = group.and_then(|link| Some(format!("/dev/vfio/{}", link.file_name()?.to_string_lossy())));
    if let (Some("vfio-pci"), Some(group)) = (driver.as_deref(), group) {
        let opened = OpenOptions::new().read(true).write(true).open(&group);
        let others = !is_open_here(&group);
        if let Some(why) =
            opened.err().filter(|_| others).and_then(|error| why_group_not_open(address, group, &error))
        {
            return why;
        }
    }
    EalError::PciDeviceNotTaken { device: address.to_owned(), driver }
}

/// Whether this process has the file open, as it does once it uses another device of the group.
fn is_open_here(path: &str) -> bool {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    open.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target == Path::new(path))
}

/// Why the file of a device's group cannot be opened. The kernel gives it to one process at a time.
fn why_group_not_open(address: &str, group: String, error: &io::Error) -> Option<EalError> {
    let device = address.to_owned();
    match error.kind() {
        io::ErrorKind::ResourceBusy => Some(EalError::PciDeviceInUse { device, group }),
        io::ErrorKind::PermissionDenied => Some(EalError::PciDeviceForbidden { device, group }),
        _ => None,
    }
}

fn pci_directory(address: &str) -> PathBuf {
    PathBuf::from("/sys/bus/pci/devices").join(full_pci_address(address))
}

/// The full address: `03:00.0` without a domain is in domain 0.
pub(crate) fn full_pci_address(address: &str) -> String {
    if address.matches(':').count() == 1 { format!("0000:{address}") } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_stays_with_its_kernel_driver_is_not_sent_to_vfio() {
        let says = |driver: Option<&str>| {
            let driver = driver.map(str::to_owned);
            EalError::PciDeviceNotTaken { device: "0000:3b:00.0".to_owned(), driver }.to_string()
        };
        assert!(says(Some("ice")).contains("--bind=vfio-pci 0000:3b:00.0"));
        assert!(says(None).contains("bound to no driver: bind it to vfio-pci"));
        let mlx5 = says(Some("mlx5_core"));
        assert!(mlx5.contains("leave it bound") && !mlx5.contains("vfio"), "{mlx5}");
    }

    #[test]
    fn a_device_that_another_process_has_and_one_that_this_user_may_not_open_are_told_apart() {
        let why = |code| {
            let error = io::Error::from_raw_os_error(code);
            why_group_not_open("0000:3b:00.0", "/dev/vfio/7".to_owned(), &error).map(|why| why.to_string())
        };
        // EBUSY, EACCES, ENOENT.
        let [busy, forbidden, absent] = [16, 13, 2].map(why);
        assert!(busy.unwrap().contains("another process has /dev/vfio/7 open"));
        assert!(forbidden.unwrap().contains("may not open /dev/vfio/7"));
        assert_eq!(absent, None);
    }
}
