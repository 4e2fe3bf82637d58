//! What single values of a running gateway may look like: devices, cores, sockets.

use core::net::SocketAddr;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::problem::ProblemKind;
use crate::value::{Value, checked, integer, quoted, text, texts, words, written};

/// What most names are made of.
fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

texts! {
    /// What DPDK puts in front of the names of a process's files.
    FilePrefix, "file name", "a file name of 1 to 64 letters, digits and any of . _ -, with no dot in front",
        |got| (1..=64).contains(&got.len()) && !got.starts_with('.') && got.chars().all(plain);
    /// A virtual device as `--vdev` takes it: `net_pcap0,rx_pcap=a.pcap`. DPDK keeps names in 64 bytes.
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
    Account, "name", "a name of 1 to 32 letters, digits and any of . _ -, with a letter or _ in front", |got| {
        let first = got.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        first && got.len() <= 32 && got.chars().all(plain)
    };
}

/// The number of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Core(pub usize);

impl Value for Core {
    const LIST: &'static str = "an array of cores such as [2, 3]";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        integer(value, 0..=1_023, "a core, 0 to 1023").map(|number| Self(number as usize))
    }
}

/// Descriptors of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingSize(pub u16);

impl Value for RingSize {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const VALID: &str = "a power of two, 64 to 32768";
        let size = integer(value, 64..=32_768, VALID)? as u16;
        if size.is_power_of_two() { Ok(Self(size)) } else { Err(ProblemKind::out_of_range(size, VALID)) }
    }
}

/// How often something happens, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probability(pub f64);

impl Value for Probability {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        let number = f64::read(value)?;
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err(ProblemKind::out_of_range(number, "a probability, 0 to 1"))
        }
    }
}

impl From<Probability> for f64 {
    fn from(Probability(share): Probability) -> Self {
        share
    }
}

impl FilePrefix {
    /// The prefix nearest to the name of a gateway, which is not empty.
    pub fn of_gateway(name: &str) -> Self {
        let allowed = name.chars().map(|c| if plain(c) { c } else { '-' });
        // With a dot in front it would be a hidden file, or a directory.
        let visible = allowed.enumerate().map(|(index, c)| if (index, c) == (0, '.') { '-' } else { c });
        Self(visible.collect())
    }
}

/// An argument for DPDK's EAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument(pub String);

impl Argument {
    /// What other keys say, and the key.
    const OF_KEYS: [(&str, &str); 12] = [
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
}

impl Value for Argument {
    const LIST: &'static str = "an array of strings such as [\"--log-level=7\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "an argument of EAL such as \"--log-level=7\"";
        let got = checked(value, WANT, |got| !got.is_empty() && !got.contains(char::is_control))?;
        let name = got.split('=').next().unwrap_or_default();
        match Self::OF_KEYS.into_iter().find(|(argument, _)| *argument == name) {
            Some((argument, key)) => Err(ProblemKind::ArgumentOfKey { argument, key }),
            None => Ok(Self(got)),
        }
    }
}

/// `0000:3b:00.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PciAddress(pub String);

impl PciAddress {
    /// The address in full and in small letters.
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

impl Value for PciAddress {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "a PCI address such as \"0000:3b:00.0\"";
        let got = text(value, WANT)?;
        Self::parse(got).ok_or_else(|| ProblemKind::Malformed { got: got.into(), want: WANT })
    }
}

/// The name in front of the arguments of a virtual device.
pub(crate) fn name_of(vdev: &str) -> &str {
    vdev.split(',').next().unwrap_or_default()
}

/// The path of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketPath(pub PathBuf);

impl Value for SocketPath {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        // A socket address has room for 108 bytes, the last of them zero. In the arguments of a device, a
        // comma begins the next.
        const WANT: &str = "an absolute path such as \"/run/longspan/east.sock\", up to 107 bytes, without blanks and commas";
        let valid = |got: &str| {
            let clean = !got.contains(|c: char| c.is_control() || c.is_whitespace() || c == ',');
            got.len() <= 107 && Path::new(got).is_absolute() && !got.ends_with('/') && clean
        };
        checked(value, WANT, valid).map(|path| Self(path.into()))
    }
}

/// Permissions of a file, in the figures of `chmod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permissions(pub u32);

impl Value for Permissions {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "permissions in octal figures such as \"660\"";
        let got = text(value, WANT)?;
        let octal = (3..=4).contains(&got.len()) && got.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        let mode = octal.then(|| u32::from_str_radix(got, 8).ok()).flatten().filter(|mode| *mode <= 0o777);
        mode.map(Self).ok_or_else(|| ProblemKind::Malformed { got: got.into(), want: WANT })
    }
}

impl Value for Option<SocketAddr> {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "an address and a port such as \"127.0.0.1:9464\", or \"none\"";
        match text(value, WANT)? {
            "none" => Ok(None),
            got => got.parse().map(Some).map_err(|_| ProblemKind::Malformed { got: got.into(), want: WANT }),
        }
    }
}

words! {
    /// How DPDK gets at an interface of the kernel.
    pub(crate) enum Driver { "af_packet" => AfPacket, "af_xdp" => AfXdp }
    /// Which end of a memif a port is.
    pub(crate) enum MemifRole { "server" => Server, "client" => Client }
}

words! {
    /// Where DPDK's memory comes from.
    #[derive(Default)]
    pub enum Hugepages {
        /// From hugepages where there are enough of them, else from ordinary pages with a warning.
        #[default]
        "auto" => Auto,
        /// From hugepages, or the gateway does not start.
        "require" => Require,
        /// From ordinary pages.
        "never" => Never,
    }
    /// What a worker does while nothing comes or goes.
    #[derive(Default)]
    pub enum Idle {
        /// It looks again at once: for cores of its own.
        #[default]
        "poll" => Poll,
        /// It sleeps for a moment, so that others run on its core.
        "sleep" => Sleep,
    }
    /// What to do where a device does not pass PFC frames.
    #[derive(Default)]
    pub enum PfcFrames {
        /// The gateway does not start.
        "require" => Require,
        /// A warning.
        #[default]
        "warn" => Warn,
    }
    /// What becomes of the privileges that only the start of a gateway needs.
    #[derive(Default)]
    pub enum Privileges {
        /// It gives them up once its devices run.
        #[default]
        "drop" => Drop,
        /// It keeps all that it was started with.
        "keep" => Keep,
    }
}

written! {
    Core: "core, 0 to 1023", |it| it.0.to_string();
    RingSize: "power of two, 64 to 32768", |it| it.0.to_string();
    Probability: "probability, 0 to 1", |it| format!("{:?}", it.0);
    Argument: "argument", |it| quoted(&it.0);
    PciAddress: "PCI address", |it| quoted(&it.0);
    SocketPath: "absolute path", |it| quoted(it.0.display());
    Permissions: "octal permissions", |it| quoted(format!("{:03o}", it.0));
    SocketAddr: "address and port", |it| quoted(it);
}
