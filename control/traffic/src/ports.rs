//! Players, captures and storms on devices of DPDK, on one thread.

pub use crate::device::{DeviceError, DeviceName};
pub use crate::lane::PortsError;

use crate::lane::{self, Lane};
use crate::plan::HostPlan;
use crate::player::{Player, PlayerSettings};
use crate::replayer::{LONGEST, ReplayReport, Replayer};
use crate::report::{CountersReport, HostReport, PlayReport, StormReport};
use crate::storm::{self, Storm};
use core::time::Duration;
use dpdk::Tsc;
use endpoint::HostSettings;
use replay::capture::{CaptureError, CaptureFile, FrameSource, Splitter};
use std::path::Path;
use std::thread;
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PrioritySet};

/// The longest header of a packet, and room to spare.
const HEADERS: u64 = 128;
/// A frame of 1,500 bytes of payload, with a VLAN tag.
const ORDINARY: Bytes = Bytes(1_518);
/// The sleep of a thread that has nothing to do, unless something is due before.
const REST: Interval = Interval::from_micros(50);
/// How long hosts stay after their last flow has ended, to answer what is sent to them again.
const LINGER: Interval = Interval(300_000_000);
/// How long a link may take to come up: a card and its peer agree on how they speak, for some seconds.
const PATIENCE: Interval = Interval::from_secs(10);
const CALIBRATION: Duration = Duration::from_millis(200);

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
    plan: &HostPlan,
    devices: &[DeviceName],
    settings: &PlayerSettings,
    pace: Pace,
    go_on: impl Fn() -> bool,
) -> Result<PlayReport, PortsError> {
    let hosts = plan.parts.iter().map(|part| longest_frame(&part.settings));
    let lanes = lane::open(devices, hosts.max().unwrap_or(ORDINARY))?;
    let clock = Tsc::calibrate(CALIBRATION)?;
    wait_for_links(&clock, &lanes, &go_on)?;
    let begin = clock.now();
    let player = |part| Player::new(part, settings.clone(), begin);
    let mut stages: Vec<_> = plan.parts.iter().map(player).zip(lanes).collect();
    let mut done_at = None;
    let now = run(&clock, begin, pace, |now| {
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
    let report = |(player, lane): &(Player, Lane)| {
        let report = player.report(&plan.groups);
        let counters = CountersReport { unsent: lane.unsent(), ..report.counters };
        HostReport { counters, ..report }
    };
    Ok(PlayReport {
        duration_ns: done_at.unwrap_or(now).since(begin).0,
        complete: done_at.is_some(),
        hosts: stages.iter().map(report).collect(),
    })
}

/// Plays the capture at `path` through `device`, only frames of `sources` if there are any, until all of it is sent, time
/// is up, or `go_on` says no. Pauses are timed by `rate`, or else by that of the device. Returns why the capture could not
/// be read to its end, too.
///
/// # Errors
/// [`PortsError`] if the device or the capture cannot be used.
pub fn replay(
    path: &Path,
    device: &DeviceName,
    sources: Option<Splitter>,
    rate: Option<BitRate>,
    pace: Pace,
    go_on: impl Fn() -> bool,
) -> Result<(ReplayReport, Option<CaptureError>), PortsError> {
    let mut lanes = lane::open(core::slice::from_ref(device), longest_of(path)?)?;
    let clock = Tsc::calibrate(CALIBRATION)?;
    wait_for_links(&clock, &lanes, &go_on)?;
    let lane = &mut lanes[0];
    let rate = rate.or(lane.rate()).ok_or_else(|| DeviceError::NoRate(lane.device()))?;
    let begin = clock.now();
    let mut replayer = Replayer::new(CaptureFile::open(path)?, sources, rate, begin)?;
    let now = run(&clock, begin, pace, |now| {
        let moved = lane.turn(now, &mut replayer);
        let is_done = replayer.is_done() && lane.waiting.is_empty();
        (!is_done && go_on()).then(|| if moved { now } else { replayer.next_deadline() })
    });
    let (report, error) = replayer.end(Duration::from_nanos(now.since(begin).0));
    let left = lane.waiting.len() as u64;
    let complete = report.complete && left == 0;
    Ok((ReplayReport { complete, unsent: lane.unsent() + left, ..report }, error))
}

/// The longest frame of the capture at `path`, up to where it can be read.
fn longest_of(path: &Path) -> Result<Bytes, CaptureError> {
    let (mut source, mut longest) = (CaptureFile::open(path)?, ORDINARY);
    while let Ok(Some(frame)) = source.next_frame() {
        longest = longest.max(Bytes(frame.original_length.min(LONGEST).into()));
    }
    Ok(longest)
}

/// Sends a storm of pauses through `device` until time is up, or `go_on` says no.
///
/// # Errors
/// [`PortsError`] if the device cannot be used, or `every` is shorter than a pause takes on its link.
pub fn storm(
    device: &DeviceName,
    priorities: PrioritySet,
    quanta: PauseQuanta,
    every: Interval,
    pace: Pace,
    go_on: impl Fn() -> bool,
) -> Result<StormReport, PortsError> {
    let mut lanes = lane::open(core::slice::from_ref(device), ORDINARY)?;
    let clock = Tsc::calibrate(CALIBRATION)?;
    wait_for_links(&clock, &lanes, &go_on)?;
    let lane = &mut lanes[0];
    refuse_too_often(lane, every)?;
    let begin = clock.now();
    let end = begin + pace.duration;
    let mut storm = Storm::new(lane.port.mac(), priorities, quanta, every, begin, end);
    let mut taken = 0;
    run(&clock, begin, pace, |now| {
        lane.discard();
        // While the device is full, pauses are missed: late ones would leave back to back.
        if lane.waiting.is_empty()
            && let Some(frame) = storm.due(now)
        {
            lane.waiting.extend(lane.pool.frame(frame));
        }
        taken += lane.flush() as u64;
        go_on().then(|| storm.next_deadline())
    });
    let report = storm.report();
    let sent = taken.saturating_sub(lane.unsent());
    Ok(StormReport { sent, unsent: report.sent.saturating_sub(sent), ..report })
}

/// Waits until the links of all devices are up, or `go_on` says no: the run then ends with its report.
fn wait_for_links(clock: &Tsc, lanes: &[Lane], go_on: &impl Fn() -> bool) -> Result<(), DeviceError> {
    let end = clock.now() + PATIENCE;
    while let Some(down) = lanes.iter().find(|lane| !lane.is_up()) {
        if !go_on() {
            break;
        }
        if clock.now() >= end {
            return Err(DeviceError::NoLink(down.device()));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Refuses pauses that follow each other faster than the link carries them, if its rate is known.
fn refuse_too_often(lane: &Lane, every: Interval) -> Result<(), DeviceError> {
    let Some(rate) = lane.rate() else { return Ok(()) };
    let least = rate.serialization().time_of(storm::on_wire());
    if every >= least {
        return Ok(());
    }
    Err(DeviceError::TooOften { device: lane.device(), every, least, rate })
}

/// Calls `turn` from `begin` on until it says `None` or time is up, and sleeps until the instant that it says, if that is
/// far enough. Returns the last instant.
fn run(clock: &Tsc, begin: Nanos, pace: Pace, mut turn: impl FnMut(Nanos) -> Option<Nanos>) -> Nanos {
    let end = begin + pace.duration;
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
