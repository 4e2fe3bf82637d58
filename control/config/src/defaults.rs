//! What holds where a file says nothing. Each is explained in docs/configuration.md.

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use core::num::NonZeroU32;
use std::path::PathBuf;

use switch::program::{DynamicThreshold, LossyQueue, QueueSettings, Scheduling, Threshold};
use units::{BitRate, Bytes, Interval, PauseQuanta, Priority};
use wire::ip::Dscp;

/// A gateway's random choices are repeatable unless somebody wants them to differ.
pub(crate) const SEED: u64 = 1;
/// Shared pool.
pub(crate) const SHARED: Bytes = Bytes(16 << 20);
/// As SONiC has it. The gateway's own cells need no more than 96 bytes of buffer for 89 on the wire
/// ([`units::Cells`]); the rest is margin.
pub(crate) const CELL_OCCUPANCY: f64 = 1.125;
/// SONiC's default MTU of 9100 and a VLAN tag.
pub(crate) const MAX_FRAME: Bytes = Bytes(9_118);
/// The NIC has enough to send until the worker's next turn, and a pause still acts soon.
pub(crate) const TX_WINDOW: Interval = Interval::from_micros(2);
/// Two NICs and their PHYs.
pub(crate) const INTERFACE_DELAY: Interval = Interval::from_micros(1);
/// Alpha = 1/8, as in appendix A of "Empowering Azure Storage with RDMA".
pub(crate) const XOFF_DYNAMIC_TH: i8 = -3;
/// Alpha = 2.
const LOSSY_DYNAMIC_TH: i8 = 1;
/// As in appendix B of the same paper.
pub(crate) const PMAX: f64 = 0.05;
/// The longest pause, as most switches send it.
pub(crate) const PAUSE: PauseQuanta = PauseQuanta::MAX;

/// Bifrost's slot, as in section VI of the paper.
pub(crate) const SLOT: Interval = Interval::from_micros(10);
/// k of Bifrost, as there: an excess is deducted at the end of the slot that shows it.
pub(crate) const CHECK_EVERY: NonZeroU32 = NonZeroU32::MIN;
/// Of the round trip: fibre warms up and cools down (some nanoseconds over 80 km), and a PHY is
/// not always as fast.
pub(crate) const JITTER: Interval = Interval::from_micros(1);
/// A worker with a core of its own ends its slots within a few microseconds.
pub(crate) const LATENESS: Interval = Interval::from_micros(5);

/// T of LSCC, as in section III-C of the paper; where the round trip is shorter, that.
pub(crate) const LSCC_INTERVAL: Interval = Interval::from_micros(200);
/// How often a receiver sends a CNP for a flow in DCQCN.
pub(crate) const CNP_INTERVAL: Interval = Interval::from_micros(50);
/// 8 MB of flow table.
pub(crate) const FLOWS: u32 = 1 << 16;
/// A flow that is silent for so long has probably ended.
pub(crate) const FLOW_AGEING: Interval = Interval::from_secs(10);
/// CNPs and feedback go with the network's own protocols.
pub(crate) const NETWORK_DSCP: Dscp = Dscp::from_low_bits(48);
/// The same where a frame has no DSCP but a tag.
pub(crate) const NETWORK_PRIORITY: Priority = Priority::from_low_bits(6);

/// Rmin of LSCC: 1 % of the most, 10 Mb/s at least; the most where that is less.
pub(crate) fn least_rate(most: BitRate) -> BitRate {
    let least = (most.bits_per_second() / 100).max(10_000_000);
    BitRate::new(least).map_or(most, |least| least.min(most))
}

/// The restoration time of the watchdog, and the shortest detection time that it has unless it is told another, as
/// `pfcwd start_default` of SONiC has them.
pub(crate) const WATCHDOG_TIME: Interval = Interval::from_millis(200);

/// Of a ring of a device: 10 us of 60-byte frames at 100G are 1,488.
pub(crate) const DESCRIPTORS: u16 = 1_024;
/// Whoever runs the gateway, and a group for those who may ask it.
pub(crate) const SOCKET_MODE: u32 = 0o660;
/// On this machine only; the port is the first that OpenTelemetry gives to Prometheus exporters.
pub(crate) const METRICS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9_464));
/// A turn takes microseconds; whoever is away for so long was stopped.
pub(crate) const STALL: Interval = Interval::from_millis(100);
/// What a full buffer takes at a few Gb/s, paused now and then.
pub(crate) const DRAIN: Interval = Interval::from_secs(1);

/// The control socket of a gateway.
pub(crate) fn socket(name: &str) -> PathBuf {
    PathBuf::from(format!("/run/longspan/{name}.sock"))
}

/// A tenth of the delay, so that later frames do overtake; 10 us where that is less.
pub(crate) fn reorder_by(delay: Interval) -> Interval {
    Interval(delay.0 / 10).max(Interval::from_micros(10))
}

/// Half a slot: enough for a frame that waits, and little to lose where one is not replaced.
pub(crate) const fn holdover(slot: Interval) -> Interval {
    Interval(slot.0 / 2)
}

/// A share of 2^`exponent`, a constant of this file.
pub(crate) const fn share(exponent: i8) -> Threshold {
    match DynamicThreshold::new(exponent) {
        Some(threshold) => Threshold::Dynamic(threshold),
        None => panic!("an exponent of -8 to 8"),
    }
}

/// Three quarters of the pool, so that lossy frames leave a quarter to lossless ones; all of it
/// where there are none.
pub(crate) const fn egress_lossy(shared: Bytes, any_lossless: bool) -> Bytes {
    if any_lossless { Bytes(shared.0 - shared.0 / 4) } else { shared }
}

/// Two frames below XOFF, but never below its half.
fn xon_below(xoff: Bytes, max_frame: Bytes) -> Bytes {
    Bytes(xoff.0 / 2).max(xoff - max_frame - max_frame)
}

/// XON and `xon_offset` of a group that states neither: with a fixed threshold, where an offset says
/// nothing that XON does not, XON below it; otherwise one frame, and `offset`.
pub(crate) fn resume(xoff: Threshold, offset: Bytes, max_frame: Bytes) -> (Bytes, Bytes) {
    match xoff {
        Threshold::Static(level) => (xon_below(level, max_frame), Bytes::ZERO),
        Threshold::Dynamic(_) => (max_frame, offset),
    }
}

/// Two frames, or 10 us at `rate` if that is more.
pub(crate) fn burst(rate: BitRate, max_frame: Bytes) -> Bytes {
    Bytes(rate.bytes_in(Interval::from_micros(10))).max(max_frame + max_frame)
}

/// The queue of `priority`: 6 and 7 carry CNPs and protocols that keep the network together, so
/// they go first; the others share evenly.
pub(crate) fn queue(priority: Priority, max_frame: Bytes) -> QueueSettings {
    let strict = priority.number() >= 6;
    QueueSettings {
        scheduling: if strict { Scheduling::Strict } else { Scheduling::Weighted(1) },
        rate_limit: None,
        red: None,
        lossy: LossyQueue { reserved: max_frame, threshold: const { share(LOSSY_DYNAMIC_TH) } },
    }
}
