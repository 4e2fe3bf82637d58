//! Players and storms on devices of DPDK, on one thread.

use crate::plan::Plan;
use crate::player::{Player, PlayerSettings};
use crate::report::{PlayReport, StormReport};
use crate::storm::Storm;
use core::convert::Infallible;
use core::str::FromStr;
use core::time::Duration;
use dpdk::{
    BURST, Eal, EalOptions, Mbuf, Opened, Pool, PoolSettings, Port, PortSettings, RxQueue, Tsc, TxQueue,
};
use endpoint::HostSettings;
use std::process;
use std::thread;
use switch::Frame;
use units::{Bytes, Interval, Nanos, PauseQuanta, PrioritySet};

/// The mbufs of a port: both rings, and what waits.
const MBUFS: u32 = 4_095;
/// The longest header of a packet, and room to spare.
const HEADERS: u64 = 128;
/// A frame of 1,500 bytes of payload, with a VLAN tag.
const ORDINARY: Bytes = Bytes(1_518);
/// The sleep of a thread that has nothing to do, unless something is due before.
const REST: Interval = Interval::from_micros(50);
/// How long hosts stay after their last flow has ended, to answer what is sent to them again.
const LINGER: Interval = Interval(300_000_000);
const CALIBRATION: Duration = Duration::from_millis(200);

/// Why hosts cannot be played on ports.
#[derive(Debug, thiserror::Error)]
pub enum PortsError {
    /// DPDK does not start.
    #[error("{0}")]
    Eal(#[from] dpdk::EalError),
    /// There is no memory for frames.
    #[error("{0}")]
    Pool(#[from] dpdk::PoolError),
    /// A device cannot be used.
    #[error("{device}: {reason}")]
    Device {
        /// The device, as it was named.
        device: String,
        /// The reason.
        reason: String,
    },
    /// The time stamp counter is no clock.
    #[error("{0}")]
    Clock(#[from] dpdk::CalibrationError),
}

/// A device, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceName {
    /// A network card: `0000:3b:00.0`.
    Pci(String),
    /// A virtual device of DPDK: `net_memif0,role=client,...`.
    Virtual(String),
    /// An interface of the kernel: `veth0`.
    Interface(String),
}

impl FromStr for DeviceName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let digits = |it: char| it.is_ascii_hexdigit() || it == ':' || it == '.';
        Ok(if text.starts_with("net_") {
            Self::Virtual(text.into())
        } else if text.contains(':') && text.contains('.') && text.chars().all(digits) {
            Self::Pci(text.into())
        } else {
            Self::Interface(text.into())
        })
    }
}

/// How long and how a run goes on.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The run ends at the latest after this time.
    pub duration: Interval,
    /// Whether the thread polls instead of sleeping when nothing is due.
    pub poll: bool,
}

/// Plays the hosts of `plan`, each on one of `devices`, until all flows have ended, time is up, or `go_on` says no.
///
/// # Errors
/// [`PortsError`] if a device cannot be used.
pub fn play(
    plan: &Plan,
    devices: &[DeviceName],
    settings: &PlayerSettings,
    pace: Pace,
    go_on: impl Fn() -> bool,
) -> Result<PlayReport, PortsError> {
    let hosts = plan.parts.iter().map(|part| longest_frame(&part.settings));
    let lanes = open(devices, hosts.max().unwrap_or(ORDINARY))?;
    let clock = Tsc::calibrate(CALIBRATION)?;
    let begin = clock.now();
    let player = |part| Player::new(part, settings.clone(), begin);
    let mut stages: Vec<_> = plan.parts.iter().map(player).zip(lanes).collect();
    let mut done_at = None;
    let now = run(clock, pace, |now| {
        let mut moved = false;
        for (player, lane) in &mut stages {
            moved |= lane.turn(now, player);
        }
        let is_done = stages.iter().all(|(player, _)| player.is_done());
        done_at = if is_done { done_at.or(Some(now)) } else { None };
        if !go_on() || done_at.is_some_and(|at| now.since(at) >= LINGER) {
            return None;
        }
        let next = stages.iter().map(|(player, _)| player.next_deadline()).min().unwrap_or(Nanos::NEVER);
        Some(if moved { now } else { next })
    });
    Ok(PlayReport {
        duration_ns: done_at.unwrap_or(now).since(begin).0,
        complete: done_at.is_some(),
        hosts: stages.iter().map(|(player, _)| player.report(&plan.groups)).collect(),
    })
}

/// Sends a storm of pauses through `device` until time is up, or `go_on` says no.
///
/// # Errors
/// [`PortsError`] if the device cannot be used.
pub fn storm(
    device: &DeviceName,
    priorities: PrioritySet,
    quanta: PauseQuanta,
    every: Interval,
    pace: Pace,
    go_on: impl Fn() -> bool,
) -> Result<StormReport, PortsError> {
    let mut lanes = open(core::slice::from_ref(device), ORDINARY)?;
    let clock = Tsc::calibrate(CALIBRATION)?;
    let lane = &mut lanes[0];
    let mut storm = Storm::new(lane.port.mac(), priorities, quanta, every, clock.now());
    run(clock, pace, |now| {
        lane.discard();
        // While the device is full, pauses are missed: late ones would leave back to back.
        if lane.waiting.is_empty()
            && let Some(frame) = storm.due(now)
        {
            lane.waiting.extend(lane.pool.frame(frame));
        }
        lane.flush();
        go_on().then(|| storm.next_deadline())
    });
    Ok(storm.report())
}

/// Calls `turn` until it says `None` or time is up, and sleeps until the instant that it says, if that is far enough.
/// Returns the last instant.
fn run(clock: Tsc, pace: Pace, mut turn: impl FnMut(Nanos) -> Option<Nanos>) -> Nanos {
    let end = clock.now() + pace.duration;
    loop {
        let now = clock.now();
        let next = turn(now).filter(|_| now < end);
        let Some(next) = next else { return now };
        if !pace.poll && next > now + REST {
            thread::sleep(Duration::from_nanos(REST.0));
        }
    }
}

/// The longest frame that a host sends.
fn longest_frame(settings: &HostSettings) -> Bytes {
    Bytes(u64::from(settings.mtu) + HEADERS).max(ORDINARY)
}

/// A device with its queues.
struct Lane {
    port: Port,
    rx: RxQueue,
    tx: TxQueue,
    pool: Pool,
    burst: Vec<Mbuf>,
    waiting: Vec<Mbuf>,
}

impl Lane {
    /// Gives `player` what has arrived, and takes what it sends. Returns whether anything moved.
    fn turn(&mut self, now: Nanos, player: &mut Player) -> bool {
        self.rx.receive(&mut self.burst);
        let arrived = self.burst.len();
        for frame in self.burst.drain(..) {
            player.arrive(now, frame.headers());
        }
        // While the device is full, the host keeps the rest: a pause then acts on it.
        if self.waiting.is_empty() {
            player.send(now, &mut |frame: &[u8]| self.waiting.extend(self.pool.frame(frame)));
        }
        let sent = !self.waiting.is_empty();
        self.flush();
        arrived > 0 || sent
    }

    fn flush(&mut self) {
        self.tx.send(&mut self.waiting);
    }

    /// Drops what has arrived.
    fn discard(&mut self) {
        self.rx.receive(&mut self.burst);
        self.burst.clear();
    }
}

/// Starts DPDK with `devices`.
fn open(devices: &[DeviceName], frame_max: Bytes) -> Result<Vec<Lane>, PortsError> {
    let pci: Vec<String> = devices
        .iter()
        .filter_map(|it| match it {
            DeviceName::Pci(address) => Some(address.clone()),
            DeviceName::Virtual(_) | DeviceName::Interface(_) => None,
        })
        .collect();
    let prefix = format!("longspan_traffic_{}", process::id());
    let mut options = EalOptions::new(&prefix);
    if !pci.is_empty() {
        options.memory = dpdk::Memory::Hugepages(Bytes(256 << 20));
    }
    let eal = Eal::start(&EalOptions { pci, ..options })?;
    // One mbuf holds any frame, and a slot of an interface's ring.
    let data_room = Bytes(config::packet_slot(frame_max));
    let mbufs = MBUFS * u32::try_from(devices.len()).unwrap_or(1);
    let pool = Pool::new(&eal, "traffic", PoolSettings { mbufs, data_room, ..PoolSettings::default() })?;
    let open = |(number, device): (usize, &DeviceName)| {
        let (text, spelled) = match device {
            DeviceName::Pci(address) => (address, None),
            DeviceName::Virtual(vdev) => (vdev, Some(vdev.clone())),
            DeviceName::Interface(name) => (name, Some(config::af_packet(number, name, frame_max, RING))),
        };
        let failed = |reason: String| PortsError::Device { device: text.clone(), reason };
        if let Some(vdev) = &spelled {
            eal.attach(vdev).map_err(|error| failed(error.to_string()))?;
        }
        let name = spelled.as_deref().unwrap_or(text).split(',').next().unwrap_or(text);
        let settings = PortSettings { frame_max, control_queue: false, ..PortSettings::new(&pool) };
        let opened = Port::configure(name, &settings).map_err(|error| failed(error.to_string()))?;
        let Opened { port, rx, tx, .. } = opened;
        let (burst, waiting) = (Vec::with_capacity(2 * BURST), Vec::with_capacity(BURST));
        Ok(Lane { port, rx, tx, pool: pool.clone(), burst, waiting })
    };
    devices.iter().enumerate().map(open).collect()
}

/// The descriptors of an interface's ring.
const RING: u16 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_card_a_virtual_device_or_an_interface() {
        let parse = |text: &str| text.parse::<DeviceName>().unwrap();
        assert_eq!(parse("0000:3b:00.0"), DeviceName::Pci("0000:3b:00.0".into()));
        assert_eq!(parse("net_ring0"), DeviceName::Virtual("net_ring0".into()));
        assert_eq!(parse("eth0.100"), DeviceName::Interface("eth0.100".into()));
    }
}
