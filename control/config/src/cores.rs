//! Which core runs which port, and whether it can take what comes.
//!
//! A worker runs to completion over the ports of its core. What comes faster than it takes, the device misses, and
//! no pause protects that: the switch never sees it.

use core::fmt;
use std::collections::BTreeMap;

use switch::ForwardingSettings;
use switch::program::{PortSettings, Settings};
use units::{BitRate, Bytes, WireBytes};

use crate::headroom::grouped;
use crate::problem::ProblemKind;
use crate::reader::{Place, Problems};
use crate::runtime::Runtime;
use crate::schema::Document;

/// What a core is taken to carry, in frames per second whatever their length: with everything on, 65,536 flows and
/// frames of 128 bytes it was 0.34 of 14.7 million (docs/performance.md, on the wire). Forwarding alone carries more, a
/// million flows less.
pub const FRAMES_PER_SECOND: u64 = 5_000_000;

/// The path MTUs of RDMA (InfiniBand Architecture Specification, volume 1, section 9.2, PMTU), in bytes of payload.
const PATH_MTUS: [u64; 5] = [4_096, 2_048, 1_024, 512, 256];
/// What RoCEv2 over IPv4 adds to the payload, without FCS: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
const HEADERS: u64 = 58;
/// What the longest packet of a message has beyond that: RETH 16, and a VLAN tag of 4.
const EXTENSIONS: u64 = 16 + 4;

/// Where a port's worker is to run. `C` names a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<C = usize> {
    /// The core that the configuration names.
    pub core: Option<C>,
    /// The rate of the port, by which ports are spread.
    pub rate: BitRate,
    /// The port that this one is patched to, by its place among the wishes: what comes in through one leaves
    /// through the other.
    pub peer: Option<usize>,
}

/// The wish of each port.
pub fn wishes(settings: &Settings, runtime: &Runtime) -> Vec<Wish> {
    let cores = runtime.devices.iter().map(|device| device.as_ref()?.core);
    let ports = settings.ports.iter().zip(cores).enumerate();
    let peer = |number| peer_of(&settings.forwarding, number);
    ports.map(|(number, (port, core))| Wish { core, rate: port.rate, peer: peer(number) }).collect()
}

/// The port that `port` is patched to.
fn peer_of(forwarding: &ForwardingSettings, port: usize) -> Option<usize> {
    let ForwardingSettings::Patch(pairs) = forwarding else { return None };
    let mut both_ways = pairs.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    both_ways.find(|(from, _)| from.index() == port).map(|(_, to)| to.index())
}

/// The core of each port: that of its wish; of the others the fastest first, each to the core of its peer, so
/// that no frame has to cross between caches, or else to the core of `cores` that has the least to carry so
/// far.
///
/// # Panics
/// Where `cores` is empty, and neither a wish nor a port before names one.
pub fn assign<C: Copy + Ord>(wishes: &[Wish<C>], cores: &[C]) -> Vec<C> {
    let mut load: BTreeMap<C, u64> = cores.iter().map(|core| (*core, 0)).collect();
    let mut assigned: Vec<Option<C>> = wishes.iter().map(|wish| wish.core).collect();
    for wish in wishes {
        if let Some(core) = wish.core {
            add(&mut load, core, wish.rate);
        }
    }
    let mut open: Vec<usize> = (0..wishes.len()).filter(|port| assigned[*port].is_none()).collect();
    open.sort_by_key(|port| core::cmp::Reverse(wishes[*port].rate.bits_per_second()));
    for port in open {
        let least = load.iter().min_by_key(|(_, carried)| **carried).map(|(core, _)| *core);
        let least = least.expect("cores are named by the file, or there is an allowed one");
        let core = wishes[port].peer.and_then(|peer| assigned[peer]).unwrap_or(least);
        add(&mut load, core, wishes[port].rate);
        assigned[port] = Some(core);
    }
    assigned.into_iter().flatten().collect()
}

fn add<C: Ord>(load: &mut BTreeMap<C, u64>, core: C, rate: BitRate) {
    let carried = load.entry(core).or_default();
    *carried = carried.saturating_add(rate.bits_per_second());
}

/// A core as far as a file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Core {
    /// The file names it.
    Named(usize),
    /// The gateway chooses it when it starts.
    Chosen(usize),
}

/// The ports of a core, and what they bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreLoad {
    /// The core; `None` where the gateway chooses it when it starts.
    pub core: Option<usize>,
    /// The names of its ports.
    pub ports: Vec<String>,
    /// Their rates, added up; saturates.
    pub rate: BitRate,
    /// How many frames a second they bring at least while RDMA fills them: with the largest path MTU that fits each.
    pub fewest_frames: u64,
    /// The number of its first port.
    first: usize,
    /// Whether a larger MTU would make frames longer.
    longer_frames: bool,
}

impl CoreLoad {
    /// The loads of all cores that have ports, in the order of cores, then of the first port where the gateway chooses.
    /// Where the file does not name the cores, there are taken to be as many as ports.
    pub(crate) fn all(settings: &Settings, runtime: &Runtime) -> Vec<Self> {
        let named = |wish: Wish| {
            let Wish { core, rate, peer } = wish;
            Wish { core: core.map(Core::Named), rate, peer }
        };
        let wishes: Vec<_> = wishes(settings, runtime).into_iter().map(named).collect();
        let cores: Vec<_> = match &*runtime.dpdk.cores {
            [] => (0..wishes.len()).map(Core::Chosen).collect(),
            stated => stated.iter().copied().map(Core::Named).collect(),
        };
        let mut loads: BTreeMap<Core, Self> = BTreeMap::new();
        for ((number, port), core) in settings.ports.iter().enumerate().zip(assign(&wishes, &cores)) {
            match loads.get_mut(&core) {
                Some(load) => load.add(port),
                None => {
                    loads.insert(core, Self::new(core, number, port));
                }
            }
        }
        let mut loads: Vec<_> = loads.into_values().collect();
        loads.sort_by_key(|load| (load.core.is_none(), load.core, load.first));
        loads
    }

    fn new(core: Core, first: usize, port: &PortSettings) -> Self {
        let core = match core {
            Core::Named(core) => Some(core),
            Core::Chosen(_) => None,
        };
        Self {
            core,
            ports: vec![port.name.clone()],
            rate: port.rate,
            fewest_frames: frames(port.rate, packet(port.max_frame)),
            first,
            longer_frames: path_mtu(port.max_frame) != Some(PATH_MTUS[0]),
        }
    }

    fn add(&mut self, port: &PortSettings) {
        self.ports.push(port.name.clone());
        let sum = self.rate.bits_per_second().saturating_add(port.rate.bits_per_second());
        self.rate = BitRate::new(sum).unwrap_or(self.rate);
        self.fewest_frames = self.fewest_frames.saturating_add(frames(port.rate, packet(port.max_frame)));
        self.longer_frames |= path_mtu(port.max_frame) != Some(PATH_MTUS[0]);
    }

    /// The mean length from which on the core keeps up with its ports, if it takes [`FRAMES_PER_SECOND`]; rounded up.
    pub fn least_mean(&self) -> WireBytes {
        WireBytes(self.rate.bits_per_second().div_ceil(8 * FRAMES_PER_SECOND))
    }

    /// Whether it keeps up with RDMA whose packets are as long as its ports let them be.
    pub fn keeps_up(&self) -> bool {
        self.fewest_frames <= FRAMES_PER_SECOND
    }

    /// The core in words.
    pub fn name(&self) -> String {
        self.core.map_or_else(|| "a core that the gateway chooses".into(), |core| format!("core {core}"))
    }

    /// Says of a core that does not keep up by how much, and what to change.
    pub(crate) fn behind(&self) -> String {
        format!(
            "{} takes some {} frames a second, and {} of {} are {} a second even of the largest RDMA path MTU that fits; \
             what it does not take the device loses, lossless frames too, and counts as missed; {}",
            self.name(),
            grouped(FRAMES_PER_SECOND),
            self.rate,
            self.ports.join(", "),
            grouped(self.fewest_frames),
            self.remedy(),
        )
    }

    fn remedy(&self) -> String {
        let spread = "put its ports on more cores (dpdk.cores, port.device.core)";
        match (self.ports.len() > 1, self.longer_frames) {
            (true, true) => format!("{spread}, or raise mtu"),
            (true, false) => spread.into(),
            (false, true) => "raise mtu, or let less come through the port".into(),
            (false, false) => "no core takes more, so let less come through the port".into(),
        }
    }
}

/// One line: the core, its ports, their rate, and the frames with which it keeps up.
impl fmt::Display for CoreLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}: keeps up with frames of ", self.name(), self.ports.join(", "), self.rate)?;
        let least = self.least_mean();
        match least > WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)) {
            true => write!(f, "{} bytes and more on the wire", grouped(least.0))?,
            false => f.write_str("any length")?,
        }
        write!(f, " (at {} frames a second)", grouped(FRAMES_PER_SECOND))
    }
}

/// The largest path MTU whose packets a port with frames of up to `max_frame` carries.
fn path_mtu(max_frame: Bytes) -> Option<u64> {
    PATH_MTUS.into_iter().find(|payload| Bytes(payload + HEADERS + EXTENSIONS) <= max_frame)
}

/// What a full packet of that path MTU takes on the wire; where none fits, the longest frame.
fn packet(max_frame: Bytes) -> WireBytes {
    WireBytes::of_frame(path_mtu(max_frame).map_or(max_frame, |payload| Bytes(payload + HEADERS)))
}

/// Frames of this length a second at this rate, rounded up.
fn frames(rate: BitRate, length: WireBytes) -> u64 {
    rate.bits_per_second().div_ceil(8 * length.0)
}

/// Warns of each core whose ports bring more than it takes, however long the frames are.
pub(crate) fn check(settings: &Settings, runtime: &Runtime, document: &Document, problems: &Problems<'_>) {
    if runtime.devices.iter().all(Option::is_none) {
        return;
    }
    for load in CoreLoad::all(settings, runtime).iter().filter(|load| !load.keeps_up()) {
        let kind = ProblemKind::CoreBehind { load: Box::new(load.clone()) };
        problems.warning(&place(load.first, document), kind);
    }
}

/// Where it is said on which core port `first` is: with its device, with the cores, or not at all.
fn place(first: usize, document: &Document) -> Place {
    let port = document.ports.get(first);
    let device = port.and_then(|port| port.device.as_ref());
    let stated = device.and_then(|device| Some(&device.core.as_ref()?.place));
    let cores = document.dpdk.cores.as_ref().map(|cores| &cores.place);
    let unsaid = device.and_then(|device| device.kind.as_ref()).map(|kind| &kind.place);
    let unsaid = unsaid.or(port.and_then(|port| port.place.as_ref()));
    let key = || "port.device.core".into();
    stated
        .or(cores)
        .cloned()
        .unwrap_or_else(|| Place { key: key(), offset: unsaid.map_or(0, |it| it.offset) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(core: Option<usize>, gigabits: u64) -> Wish {
        Wish { core, rate: BitRate::gigabits(gigabits), peer: None }
    }

    fn patched(core: Option<usize>, peer: usize) -> Wish {
        Wish { peer: Some(peer), ..wish(core, 100) }
    }

    #[test]
    fn the_fastest_ports_are_spread_first() {
        let wishes = [wish(None, 10), wish(None, 100), wish(None, 40), wish(None, 40)];
        assert_eq!(assign(&wishes, &[1, 2]), [2, 1, 2, 2]);
    }

    #[test]
    fn a_core_that_is_named_is_kept_and_counts() {
        let wishes = [wish(Some(2), 100), wish(None, 10)];
        assert_eq!(assign(&wishes, &[1, 2]), [2, 1]);
    }

    #[test]
    fn ports_that_are_patched_to_each_other_share_a_core_and_pairs_are_spread() {
        let wishes = [patched(None, 2), patched(None, 3), patched(None, 0), patched(None, 1)];
        assert_eq!(assign(&wishes, &[1, 2]), [1, 2, 1, 2]);
        let apart = [patched(Some(1), 1), patched(Some(2), 0)];
        assert_eq!(assign(&apart, &[1, 2]), [1, 2], "where the file wants it so");
        let beside = [patched(None, 1), patched(Some(2), 0)];
        assert_eq!(assign(&beside, &[1, 2]), [2, 2]);
    }

    #[test]
    fn the_largest_path_mtu_is_that_whose_longest_packet_fits() {
        // 1500 and 9100 with a tag, and either side of 4,096 bytes with RETH and a tag.
        let frames = [1_518, 9_118, 4_174, 4_173, 333].map(|length| path_mtu(Bytes(length)));
        assert_eq!(frames, [Some(1_024), Some(4_096), Some(4_096), Some(2_048), None]);
        assert_eq!(packet(Bytes(1_518)), WireBytes(1_106));
        assert_eq!(packet(Bytes(333)), WireBytes(357), "the longest frame where none fits");
    }
}
