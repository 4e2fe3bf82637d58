//! The options for starting DPDK.

use units::Bytes;

/// The source of DPDK's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Hugepages, at least this amount. Leaves no files behind.
    Hugepages(Bytes),
    /// Ordinary pages, exactly this amount. Slower, and hardware devices cannot be used.
    Ordinary(Bytes),
}

/// The options of [`crate::Eal::start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EalOptions {
    /// The source of memory.
    pub memory: Memory,
    /// Distinguishes this process's files from those of other DPDK processes.
    pub file_prefix: String,
    /// Virtual devices in DPDK's notation: `net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap`.
    pub devices: Vec<String>,
    /// The PCI devices to use, by address, with parameters if any: `0000:03:00.0`. No others are touched.
    pub pci: Vec<String>,
    /// Whether to enable DPDK's own telemetry socket.
    pub telemetry: bool,
    /// Further arguments for DPDK, as in `--help` of any DPDK program.
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

    /// The arguments for DPDK, for a thread that may run on these CPUs. Virtual devices are added one by one
    /// later, so that each failure names its device.
    pub(crate) fn arguments(&self, cpus: &[usize]) -> Vec<String> {
        // memif always warns that secondary processes cannot use its memory, which none does, and telemetry that there
        // is no socket of its first version. The first matching level applies to a driver.
        let levels = ["pmd.net.memif:error", "lib.telemetry:error", "*:warning"]
            .map(|level| format!("--log-level={level}"));
        let mut arguments = vec![self.file_prefix.clone()];
        arguments.extend(levels);
        // One lcore that may run on all CPUs: workers are our own threads, which we pin.
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
