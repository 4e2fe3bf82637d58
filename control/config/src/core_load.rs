//! The load of a core, and whether the core can carry it.

use core::fmt;

use switch::program::PortSettings;
use switch::receive_ring::RingRoom;
use units::{BitRate, Bytes, Interval, WireBytes};

use units::human::{length, thousands};

/// The assumed capacity of a core, in frames per second of any length. With everything on, 65,536 flows and frames of
/// 128 bytes, a measured core carried 0.34 of 14.7 million (docs/performance.md, on the wire). Forwarding alone
/// carries more, and a million flows less.
pub const FRAMES_PER_SECOND: u64 = 5_000_000;

/// The most lanes: more than any port that there is needs, as each pays for the others in headroom.
pub(crate) const MOST_LANES: u8 = 16;

/// Lanes share ports by the addresses of hosts, which is never even. The busiest one is assumed to get twelve tenths of an even
/// share, so 0.6 of what two lanes get.
const BUSIEST: (u64, u64) = (12, 10);

/// The path MTUs of RDMA (InfiniBand Architecture Specification, volume 1, section 9.2, PMTU), in bytes of payload.
const PATH_MTUS: [u64; 5] = [4_096, 2_048, 1_024, 512, 256];
/// Headers of RoCEv2 over IPv4, without FCS: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
pub(crate) const HEADERS: u64 = 58;
/// Further headers of the longest packet of a message: RETH 16, and a VLAN tag of 4.
const EXTENSIONS: u64 = 16 + 4;

/// A core, as far as a file determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Core {
    /// The file names it.
    Named(usize),
    /// The gateway chooses it when it starts.
    Chosen(usize),
}

/// The ports of a core, and their load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreLoad {
    /// The core; `None` if the gateway chooses it when it starts.
    pub core: Option<usize>,
    /// The names of its ports.
    pub ports: Vec<String>,
    /// The number of lanes of the gateway. Each of several has a share of all ports.
    pub lanes: usize,
    /// The sum of their rates, or the share of it that the busiest lane gets; saturates.
    pub rate: BitRate,
    /// The fewest frames per second with which RDMA fills its ports, or that share of them, using the largest path MTU that fits
    /// each.
    pub fewest_frames: u64,
    /// The number of its first port.
    pub(crate) first: usize,
    /// The number of teams that its ports form. Only whole teams can move to another core.
    pub(crate) teams: usize,
    /// The number of lanes that would carry all ports of the gateway, if there can be as many.
    pub(crate) lanes_for_all: Option<usize>,
    /// Whether a larger MTU would allow longer frames.
    longer_frames: bool,
    /// The receive rings of its ports with lossless priorities, each with the longest RDMA packets that fit.
    rings: Vec<(RingReach, WireBytes)>,
}

impl CoreLoad {
    /// The load of `core` with its first port.
    pub(crate) fn new(core: Core, first: usize, port: &PortSettings, ring: Option<RingReach>) -> Self {
        let core = match core {
            Core::Named(core) => Some(core),
            Core::Chosen(_) => None,
        };
        Self {
            core,
            ports: vec![port.name.clone()],
            lanes: 1,
            rate: port.rate,
            fewest_frames: frames(port.rate, packet(port.max_frame)),
            first,
            teams: 1,
            lanes_for_all: None,
            longer_frames: path_mtu(port.max_frame) != Some(PATH_MTUS[0]),
            rings: ring.map(|ring| (ring, packet(port.max_frame))).into_iter().collect(),
        }
    }

    /// Adds another port.
    pub(crate) fn add(&mut self, port: &PortSettings, ring: Option<RingReach>) {
        self.ports.push(port.name.clone());
        let sum = self.rate.bits_per_second().saturating_add(port.rate.bits_per_second());
        self.rate = BitRate::new(sum).unwrap_or(self.rate);
        self.fewest_frames = self.fewest_frames.saturating_add(frames(port.rate, packet(port.max_frame)));
        self.longer_frames |= path_mtu(port.max_frame) != Some(PATH_MTUS[0]);
        self.rings.extend(ring.map(|ring| (ring, packet(port.max_frame))));
    }

    /// The shortest mean frame length on the wire at which the core keeps up, at [`FRAMES_PER_SECOND`]; rounded up.
    pub fn least_mean(&self) -> WireBytes {
        WireBytes(self.rate.bits_per_second().div_ceil(8 * FRAMES_PER_SECOND))
    }

    /// For each port with lossless priorities and a known distance: its name, and the shortest mean frame length on the wire
    /// down to which its receive ring covers a pause, so that no lossless frame is lost although the core is too slow. `None`
    /// if the ring does not even hold what comes while the worker is late.
    pub fn rings(&self) -> impl Iterator<Item = (&str, Option<WireBytes>)> {
        self.rings.iter().map(|(ring, _)| (ring.port.as_str(), self.least_paused(ring)))
    }

    fn least_paused(&self, ring: &RingReach) -> Option<WireBytes> {
        ring.least_mean(FRAMES_PER_SECOND, self.rate)
    }

    /// Whether its rings cover a pause while RDMA sends packets as long as its ports allow.
    fn pauses(&self) -> bool {
        let mut covered =
            self.rings.iter().map(|(ring, packet)| self.least_paused(ring).is_some_and(|it| it <= *packet));
        !self.rings.is_empty() && covered.all(|it| it)
    }

    /// Whether it keeps up with RDMA whose packets are as long as its ports allow.
    pub fn keeps_up(&self) -> bool {
        self.fewest_frames <= FRAMES_PER_SECOND
    }

    /// The core in words.
    pub fn name(&self) -> String {
        let core =
            self.core.map_or_else(|| "a core that the gateway chooses".into(), |core| format!("core {core}"));
        match self.lanes {
            1 => core,
            lanes => format!("{core}, one of {lanes} lanes,"),
        }
    }

    /// The rate in words.
    fn share(&self) -> String {
        let most = if self.lanes > 1 { "up to " } else { "" };
        format!("{most}{:#}", self.rate)
    }

    /// The warning about a core that does not keep up: by how much, and what to change.
    pub(crate) fn behind(&self) -> String {
        format!(
            "{} handles about {} frames a second, but {} of {} bring {} a second even with the largest RDMA path MTU that \
             fits; {}; {}",
            self.name(),
            thousands(FRAMES_PER_SECOND),
            self.share(),
            self.ports.join(", "),
            thousands(self.fewest_frames),
            match self.pauses() {
                true =>
                    "its lossless ports pause their senders and drop lossy frames for as long as that lasts",
                false => "the device loses the rest, lossless frames too, and counts it as missed",
            },
            self.remedy(),
        )
    }

    fn remedy(&self) -> String {
        let spread = match (self.teams, self.lanes_for_all) {
            (2.., _) => Some("put its ports on more cores (dpdk.cores, port.device.core)".to_owned()),
            (_, lanes) => lanes.map(|lanes| format!("set dpdk.lanes = {lanes}")),
        };
        match (spread, self.longer_frames) {
            (Some(spread), true) if self.lanes == 1 => format!("{spread}, or raise mtu"),
            (Some(spread), _) => spread,
            (None, true) => "raise mtu, or send less through the port".into(),
            (None, false) => "no number of cores handles more, so send less through the port".into(),
        }
    }
}

/// One line: the core, its ports, their rate, and the frame lengths with which it keeps up, or pauses.
impl fmt::Display for CoreLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, ports) = (self.name(), self.ports.join(", "));
        write!(f, "{}: {ports}, {}: keeps up with frames of ", name.trim_end_matches(','), self.share())?;
        let (least, shortest) = (self.least_mean(), WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)));
        match least > shortest {
            true => write!(f, "{} and more on the wire", length(least.0))?,
            false => f.write_str("any length")?,
        }
        write!(f, " (at {} frames a second)", thousands(FRAMES_PER_SECOND))?;
        // No one sends frames that are too short for it.
        let rings =
            self.rings().filter(|(_, down_to)| least > shortest && down_to.is_none_or(|it| it > shortest));
        for (port, down_to) in rings {
            match down_to {
                Some(shortest) => write!(f, "; below, {port} pauses down to {}", length(shortest.0))?,
                None => write!(f, "; the receive ring of {port} is too short for how late it may be")?,
            }
        }
        Ok(())
    }
}

/// What the busiest of `lanes` lanes gets of `rate`, rounded up.
pub(crate) fn busiest(rate: BitRate, lanes: usize) -> BitRate {
    let (more, even) = BUSIEST;
    let share = u128::from(rate.bits_per_second()) * u128::from(more);
    let share = share.div_ceil(u128::from(even) * lanes.max(1) as u128);
    u64::try_from(share).ok().and_then(BitRate::new).unwrap_or(rate).min(rate)
}

/// Frames per second that come to a gateway with `lanes` lanes while the busiest one gets what a core takes.
pub(crate) fn carried(lanes: usize) -> u64 {
    match lanes as u64 {
        0 | 1 => FRAMES_PER_SECOND,
        lanes => FRAMES_PER_SECOND * lanes * BUSIEST.1 / BUSIEST.0,
    }
}

/// The least number of lanes, more than one, that carry what comes to all cores of a gateway; `None` if there cannot be as
/// many.
pub(crate) fn lanes_for(cores: &[CoreLoad]) -> Option<usize> {
    let alone = || cores.iter().map(|load| load.fewest_frames).fold(0, u64::saturating_add);
    let frames = match cores.first()? {
        CoreLoad { lanes: 1, .. } => alone().into(),
        // All lanes are alike.
        CoreLoad { lanes, fewest_frames, .. } => {
            u128::from(*fewest_frames) * u128::from(carried(*lanes)) / u128::from(FRAMES_PER_SECOND)
        }
    };
    (2..=usize::from(MOST_LANES)).find(|lanes| frames <= carried(*lanes).into())
}

/// The receive ring of a port with lossless priorities, whose `distance` is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RingReach {
    /// The name of the port.
    pub port: String,
    /// Its rate.
    pub rate: BitRate,
    /// Descriptors of the ring.
    pub descriptors: u32,
    /// Whether the device tells how many frames are unread, as cards do.
    pub is_told: bool,
    /// The time from the departure of a pause until the last frame before it has arrived.
    pub stops_within: Interval,
    /// The stated lateness of the worker.
    pub lateness: Interval,
}

impl RingReach {
    /// The shortest mean frame length on the wire down to which the ring holds what comes until a pause takes effect. All ports
    /// of the core bring such frames, `sum` of rate, and share its `capacity` in frames per second by their rates. Rounded
    /// up. `None` if the ring does not even hold what comes while the worker is late.
    pub fn least_mean(&self, capacity: u64, sum: BitRate) -> Option<WireBytes> {
        let Self { rate, descriptors, is_told, stops_within, lateness, .. } = *self;
        let (bits, shortest) = (rate.bits_per_second(), WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)));
        let share = u128::from(capacity) * u128::from(bits) / u128::from(sum.bits_per_second());
        // No more come than the link brings.
        let carried = u64::try_from(share).unwrap_or(capacity).min(bits / (8 * shortest.0)).max(1);
        let most = RingRoom { descriptors, carried, stops_within, lateness }.most_arriving()?;
        // Without a word of the device, a quarter of the ring has to be read first, while as much again may come.
        let most = if is_told { most } else { most.min(carried.saturating_mul(2)) };
        Some(WireBytes(bits.div_ceil(most.saturating_mul(8))).max(shortest))
    }
}

/// The largest path MTU whose packets fit frames of up to `max_frame`.
fn path_mtu(max_frame: Bytes) -> Option<u64> {
    PATH_MTUS.into_iter().find(|payload| Bytes(payload + HEADERS + EXTENSIONS) <= max_frame)
}

/// The length on the wire of a full packet of that path MTU, or of the longest frame if no path MTU fits.
fn packet(max_frame: Bytes) -> WireBytes {
    WireBytes::of_frame(path_mtu(max_frame).map_or(max_frame, |payload| Bytes(payload + HEADERS)))
}

/// That length, and its bytes of payload.
pub(crate) fn packet_of(max_frame: Bytes) -> (WireBytes, u64) {
    let payload = path_mtu(max_frame).unwrap_or(max_frame.0.saturating_sub(HEADERS).max(1));
    (packet(max_frame), payload)
}

/// Frames per second of `length` at `rate`, rounded up.
fn frames(rate: BitRate, length: WireBytes) -> u64 {
    rate.bits_per_second().div_ceil(8 * length.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_path_mtu_is_that_whose_longest_packet_fits() {
        // 1500 and 9100 with a tag, and either side of 4,096 bytes with RETH and a tag.
        let frames = [1_518, 9_118, 4_174, 4_173, 333].map(|length| path_mtu(Bytes(length)));
        assert_eq!(frames, [Some(1_024), Some(4_096), Some(4_096), Some(2_048), None]);
        assert_eq!(packet(Bytes(1_518)), WireBytes(1_106));
        assert_eq!(packet(Bytes(333)), WireBytes(357), "the longest frame where none fits");
    }
}
