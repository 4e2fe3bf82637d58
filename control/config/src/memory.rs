//! The memory of a gateway's devices: how many mbufs they need, and how large these are.

use core::fmt;

use switch::lanes::{beyond_pools, unseen};
use switch::program::{BufferSettings, GroupSettings, LosslessGroup, Packing, PortSettings, Settings};
use switch::{ControlFrame, ForwardingSettings};
use units::{Bytes, Cells, Interval, PortId, WireBytes};
use wire::lldp::LONGEST_EMITTED;

use crate::runtime::{Device, Emulation, Runtime};
use crate::thresholds::capacity;
use units::human::{bytes, thousands};

/// Bytes that DPDK leaves free in front of a frame.
pub(crate) const MBUF_HEADROOM: u64 = 128;
/// Further bytes of an mbuf: 128 of its own, 64 of the pool, and up to 64 of padding that spreads mbufs over memory
/// channels.
const MBUF_OVERHEAD: u64 = 128 + 64 + 64;
/// Bytes of the longest control frame but an announcement of LLDP.
const CONTROL: u64 = ControlFrame::CAPACITY as u64;
/// Bytes that drivers add to the longest frame: FCS, two VLAN tags, and virtio's header of 16 bytes.
const DRIVER_ROOM: u64 = 4 + 2 * 4 + 16;
/// The drivers ice and i40e round the room down to a multiple of this.
const DRIVER_STEP: u64 = 128;
/// The least room that DPDK's drivers expect behind the mbuf's headroom.
const LEAST_SEGMENT: u64 = 2_048;
/// Bytes that the kernel leaves free in front of a frame in shared memory.
const XDP_HEADROOM: u64 = 256;
/// The page that must hold a whole mbuf for AF_XDP.
pub(crate) const PAGE: Bytes = Bytes(4_096);
/// Bytes of a slot of af_packet that need not fit into an mbuf.
const SLOT_HEADER: u64 = 32;
/// Bytes that a pool's ring needs for each mbuf.
const RING_ENTRY: u64 = 8;
/// Mbufs that a core may keep in its cache of a pool, and two bursts that it is working on.
const PER_CORE: u64 = 512 + 64;
/// Frames of a worker that wait in mbufs of their own before short frames share mbufs: some 90 us of 1,082-byte
/// frames at 100G. Shorter queues copy nothing.
const WHOLE: usize = 1_024;
/// Frames that a worker takes from a port in a burst.
const BURST: u64 = 32;
/// Mbufs that are kept free for each receive ring, a few bursts, so that it can be refilled. With fewer,
/// memory is low.
const KEPT_FREE: u64 = 256;
/// The assumed least time between two control frames on an emulated link.
const CONTROL_SPACING: Interval = Interval::from_micros(1);
/// The assumed lateness of a worker at an emulated link, on its own core. It is twice the sleep of a worker that
/// shares its core.
const LATE: Interval = Interval::from_micros(100);

/// The size of a segment that holds a frame of up to `max_frame` and what drivers need beside it.
pub(crate) fn segment(max_frame: Bytes) -> Bytes {
    Bytes((max_frame.0 + DRIVER_ROOM).next_multiple_of(DRIVER_STEP).max(LEAST_SEGMENT))
}

/// The slot size of af_packet for frames of up to `max_frame`, behind up to 128 bytes of the kernel's own data. A
/// block consists of whole slots and whole pages.
pub fn packet_slot(max_frame: Bytes) -> u64 {
    (max_frame.0 + 128).next_multiple_of(512).max(LEAST_SEGMENT)
}

/// The mbufs of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes left free in front of a frame.
    front: Bytes,
    /// Room for a frame.
    segment: Bytes,
}

impl Layout {
    pub fn new(ports: &[PortSettings], devices: &[Option<Device>]) -> Self {
        let devices = || devices.iter().flatten();
        let longest =
            ports.iter().map(|port| port.max_frame + port.added_on_link()).max().unwrap_or_default();
        let slot = devices().filter_map(Device::packet_slot).max().map_or(0, |slot| slot - SLOT_HEADER);
        let kernel = if devices().any(Device::is_af_xdp) { XDP_HEADROOM } else { 0 };
        Self { front: Bytes(MBUF_HEADROOM + kernel), segment: segment(longest.max(Bytes(slot))) }
    }

    /// The cells of an mbuf that packed frames can fill.
    fn cells(self) -> Cells {
        Cells::within(self.segment.0)
    }

    /// The memory of an mbuf in its pool.
    pub fn whole(self) -> Bytes {
        self.front + self.segment + Bytes(MBUF_OVERHEAD)
    }
}

/// The length from which a frame keeps its own mbuf while many wait: as stated, or three quarters of the memory of an
/// mbuf, so that a byte of buffer takes at most a third more memory. A frame that would not fit into an mbuf together
/// with its record keeps its own in any case.
fn pack_below(ports: &[PortSettings], runtime: &Runtime) -> Bytes {
    let layout = Layout::new(ports, &runtime.devices);
    let default = Bytes(layout.whole().0 * 3 / 4);
    let most = Bytes((layout.cells().0 - 1) * Cells::SIZE);
    runtime.dpdk.pack_below.unwrap_or(default).min(most)
}

/// How waiting frames share mbufs, and how many mbufs that takes: as many as the buffer has room for long frames,
/// since short ones take no more, and those that each worker and each queue holds beside them.
pub(crate) fn packing(
    buffer: &BufferSettings,
    ports: &[PortSettings],
    forwarding: &ForwardingSettings,
    runtime: &Runtime,
) -> Packing {
    let (cores, below) = (cores(runtime), pack_below(ports, runtime));
    let longest = ports.iter().map(|port| port.max_frame).max().unwrap_or_default();
    // What a bridge may flood.
    let copies = match forwarding {
        ForwardingSettings::Bridge(_) => ports.len().saturating_sub(1).max(1) as u64,
        ForwardingSettings::Patch(_) | ForwardingSettings::Route(_) => 1,
    };
    let lanes = lanes(runtime);
    // A lane shows what it holds once a turn, behind a burst of each port.
    let unseen = match lanes {
        // A worker looks before each burst. A bridge has one.
        1 => Cells((cores - 1) * BURST * Cells::of_frame(longest).0),
        _ => Cells(beyond_pools(lanes, longest).0.div_ceil(Cells::SIZE) * copies * ports.len() as u64),
    };
    let held =
        Cells((capacity(buffer, ports) + beyond_all_pools(ports, runtime)).0.div_ceil(Cells::SIZE)) + unseen;
    let queues = ports.iter().map(|port| port.queues.len() as u64).sum::<u64>();
    // A lane has all queues.
    let frames = held.0.div_ceil(Cells::of_frame(below).0)
        + queues * lanes * Packing::PER_QUEUE as u64
        + cores * WHOLE as u64;
    Packing { whole: WHOLE, below, frames: frames as usize }
}

/// What lossless groups may hold beyond the pools while lanes do not see each other's frames.
fn beyond_all_pools(ports: &[PortSettings], runtime: &Runtime) -> Bytes {
    let of_port = |port: &PortSettings| {
        let beyond = beyond_pools(lanes(runtime), port.max_frame);
        let others = lanes(runtime).saturating_sub(1);
        // Lanes that begin at once may each take of the reserved part for themselves, too.
        let reserved = |group: &LosslessGroup| Bytes(others * group.reserved.0.min(unseen(port.max_frame).0));
        port.groups.iter().filter_map(GroupSettings::lossless).map(|group| beyond + reserved(group)).sum()
    };
    ports.iter().map(of_port).sum()
}

/// The number of lanes, each of which has rings and queues of every port.
fn lanes(runtime: &Runtime) -> u64 {
    runtime.dpdk.lanes.max(1) as u64
}

/// The number of worker cores: the lanes, or the cores of ports. If they are not stated, one for each device, at least one.
fn cores(runtime: &Runtime) -> u64 {
    if runtime.dpdk.lanes > 1 {
        return lanes(runtime);
    }
    let stated = runtime.dpdk.cores.len();
    let devices = runtime.devices.iter().flatten().count();
    (if stated > 0 { stated.min(devices) } else { devices }).max(1) as u64
}

/// Bytes of the longest control frame of `ports`.
fn longest_control(ports: &[PortSettings]) -> u64 {
    if ports.iter().any(|port| port.link_agent.is_some()) { LONGEST_EMITTED as u64 } else { CONTROL }
}

/// The mbufs of a gateway, by the places that may all hold some at once, and their memory.
///
/// A frame arrives in one mbuf with a single segment, because some drivers cannot chain mbufs. All ports share a
/// pool, so a segment holds the longest frame of any port. While many frames wait, short ones share mbufs
/// ([`Packing`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySum {
    /// Mbufs of frames in the buffer.
    pub waiting: u64,
    /// The capacity of the buffer.
    pub buffer: Bytes,
    /// Mbufs kept free to refill receive rings. With fewer, memory is low.
    pub kept_free: u64,
    /// Mbufs in the receive rings of all ports, one for each lane.
    pub receive_rings: u64,
    /// Mbufs in the transmit rings of all ports, one for each lane: this many of data frames, and as many of control frames.
    pub transmit_rings: u64,
    /// Mbufs of frames that are kept for repair.
    pub kept: u64,
    /// Ordinary memory for the numbers of repair.
    pub numbers: Bytes,
    /// Mbufs on each emulated link.
    pub links: Vec<OnLink>,
    /// The number of worker cores: the lanes, or the cores of ports. If they are not stated, one for each device.
    pub cores: u64,
    /// Bytes of the longest control frame.
    longest_control: u64,
    layout: Layout,
}

/// Frames on an emulated link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnLink {
    /// The port in front of the link.
    pub port: PortId,
    /// Its name.
    pub name: String,
    /// Data frames, if all have minimum length, so that the link never overflows.
    pub data: u64,
    /// Control frames, one a microsecond.
    pub control: u64,
    /// Data in bytes on the wire: those in flight at the rate of the link, and those that gather while its worker is
    /// late.
    pub bytes: WireBytes,
}

impl OnLink {
    /// The frames on the link behind `port`: those that leave within the delay, and those that were handed over
    /// early.
    fn new(id: PortId, port: &PortSettings, emulation: &Emulation, lanes: u64) -> Self {
        let held_back = if emulation.reorder > 0.0 { emulation.reorder_by } else { Interval::ZERO };
        let time = emulation.delay + held_back + port.tx_window;
        let bytes = port.rate.bytes_in(time);
        let once = bytes.div_ceil(WireBytes::of_frame(Bytes(WireBytes::MINIMUM_FRAME)).0);
        let (twice, twice_control) = match emulation.duplicate > 0.0 {
            true => (2, if emulation.control { 2 } else { 1 }),
            false => (1, 1),
        };
        Self {
            port: id,
            name: port.name.clone(),
            // One burst of each lane more, because bursts arrive as a whole.
            data: once * twice + BURST * lanes,
            control: time.0.div_ceil(CONTROL_SPACING.0) * twice_control + BURST * lanes,
            bytes: WireBytes(port.rate.bytes_in(time + LATE) * twice),
        }
    }
}

impl MemorySum {
    /// The sum for a gateway.
    pub(crate) fn new(settings: &Settings, runtime: &Runtime) -> Self {
        let (devices, lanes) = (|| runtime.devices.iter().flatten(), lanes(runtime));
        let repairs = || settings.ports.iter().filter_map(|port| port.repair);
        let links = runtime.emulations.iter().zip(&settings.ports).enumerate();
        let links = links.filter_map(|(index, (emulation, port))| {
            let id = PortId(u16::try_from(index).ok()?);
            Some(OnLink::new(id, port, emulation.as_ref()?, lanes))
        });
        Self {
            waiting: settings.buffer.packing.map_or(0, |packing| packing.frames as u64),
            buffer: capacity(&settings.buffer, &settings.ports),
            kept_free: devices().count() as u64 * lanes * KEPT_FREE,
            receive_rings: devices().map(|device| lanes * u64::from(device.receive_descriptors)).sum(),
            transmit_rings: devices().map(|device| lanes * u64::from(device.transmit_descriptors)).sum(),
            kept: repairs().map(|it| u64::from(it.frames)).sum(),
            numbers: repairs().map(|it| it.numbers()).sum(),
            links: links.collect(),
            cores: cores(runtime),
            longest_control: longest_control(&settings.ports),
            layout: Layout::new(&settings.ports, &runtime.devices),
        }
    }

    /// Mbufs of data frames.
    pub fn mbufs(&self) -> u64 {
        self.holders().map(|(mbufs, _)| mbufs).sum()
    }

    /// The number of mbufs of data frames in each place, and the place.
    fn holders(&self) -> impl Iterator<Item = (u64, String)> {
        let on_links = |link: &OnLink| (link.data, format!("on the emulated link of port {}", link.name));
        let of_gateway = [
            (self.waiting, format!("for frames in the buffer of {:#}", self.buffer)),
            (self.kept_free, "kept free to refill receive rings".into()),
            (self.receive_rings, "in receive rings".into()),
            (self.transmit_rings, "in transmit rings".into()),
        ];
        let kept = (self.kept, "kept in case the other end has not got them".to_owned());
        let kept = (self.kept > 0).then_some(kept);
        let in_hand = (self.in_hand(), format!("in caches and bursts of cores: {}", self.cores));
        of_gateway.into_iter().chain(kept).chain(self.links.iter().map(on_links)).chain([in_hand])
    }

    /// Mbufs of control frames. They have their own pool, so that a gateway with a full buffer can still send
    /// pauses.
    pub fn control_mbufs(&self) -> u64 {
        let links: u64 = self.links.iter().map(|link| link.control).sum();
        self.transmit_rings + links + self.in_hand()
    }

    /// Room of an mbuf for a control frame, including the room in front of it.
    pub fn control_room(&self) -> Bytes {
        self.layout.front + Bytes(self.longest_control)
    }

    /// The longest frame that an mbuf holds.
    pub fn longest_frame(&self) -> Bytes {
        self.layout.segment - Bytes(DRIVER_ROOM)
    }

    /// Room of an mbuf for a data frame, including the room in front of it: 128 bytes, and 256 more for the kernel
    /// with AF_XDP.
    pub fn data_room(&self) -> Bytes {
        self.layout.front + self.layout.segment
    }

    /// The memory of an mbuf for a data frame.
    pub fn mbuf(&self) -> Bytes {
        self.layout.whole()
    }

    /// The memory of an mbuf for a control frame.
    pub fn control_mbuf(&self) -> Bytes {
        self.control_room() + Bytes(MBUF_OVERHEAD)
    }

    /// The memory of all mbufs, without what DPDK needs for itself.
    pub fn frames(&self) -> Bytes {
        self.data() + self.control()
    }

    /// The memory of all mbufs and numbers.
    pub fn total(&self) -> Bytes {
        self.frames() + self.numbers
    }

    /// The frames on the emulated link behind `port`, if there is one.
    pub fn on_link(&self, port: PortId) -> Option<&OnLink> {
        self.links.iter().find(|link| link.port == port)
    }

    /// Mbufs in caches and bursts of cores.
    pub(crate) fn in_hand(&self) -> u64 {
        self.cores * PER_CORE
    }

    fn data(&self) -> Bytes {
        pool(self.mbufs(), self.mbuf())
    }

    fn control(&self) -> Bytes {
        pool(self.control_mbufs(), self.control_mbuf())
    }
}

/// The memory of mbufs, and of the ring in which their pool keeps them.
fn pool(mbufs: u64, each: Bytes) -> Bytes {
    Bytes(mbufs * each.0 + (mbufs + 1).next_power_of_two() * RING_ENTRY)
}

/// One line per term, then the sums.
impl fmt::Display for MemorySum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |number: String, what: &str| writeln!(f, "  {number:>14} {what}");
        self.holders().try_for_each(|(mbufs, place)| line(thousands(mbufs), &place))?;
        line(thousands(self.mbufs()), &format!("mbufs of {:#}, with their pool:", self.mbuf()))?;
        line(bytes(self.data().0), "for data frames")?;
        line(bytes(self.control().0), &format!("for {} control frames", thousands(self.control_mbufs())))?;
        if self.numbers > Bytes::ZERO {
            line(bytes(self.numbers.0), "for numbers of repair, beside hugepages")?;
        }
        write!(f, "  {:>14} in all", bytes(self.total().0))
    }
}
