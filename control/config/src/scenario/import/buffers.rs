//! The buffer of a switch: the shared pool, and the thresholds of PFC and ECN.

use std::collections::BTreeMap;

use units::{BitRate, Bytes};

use super::options::Options;
use super::topology::{Link, Network};
use crate::notes::Problems;
use crate::problem::ProblemKind;

/// Bytes that the model reserves for each port.
const RESERVED: u64 = 4_096;
/// The greatest size in MiB with which the model's 32 bits do not overflow.
const MOST: u64 = 4_095;

/// The buffers of all switches.
pub(super) struct Buffers {
    /// Whether switches mark.
    pub marks: bool,
    /// The thresholds of ports by the rate of their links.
    pub by_rate: BTreeMap<BitRate, Thresholds>,
    /// The rate of hosts.
    pub host_rate: BitRate,
    /// The shared pool of each switch.
    pub shared: Vec<(u32, Bytes)>,
}

/// The thresholds of a port.
#[derive(Clone, PartialEq)]
pub(super) struct Thresholds {
    /// XOFF is at 2 to this power of what is free in the shared pool.
    pub dynamic_th: i32,
    kmin: Bytes,
    kmax: Bytes,
    pmax: f64,
}

impl Thresholds {
    /// The keys of `ecn`.
    pub fn ecn(&self) -> String {
        format!("kmin = \"{}\", kmax = \"{}\", pmax = {:?}", self.kmin, self.kmax, self.pmax)
    }
}

impl Buffers {
    /// The buffers of the switches of `network`. Notes errors if an option is missing or wrong.
    pub fn new(options: &Options<'_, '_>, network: &Network, problems: &Problems<'_>) -> Option<Self> {
        let marks = options.flag("ENABLE_QCN");
        let kmin = options.by_rate("KMIN_MAP", 0..=4_000_000_u64);
        let kmax = options.by_rate("KMAX_MAP", 1..=4_000_000_u64);
        let pmax = options.by_rate("PMAX_MAP", 0.0..=1.0_f64);
        let size = options.number("BUFFER_SIZE", 1..=MOST);
        let host_rate = network.host_rate()?;
        let (marks, kmin, kmax, pmax) = (marks?, kmin?, kmax?, pmax?);
        let mut by_rate = BTreeMap::new();
        let of_switches = network.links.iter().filter(|link| !network.joins_hosts(link));
        for rate in of_switches.map(|link| link.rate).chain([host_rate]) {
            if by_rate.contains_key(&rate) {
                continue;
            }
            let (kmin, kmax) = (kmin.of(rate, problems)? * 1_000, kmax.of(rate, problems)? * 1_000);
            let thresholds = Thresholds {
                dynamic_th: dynamic_th(rate, host_rate),
                // The model marks everything above Kmax, even where Kmin is not below it.
                kmin: Bytes(kmin.min(kmax - 1)),
                kmax: Bytes(kmax),
                // A chance of zero marks nothing below Kmax, and this one hardly anything.
                pmax: pmax.of(rate, problems)?.max(1e-6),
            };
            by_rate.insert(rate, thresholds);
        }
        let size = size? << 20;
        let mut shared = Vec::new();
        for switch in network.switches() {
            let of_port = |link| headroom(link).saturating_add(RESERVED);
            let taken = network.links_of(switch).map(of_port).fold(0, u64::saturating_add);
            match size.checked_sub(taken).filter(|left| *left > 0) {
                Some(left) => shared.push((switch, Bytes(left))),
                None => {
                    let kind = ProblemKind::NoSharedPool { switch, taken: Bytes(taken), size: Bytes(size) };
                    problems.error(&options.place("BUFFER_SIZE"), kind);
                    return None;
                }
            }
        }
        Some(Self { marks, by_rate, host_rate, shared })
    }
}

/// The model's headroom of a port, which its switches keep out of the shared pool.
fn headroom(link: &Link) -> u64 {
    let bits = u128::from(link.rate.bits_per_second()) * u128::from(link.delay.0);
    u64::try_from(bits / 8 / 1_000_000_000 * 3).unwrap_or(u64::MAX)
}

/// -3, and one more for each time that `rate` is halved until hosts have no less.
fn dynamic_th(rate: BitRate, host_rate: BitRate) -> i32 {
    let mut rate = rate.bits_per_second();
    let mut exponent = -3;
    while rate > host_rate.bits_per_second() && exponent < 0 {
        exponent += 1;
        rate /= 2;
    }
    exponent
}
