//! The memory of all frames.

use std::fs;

use config::runtime::{DeviceKind, Hugepages};
use config::{Gateway, MemorySum};
use dpdk::{Eal, EalError, EalOptions, Memory, Pool, PoolError, PoolSettings};
use telemetry::MemoryReport;
use units::Bytes;

use crate::RunError;

/// DPDK's own memory besides the buffers: rings, tables, device state.
const OWN: Bytes = Bytes(64 << 20);
/// A page of ordinary memory.
const PAGE: u64 = 4_096;
/// The kernel's word on transparent huge pages.
const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Free mbufs in the cache of each worker.
const CACHE: u32 = 256;

/// Starts DPDK with the memory that the gateway needs. Only PCI devices are opened here.
///
/// # Errors
/// [`RunError::Memory`] with the sum where the machine has less; [`RunError::Dpdk`] otherwise.
pub fn start_dpdk(gateway: &Gateway, sum: &MemorySum) -> Result<Eal, RunError> {
    refuse_without(sum.numbers, sum)?;
    let wanted = Bytes(sum.frames().0 + OWN.0);
    let in_pages = Bytes(ordinary(sum).0 + OWN.0);
    let hugepages = gateway.runtime.dpdk.hugepages;
    if hugepages != Hugepages::Never {
        match Eal::start(&options(gateway, Memory::Hugepages(wanted))) {
            Err(error @ EalError::TooFewHugepages { .. }) if hugepages == Hugepages::Auto => {
                tracing::warn!("using ordinary memory, which is slower: {error}");
            }
            Err(error @ EalError::TooFewHugepages { .. }) => {
                return Err(RunError::Memory { sum: sum.to_string(), reason: error.to_string() });
            }
            outcome => return Ok(outcome?),
        }
    }
    refuse_without(in_pages + sum.numbers, sum)?;
    Ok(Eal::start(&options(gateway, Memory::Ordinary(in_pages)))?)
}

/// Refuses to start where the machine has less than `needed` of ordinary memory.
fn refuse_without(needed: Bytes, sum: &MemorySum) -> Result<(), RunError> {
    match available_memory().filter(|available| *available < needed) {
        None => Ok(()),
        Some(available) => {
            let reason =
                format!("the machine has only {available} of memory available, and {needed} are needed");
            Err(RunError::Memory { sum: sum.to_string(), reason })
        }
    }
}

/// The size of the buffers in ordinary memory. A buffer that fits into a page never crosses its end.
fn ordinary(sum: &MemorySum) -> Bytes {
    let each = |mbuf: Bytes| match PAGE / mbuf.0 {
        0 => mbuf.0.next_multiple_of(PAGE),
        in_a_page => PAGE.div_ceil(in_a_page),
    };
    Bytes(sum.mbufs() * each(sum.mbuf()) + sum.control_mbufs() * each(sum.control_mbuf()))
}

fn options(gateway: &Gateway, memory: Memory) -> EalOptions {
    let dpdk = &gateway.runtime.dpdk;
    let cards = gateway.runtime.devices.iter().flatten().filter_map(|device| match &device.kind {
        DeviceKind::Pci(address) => Some(address.clone()),
        DeviceKind::Virtual(_) => None,
    });
    EalOptions {
        memory,
        pci: cards.collect(),
        // DPDK's own telemetry socket is for operators of NICs, and for the gateway's, which passes commands on to it.
        telemetry: matches!(memory, Memory::Hugepages(_)) || gateway.runtime.control.dpdk_telemetry,
        extra: dpdk.arguments.clone(),
        ..EalOptions::new(&dpdk.file_prefix)
    }
}

/// The memory available without swapping; `None` if the kernel does not report it.
fn available_memory() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes << 10))
}

/// The pools of frames.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// The pool of data frames.
    pub data: Pool,
    /// The pool of control frames: separate, so that pauses can be sent with a full buffer.
    pub control: Pool,
    /// The size of both.
    size: Bytes,
}

impl Buffers {
    /// Makes a report of them whenever it is called.
    pub fn reporter(self, resident: Resident) -> Box<dyn Fn() -> MemoryReport + Send> {
        Box::new(move || self.report(resident))
    }

    /// Reports their use, and the `resident` memory of the process, which takes the kernel too long to be asked for each report.
    fn report(&self, resident: Resident) -> MemoryReport {
        let pools = [&self.data, &self.control];
        let Resident { all, huge } = resident;
        MemoryReport {
            mbufs: pools.iter().map(|pool| u64::from(pool.mbufs())).sum(),
            mbufs_in_use: pools.iter().map(|pool| u64::from(pool.in_use())).sum(),
            size_bytes: self.size.0,
            resident_bytes: all.0,
            huge_page_bytes: huge.0,
        }
    }

    /// Creates pools of the sizes in `sum`.
    ///
    /// # Errors
    /// [`PoolError`] where DPDK does not make them.
    pub fn new(eal: &Eal, sum: &MemorySum) -> Result<Self, PoolError> {
        let pool = |name, mbufs: u64, data_room: Bytes| {
            // The configuration's check of the sum ensures that this fits.
            let mbufs = u32::try_from(mbufs).unwrap_or(u32::MAX);
            let data_room = Bytes(data_room.0.saturating_sub(Pool::HEADROOM.0));
            let settings = PoolSettings { mbufs, cache: CACHE, data_room, socket: None };
            Pool::new(eal, name, settings)
        };
        let data = pool("data", sum.mbufs(), sum.data_room())?;
        let control = pool("control", sum.control_mbufs(), sum.control_room())?;
        Ok(Self { data, control, size: sum.frames() })
    }
}

/// Memory of the process that belongs to no file: tables of the switch, and whatever else it allocates. Packet buffers belong
/// to files, in hugepages and in ordinary memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub all: Bytes,
    /// The part on transparent huge pages.
    pub huge: Bytes,
}

impl Resident {
    /// That of this process; zero if the kernel does not report it.
    pub fn now() -> Self {
        Self::of(&fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default())
    }

    /// Reads the sums of a process.
    fn of(sums: &str) -> Self {
        let kibibytes = |name: &str| {
            let line = sums.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        let bytes = |name| Bytes(kibibytes(name).unwrap_or(0) << 10);
        Self { all: bytes("Anonymous"), huge: bytes("AnonHugePages") }
    }
}

/// Logs what memory the tables of the switch have got, and returns it.
pub fn introduce() -> Resident {
    let resident @ Resident { all, huge } = Resident::now();
    let none = fs::read_to_string(TRANSPARENT).is_ok_and(|modes| modes.contains("[never]"));
    let why = if none { format!(" ({TRANSPARENT} is \"never\")") } else { String::new() };
    tracing::info!("tables and the rest of the process: {all:#}, {huge:#} on huge pages{why}");
    resident
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_a_part_of_the_memory_of_no_file() {
        let sums = "7f00-7fff ---p 00000000 00:00 0    [rollup]\nRss:      200 kB\nAnonymous:     96 kB\n\
                    LazyFree:   0 kB\nAnonHugePages:    64 kB\nShmemPmdMapped:    0 kB\n";
        assert_eq!(Resident::of(sums), Resident { all: Bytes(96 << 10), huge: Bytes(64 << 10) });
        assert_eq!(Resident::of(""), Resident::default());
    }

    #[test]
    fn a_gateway_that_needs_more_memory_than_there_is_does_not_start_and_says_for_what() {
        let ports = ["dc0", "lh0"].map(|name| {
            format!(
                "[[port]]\nname = \"{name}\"\nrate = \"10G\"\ndistance = \"80km\"\nlossless = [{{ priorities = [3] }}]\n\
                 device = {{ vdev = \"net_null_{name}\" }}\n"
            )
        });
        let text = format!("[buffer]\nshared = \"64MiB\"\n{}repair = {{}}\n", ports.concat());
        let sum = config::parse(&text, "gw.toml").unwrap().memory().unwrap();
        assert!(refuse_without(sum.numbers, &sum).is_ok(), "some hundred kB");
        let Err(RunError::Memory { sum: said, reason }) = refuse_without(Bytes(u64::MAX), &sum) else {
            panic!("it starts")
        };
        assert!(said.contains("for numbers of repair") && reason.contains("are needed"), "{said}: {reason}");
    }

    #[test]
    fn the_kernel_reports_the_memory_of_this_process() {
        assert!(Resident::now().all > Bytes(0));
    }
}
