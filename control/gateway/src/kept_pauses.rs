//! Devices that keep received pauses to themselves.
//!
//! The gateway obeys pauses, not the device, so a device that takes them away makes the port send while its peer has no room.
//! Nothing else shows that here. For some drivers it is not known beforehand. So the pauses that the device counts are compared
//! with those that the switch has seen, on the control thread. A kept pause is counted at the next look and judged at the one after
//! that.

use core::time::Duration;
use std::time::Instant;

use config::Gateway;
use dpdk::PausesCounted;
use switch::{Consumed, DropReason, PerReason, PortInspection, Volume};
use telemetry::events::What;
use telemetry::{HardwareReport, Passage, WireDevice};
use units::PortId;
use worker::Inspection;

use crate::line::Line;

/// The interval of looks.
const LOOK: Duration = Duration::from_millis(400);
/// The least time between two lines about a port that say different things.
const QUIET: Duration = Duration::from_secs(10);
/// The looks for which pauses that the switch has seen excuse those that the device counts: that one and the next. A device may
/// count a pause after it has handed it over.
const EXCUSED: u32 = 2;

/// A reading of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The pauses that the device has counted; `None` if it counts none.
    counted: Option<PausesCounted>,
    /// The pauses that the switch has seen, whether or not it obeyed them.
    seen: u64,
    /// Frames that were lost between the device and the switch. They may have been pauses.
    lost: u64,
}

impl Reading {
    /// The reading of a port whose worker gave this answer before the device was asked: then the device is not behind.
    pub fn new(switch: &PortInspection, counted: Option<PausesCounted>, hardware: HardwareReport) -> Self {
        let consumed = |kind: Consumed| switch.ingress.consumed[kind.index()].frames;
        let malformed = |dropped: &PerReason<Volume>| dropped[DropReason::MalformedControl.index()].frames;
        let malformed = switch.ingress.dropped.iter().map(malformed).sum::<u64>();
        Self {
            counted,
            seen: consumed(Consumed::Pfc) + consumed(Consumed::Pause) + malformed,
            lost: hardware.missed + hardware.no_mbuf,
        }
    }
}

/// The readings of one port, and the judgement.
#[derive(Clone, Copy, Debug)]
struct OfPort {
    /// Whether the device passes received pauses, by what it did last; unknown until the peer pauses the port.
    passes: Passage,
    before: Option<Reading>,
    /// Looks since the switch has seen a pause.
    unseen: u32,
    /// Pauses that the device counted at the last look, and that the switch has not seen yet.
    owed: u64,
    /// Pauses that the device has kept.
    kept: u64,
    /// The passage that was told last, of how many kept pauses, and when.
    told: Option<(Passage, u64, Instant)>,
}

impl OfPort {
    const UNKNOWN: Self =
        Self { passes: Passage::Unknown, before: None, unseen: EXCUSED, owed: 0, kept: 0, told: None };

    /// Judges a reading. A pause was kept if the device counted it at the look before, and the switch has seen none since the
    /// look before that.
    fn see(&mut self, reading: Reading) {
        let Some(before) = self.before.replace(reading) else { return };
        if reading.seen > before.seen {
            (self.passes, self.unseen, self.owed) = (Passage::Yes, 0, 0);
            return;
        }
        self.unseen = self.unseen.saturating_add(1);
        let owed = core::mem::take(&mut self.owed);
        if reading.lost > before.lost {
            return;
        }
        if owed > 0 {
            self.passes = Passage::No;
            self.kept = self.kept.saturating_add(owed);
        }
        if self.unseen >= EXCUSED
            && let (Some(now), Some(before)) = (reading.counted, before.counted)
        {
            self.owed = now.since(before);
        }
    }

    /// Returns the passage if it is to be told: at first, after a change, and once per `repeat` if more pauses were kept. With it
    /// come the pauses kept since it was told last.
    fn news(&mut self, repeat: Duration, now: Instant) -> Option<(Passage, u64)> {
        let (told, told_kept) = self.told.map_or((Passage::Unknown, 0), |(told, kept, _)| (told, kept));
        let elapsed = self.told.map_or(Duration::MAX, |(.., at)| now.duration_since(at));
        let since = self.kept - told_kept;
        let is_due = match self.passes {
            Passage::No if told == Passage::No => since > 0 && elapsed >= repeat,
            passes => passes != told && elapsed >= QUIET,
        };
        is_due.then(|| {
            self.told = Some((self.passes, self.kept, now));
            (self.passes, since)
        })
    }
}

/// The devices that may keep pauses.
pub struct KeptPauses {
    /// `None` for a device that is known to pass them.
    ports: Vec<Option<OfPort>>,
    next_look: Option<Instant>,
}

impl KeptPauses {
    /// Nothing is known yet of those devices whose driver is not known to pass pauses.
    pub fn of(lines: &[impl Line]) -> Self {
        let ports =
            lines.iter().map(|line| (line.device().pfc.receive != Passage::Yes).then_some(OfPort::UNKNOWN));
        Self { ports: ports.collect(), next_look: None }
    }

    /// Whether it is time to look; never if all devices are known to pass pauses.
    pub fn is_due(&mut self, now: Instant) -> bool {
        if self.ports.iter().all(Option::is_none) || self.next_look.is_some_and(|next| now < next) {
            return false;
        }
        self.next_look = Some(now + LOOK);
        true
    }

    /// Judges the answers of the workers, which were `seen` before this call, and asks the devices. A port whose worker does not
    /// answer waits for the next look.
    pub fn see(&mut self, seen: &[Option<Box<Inspection>>], lines: &[impl Line]) {
        for ((it, seen), line) in self.ports.iter_mut().zip(seen).zip(lines) {
            if let (Some(it), Some(seen)) = (it, seen) {
                it.see(Reading::new(&seen.port, line.pauses_counted(), line.hardware()));
            }
        }
    }

    /// Logs what is new. Returns the event of each port whose device keeps pauses, or no longer does.
    pub fn tell(&mut self, gateway: &Gateway, lines: &[impl Line], now: Instant) -> Vec<(PortId, What)> {
        let repeat = Duration::from_nanos(gateway.runtime.control.repeat.0);
        let mut told = Vec::new();
        for ((port, it), line) in (0..).map(PortId).zip(&mut self.ports).zip(lines) {
            let Some(it) = it else { continue };
            let before = it.told.map(|(told, ..)| told);
            let Some((passes, frames)) = it.news(repeat, now) else { continue };
            let (name, device) = (&gateway.program.port(port).name, line.device().name);
            match passes {
                Passage::No => tracing::warn!(
                    "port {name}: {device} keeps received pauses to itself: it counted {frames}, and the gateway saw none of \
                     them, so the port sends while its peer has no room"
                ),
                _ => tracing::info!("port {name}: {device} passes received pauses to the gateway"),
            }
            if passes == Passage::No || before == Some(Passage::No) {
                told.push((port, What::PausesKept { keeps: passes == Passage::No, frames }));
            }
        }
        told
    }

    /// `device` of `port`, with what was found out about its reception.
    pub fn correct(&self, port: PortId, mut device: WireDevice) -> WireDevice {
        if let Some(found) = self.found(port).filter(|found| found.passes != Passage::Unknown) {
            device.pfc.receive = found.passes;
        }
        device
    }

    /// The pauses that the device of `port` has kept.
    pub fn kept(&self, port: PortId) -> u64 {
        self.found(port).map_or(0, |found| found.kept)
    }

    fn found(&self, port: PortId) -> Option<&OfPort> {
        self.ports.get(port.index())?.as_ref()
    }
}

#[cfg(test)]
mod tests;
