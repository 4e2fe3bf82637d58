//! Types of single values that only a running gateway needs: devices, cores, sockets.

use core::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::problem::ProblemKind;
use crate::value::{integer, parsed, quoted, readable, texts, value_types, words, written};

/// Whether `c` may be part of most names.
fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

texts! {
    /// The prefix of the names of a process's files in DPDK.
    FilePrefix, "file name", "a file name of 1 to 64 letters, digits and any of . _ -, not starting with a dot",
        |got| (1..=64).contains(&got.len()) && !got.starts_with('.') && got.chars().all(plain);
    /// A virtual device as `--vdev` takes it: `net_pcap0,rx_pcap=a.pcap`. DPDK limits its name to 63 bytes.
    VirtualDevice, "virtual device of DPDK", "a virtual device of DPDK such as \"net_af_packet0,iface=veth0\"", |got| {
        let name = name_of(got);
        let named = name.len() < 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        named && name.len() > "net_".len() && name.starts_with("net_") && !got.contains(char::is_control)
    };
    /// A network interface of the kernel.
    InterfaceName, "interface",
        "the name of a network interface such as \"veth0\", of 1 to 15 letters, digits and any of . _ -",
        |got| (1..=15).contains(&got.len()) && got.chars().all(plain);
    /// The name of an account or a group of the system.
    Account, "name", "a name of 1 to 32 letters, digits and any of . _ -, starting with a letter or _", |got| {
        let first = got.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        first && got.len() <= 32 && got.chars().all(plain)
    };
}

value_types! {
    /// The number of a CPU.
    struct Core(usize): "core, 0 to 1023" in "an array of cores such as [2, 3]",
        |it| integer(it, 0..=1_023, "a core, 0 to 1023", |number| Some(Self(number as usize))), |it| it.0.to_string();
    /// The number of descriptors of a ring.
    struct RingSize(u16): "power of two, 64 to 32768",
        |it| integer(it, 64..=32_768, "a power of two, 64 to 32768", |number| {
            let size = number as u16;
            size.is_power_of_two().then_some(Self(size))
        }),
        |it| it.0.to_string();
    /// A probability, 0 to 1.
    struct Probability(f64): "probability, 0 to 1",
        |it| match f64::read(it)? {
            number if (0.0..=1.0).contains(&number) => Ok(Self(number)),
            number => Err(ProblemKind::out_of_range(number, "a probability, 0 to 1")),
        },
        |it| format!("{:?}", it.0);
    /// An argument for DPDK's EAL.
    struct Argument(String): "argument" in "an array of strings such as [\"--log-level=7\"]",
        |it| {
            const WANT: &str = "an argument of EAL such as \"--log-level=7\"";
            let plain = |got: &str| !got.is_empty() && !got.contains(char::is_control);
            let got = parsed(it, WANT, |got| plain(got).then_some(got.to_owned()))?;
            let name = got.split('=').next().unwrap_or_default();
            match ARGUMENTS_OF_KEYS.into_iter().find(|(argument, _)| *argument == name) {
                Some((argument, key)) => Err(ProblemKind::ArgumentOfKey { argument, key }),
                None => Ok(Self(got)),
            }
        },
        |it| quoted(&it.0);
    /// `0000:3b:00.0`.
    struct PciAddress(String): "PCI address",
        |it| parsed(it, "a PCI address such as \"0000:3b:00.0\"", Self::parse), |it| quoted(&it.0);
    /// The path of a Unix socket.
    struct SocketPath(PathBuf): "absolute path",
        |it| {
            // A socket address has room for 108 bytes, the last of them zero. In the arguments of a device, a comma
            // begins the next argument.
            const WANT: &str = "an absolute path such as \"/run/longspan/east.sock\", of up to 107 B without spaces or commas";
            parsed(it, WANT, |got| {
                let clean = !got.contains(|c: char| c.is_control() || c.is_whitespace() || c == ',');
                let valid = got.len() <= 107 && Path::new(got).is_absolute() && !got.ends_with('/') && clean;
                valid.then(|| Self(got.into()))
            })
        },
        |it| quoted(it.0.display());
    /// Permissions of a file, in the octal digits of `chmod`.
    struct Permissions(u32): "octal permissions",
        |it| parsed(it, "an octal mode such as \"660\"", |got| {
            let octal = (3..=4).contains(&got.len()) && got.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
            let mode = octal.then(|| u32::from_str_radix(got, 8).ok())??;
            (mode <= 0o777).then_some(Self(mode))
        }),
        |it| quoted(format!("{:03o}", it.0));
}

readable! {
    Option<SocketAddr>: |it| match it.as_str() {
        Some("none") => Ok(None),
        _ => {
            const WANT: &str = "an address and a port such as \"127.0.0.1:9464\", or \"none\"";
            parsed(it, WANT, |got| got.parse().ok().map(Some))
        }
    };
}

written! {
    SocketAddr: "address and port", |it| quoted(it);
}

/// Arguments of EAL that a key sets, and the key.
const ARGUMENTS_OF_KEYS: [(&str, &str); 12] = [
    ("--file-prefix", "dpdk.file_prefix"),
    ("--no-huge", "dpdk.hugepages"),
    ("--in-memory", "dpdk.hugepages"),
    ("--lcores", "dpdk.cores"),
    ("--main-lcore", "dpdk.cores"),
    ("-l", "dpdk.cores"),
    ("-c", "dpdk.cores"),
    ("--vdev", "port.device.vdev"),
    ("--allow", "port.device.pci"),
    ("-a", "port.device.pci"),
    ("--block", "port.device.pci"),
    ("-b", "port.device.pci"),
];

impl From<Probability> for f64 {
    fn from(Probability(share): Probability) -> Self {
        share
    }
}

impl FilePrefix {
    /// The name of a gateway, which is not empty, with each invalid character replaced.
    pub fn of_gateway(name: &str) -> Self {
        let allowed = name.chars().map(|c| if plain(c) { c } else { '-' });
        // With a leading dot it would be a hidden file, or a directory.
        let visible = allowed.enumerate().map(|(index, c)| if (index, c) == (0, '.') { '-' } else { c });
        Self(visible.collect())
    }
}

impl PciAddress {
    /// Parses an address, and completes it in lower case.
    fn parse(text: &str) -> Option<Self> {
        let hex = |text: &str, length: usize, most: u32| {
            let digits = text.len() == length && text.bytes().all(|digit| digit.is_ascii_hexdigit());
            digits.then(|| u32::from_str_radix(text, 16).ok())?.filter(|number| *number <= most)
        };
        let (slot, function) = text.split_once('.')?;
        let parts: Vec<_> = slot.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (domain, bus, device),
            [bus, device] => ("0000", bus, device),
            _ => return None,
        };
        let (domain, bus) = (hex(domain, 4, 0xffff)?, hex(bus, 2, 0xff)?);
        let (device, function) = (hex(device, 2, 0x1f)?, hex(function, 1, 7)?);
        Some(Self(format!("{domain:04x}:{bus:02x}:{device:02x}.{function}")))
    }
}

/// The name of a virtual device, without its arguments.
pub(crate) fn name_of(vdev: &str) -> &str {
    vdev.split(',').next().unwrap_or_default()
}

words! {
    /// How DPDK accesses an interface of the kernel.
    pub(crate) enum Driver { "af_packet" => AfPacket, "af_xdp" => AfXdp }
    /// Which end of a memif a port is.
    pub(crate) enum MemifRole { "server" => Server, "client" => Client }
}

words! {
    /// The source of DPDK's memory.
    #[derive(Default)]
    pub enum Hugepages {
        /// Hugepages if there are enough, otherwise ordinary pages with a warning.
        #[default]
        "auto" => Auto,
        /// Hugepages; without enough of them the gateway does not start.
        "require" => Require,
        /// Ordinary pages.
        "never" => Never,
    }
    /// The behaviour of an idle worker.
    #[derive(Default)]
    pub enum Idle {
        /// It polls again at once. Suited to dedicated cores.
        #[default]
        "poll" => Poll,
        /// It sleeps briefly, so that other processes can use its core.
        "sleep" => Sleep,
    }
    /// The response to a device that does not pass PFC frames.
    #[derive(Default)]
    pub enum PfcFrames {
        /// The gateway does not start.
        "require" => Require,
        /// The gateway starts with a warning.
        #[default]
        "warn" => Warn,
    }
    /// The fate of the privileges that only the start of a gateway needs.
    #[derive(Default)]
    pub enum Privileges {
        /// The gateway gives them up once its devices run.
        #[default]
        "drop" => Drop,
        /// The gateway keeps all privileges that it was started with.
        "keep" => Keep,
    }
}
