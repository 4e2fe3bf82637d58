//! How DPDK is started.

use units::Bytes;

/// Where DPDK takes its memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Hugepages, at least this much of them. Nothing is left behind in a file system.
    Hugepages(Bytes),
    /// Ordinary pages, this much and no more. Slower, and no hardware device can be used.
    Ordinary(Bytes),
}

/// What [`crate::Eal::start`] is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EalOptions {
    /// Where the memory comes from.
    pub memory: Memory,
    /// What distinguishes this process's files from those of other DPDK processes.
    pub file_prefix: String,
    /// Virtual devices, as DPDK writes them: `net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap`.
    pub devices: Vec<String>,
    /// PCI devices that may be taken, by address, with parameters if any: `0000:03:00.0`. No other is
    /// touched.
    pub pci: Vec<String>,
    /// Whether DPDK's own telemetry socket is there.
    pub telemetry: bool,
    /// More arguments for DPDK, as `--help` of any DPDK program explains them.
    pub extra: Vec<String>,
}

impl EalOptions {
    /// 256 MiB of ordinary memory and no devices, for a process with this file prefix.
    pub fn new(file_prefix: &str) -> Self {
        Self {
            memory: Memory::Ordinary(Bytes(256 << 20)),
            file_prefix: file_prefix.to_owned(),
            devices: Vec::new(),
            pci: Vec::new(),
            telemetry: false,
            extra: Vec::new(),
        }
    }

    /// The arguments for DPDK, for a thread that may run on these CPUs. Virtual devices are added one by
    /// one later, so that each one's failure is its own.
    pub(crate) fn arguments(&self, cpus: &[usize]) -> Vec<String> {
        // At every start memif warns that no second process can use its memory, which none does. Of two levels that fit
        // a driver, the first one holds.
        let levels = ["pmd.net.memif:error", "*:warning"].map(|level| format!("--log-level={level}"));
        let mut arguments = vec![self.file_prefix.clone()];
        arguments.extend(levels);
        // One lcore that stays on all CPUs: workers are threads of our own, pinned by us.
        let cpus = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        arguments.push(format!("--lcores=0@({cpus})"));
        arguments.push(format!("--file-prefix={}", self.file_prefix));
        match self.memory {
            Memory::Hugepages(size) => {
                arguments.push("--in-memory".to_owned());
                arguments.push(format!("-m{}", mebibytes(size)));
            }
            Memory::Ordinary(size) => {
                arguments.extend(["--no-huge", "--no-shconf"].map(str::to_owned));
                arguments.push(format!("-m{}", mebibytes(size)));
            }
        }
        if self.pci.is_empty() {
            arguments.push("--no-pci".to_owned());
        }
        arguments.extend(self.pci.iter().map(|device| format!("--allow={device}")));
        if !self.telemetry {
            arguments.push("--no-telemetry".to_owned());
        }
        arguments.extend(self.extra.iter().cloned());
        arguments
    }
}

/// Rounded up.
fn mebibytes(size: Bytes) -> u64 {
    size.0.div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_memory_and_files_in_memory_exclude_each_other() {
        let ordinary = EalOptions::new("a").arguments(&[0]);
        assert!(ordinary.contains(&"--no-huge".to_owned()) && !ordinary.contains(&"--in-memory".to_owned()));
        let huge = EalOptions { memory: Memory::Hugepages(Bytes(1)), ..EalOptions::new("a") }.arguments(&[0]);
        assert!(!huge.contains(&"--no-huge".to_owned()) && huge.contains(&"--in-memory".to_owned()));
        assert!(huge.contains(&"-m1".to_owned()), "a part of a MiB is a MiB");
    }

    #[test]
    fn no_pci_device_is_touched_that_was_not_named() {
        let options = EalOptions::new("a");
        assert!(options.arguments(&[0]).contains(&"--no-pci".to_owned()));
        let options = EalOptions { pci: vec!["0000:03:00.0".to_owned()], ..options };
        let arguments = options.arguments(&[0]);
        assert!(!arguments.contains(&"--no-pci".to_owned()));
        assert!(arguments.contains(&"--allow=0000:03:00.0".to_owned()));
    }

    #[test]
    fn the_main_thread_keeps_all_its_cpus() {
        assert!(EalOptions::new("a").arguments(&[0, 2, 3]).contains(&"--lcores=0@(0,2,3)".to_owned()));
    }
}
