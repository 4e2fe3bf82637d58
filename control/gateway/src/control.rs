//! The control thread: it handles signals and clients, watches workers and links, and changes the
//! configuration.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use config::Gateway;
use switch::program::{Membership, PortSettings};
use switch::{HashKey, Ledger};
use telemetry::events::What;
use telemetry::{CoveredDelayReport, MemoryReport, Observation, ReloadsReport, Snapshot};
use units::{Bytes, Nanos, PortId, Priority};
use worker::Inspection;

use crate::captures::Captures;
use crate::crew::Crew;
use crate::device_mtu::DeviceMtus;
use crate::event::{Event, KernelTable};
use crate::journal::Journal;
use crate::kept_pauses::KeptPauses;
use crate::lateness::{Late, Lateness};
use crate::line::Line;
use crate::link_agent::LinkAgents;
use crate::link_delay::{Change, LinkDelays};
use crate::look::Looks;
use crate::reload::{Basis, Outcome, Reloads};
use crate::socket::{Request, Response};
use crate::{kernel, notify, reload};

/// The interval of checks of workers and links.
pub const WATCH: Duration = Duration::from_millis(20);
/// The same where there are bundles: so late do the frames of a failed member move.
const WATCH_BUNDLES: Duration = Duration::from_nanos(Membership::CARRIER_WATCH.0);
/// The interval of checks whether a drain has finished.
const DRAIN_LOOK: Duration = Duration::from_millis(2);

/// Why headroom is another than before. A later one stands for all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Dcbx,
    LinkDelay,
    Lateness,
    Reload,
}

impl Reason {
    /// That of a change while no file was loaded, whether or not a worker was later than covered or a link was measured
    /// anew. Only a neighbour is left if neither was.
    fn of(is_late: bool, is_measured: bool) -> Self {
        match (is_late, is_measured) {
            (true, _) => Self::Lateness,
            (false, true) => Self::LinkDelay,
            (false, false) => Self::Dcbx,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Dcbx => "dcbx",
            Self::LinkDelay => "link_delay",
            Self::Lateness => "lateness",
            Self::Reload => "reload",
        }
    }
}

/// A configuration with less in its shared pool, which waits until the frames there fit.
pub struct Widening {
    gateway: Gateway,
    /// The late ports it is for.
    late: Vec<Late>,
    reason: Reason,
}

/// A running gateway.
pub struct Control<L> {
    /// The configuration file.
    pub path: PathBuf,
    /// The configuration at the start, which determined its memory.
    pub started_as: Gateway,
    /// The configuration as loaded from its file.
    pub configured: Gateway,
    /// The configuration in force: `configured`, with the PFC that neighbours have negotiated, headroom for links of the measured delays, and room for workers that
    /// are later than configured.
    pub gateway: Gateway,
    /// The observed lateness of workers.
    pub lateness: Lateness,
    /// The MTUs of devices.
    pub device_mtus: DeviceMtus,
    /// The devices that may keep received pauses to themselves.
    pub kept_pauses: KeptPauses,
    /// The measured delays of links.
    pub link_delays: LinkDelays,
    /// The neighbours of ports, and what they have changed.
    pub link_agents: LinkAgents,
    /// A pending configuration.
    pub widening: Option<Widening>,
    /// The seed drawn at the start, if the file has none.
    pub drawn_seed: Option<u64>,
    /// The key of the tables, drawn at the start.
    pub hash_key: HashKey,
    /// The workers.
    pub crew: Crew,
    /// The devices, by port.
    pub lines: Vec<L>,
    /// The accounts of the switch: one ledger, or that of each lane.
    pub ledgers: Vec<Arc<Ledger>>,
    /// Reports the memory of frames in use.
    pub memory: Box<dyn Fn() -> MemoryReport + Send>,
    /// The events to handle.
    pub events: Receiver<Event>,
    /// The start, in Unix time.
    pub started: Nanos,
    /// The rate of the time stamp counter.
    pub tsc_hz: u64,
    /// The latest inspections of its ports.
    pub looks: Looks,
    /// When the gateway ends by itself.
    pub ending: Option<Instant>,
    /// The reloads that go on or are to follow.
    pub reloading: Reloads,
    /// The counts of reloads.
    pub reloads: ReloadsReport,
    /// Frames for the gateway itself that the kernel did not take.
    pub refused_by_kernel: Arc<AtomicU64>,
    /// The events.
    pub journal: Journal,
    /// The captures that go on.
    pub captures: Captures,
}

/// The outcome of a gateway.
#[derive(Debug)]
pub struct Ended {
    /// The last snapshot, before the workers ended.
    pub snapshot: Snapshot,
    /// Frames still queued, which are lost.
    pub left_inside: u64,
    /// The core of a worker whose panic ended the gateway.
    pub lost_worker: Option<usize>,
}

impl<L: Line> Control<L> {
    /// Runs until it is asked to end, then drains. Returns the outcome, and the devices, which are still open.
    pub fn run(mut self) -> (Ended, Vec<L>) {
        // Workers assume that links are up, so start from that.
        let mut links = vec![true; self.lines.len()];
        let mut next_watch = Instant::now();
        loop {
            let now = Instant::now();
            if self.ending.is_some_and(|ending| now >= ending) {
                break;
            }
            if now >= next_watch {
                self.watch(&mut links);
                let mut ports = self.gateway.program.settings().ports.iter();
                next_watch =
                    now + if ports.any(|port| port.bundle.is_some()) { WATCH_BUNDLES } else { WATCH };
                if self.crew.lost().is_some() {
                    break;
                }
            }
            match self.events.recv_timeout(next_watch.saturating_duration_since(now)) {
                Ok(Event::Hangup) => self.request_reload(None),
                Ok(Event::ReloadRead) => self.end_reload(),
                Ok(Event::Request(request, client)) => self.respond(request, client),
                Ok(Event::Subscribe(request, answer)) => {
                    let _ = answer.send(self.journal.subscribe(&request));
                }
                Ok(Event::Capture(request, answer)) => {
                    let _ = answer.send(self.captures.begin(request, &mut self.crew, &self.gateway));
                }
                Ok(Event::EndCapture(number)) => self.captures.end(number, &mut self.crew),
                Ok(Event::Kernel(update)) => self.learn(update),
                Ok(Event::KernelRefused(reason)) => self.note_refused(reason),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Terminate) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end()
    }

    fn respond(&mut self, request: Request, client: Sender<Response>) {
        let response = match request {
            Request::Show => Response::Shown(Box::new(self.look())),
            Request::ShowAndClear => {
                let snapshot = self.look();
                self.crew.clear_watermarks();
                Response::Shown(Box::new(snapshot))
            }
            Request::Reload => return self.request_reload(Some(client)),
            Request::Events(_) | Request::Capture(_) => {
                Response::InvalidRequest("its answer is a stream, which takes its own connection".into())
            }
        };
        // The client may have disconnected.
        let _ = client.send(response);
    }

    /// Begins a reload, unless one goes on; then it follows.
    fn request_reload(&mut self, client: Option<Sender<Response>>) {
        self.reloading.request(client);
        self.begin_reload();
    }

    fn begin_reload(&mut self) {
        if !self.reloading.is_due() {
            return;
        }
        notify::reloading();
        let basis = Basis {
            path: self.path.clone(),
            started: self.started_as.clone(),
            running: self.configured.clone(),
            workers: self.crew.members.iter().map(|it| it.ports.iter().copied().collect()).collect(),
            seed: self.drawn_seed,
            hash_key: self.hash_key,
        };
        if let Err(error) = self.reloading.begin(basis) {
            self.conclude_reload(Err(vec![format!("cannot start a thread to read the file: {error}")]));
        }
    }

    /// Ends the reload whose file was read, and begins the next one if someone has asked for it.
    fn end_reload(&mut self) {
        if let Some(outcome) = self.reloading.outcome() {
            self.conclude_reload(outcome);
            self.begin_reload();
        }
    }

    /// Puts a configuration in force, completely or not at all.
    fn conclude_reload(&mut self, outcome: Outcome) {
        let result = outcome.and_then(|successor| {
            let reasons = self.device_mtus.refuse(&self.configured, &successor.gateway);
            if reasons.is_empty() { Ok(successor) } else { Err(reasons) }
        });
        let result = result.map(|successor| {
            for warning in &successor.gateway.warnings {
                tracing::warn!("{warning}");
            }
            self.crew.patience = Duration::from_nanos(successor.gateway.runtime.control.stall.0);
            self.configured = successor.gateway.with_learned_of(&self.configured);
            self.widening = None;
            let wider = self.wanted();
            self.put_in_force(wider, Reason::Reload);
            successor.changes
        });
        let (Ok(lines) | Err(lines)) = &result;
        let lines = reload::shortened(lines);
        match &result {
            Ok(_) if lines.is_empty() => tracing::info!("reloaded: no changes"),
            Ok(_) => tracing::info!("reloaded: {}", lines.join("; ")),
            Err(_) => tracing::error!("reload refused: {}", lines.join("; ")),
        }
        self.journal.note(unix_time(), None, None, What::Reload { applied: result.is_ok(), lines });
        let count = if result.is_ok() { &mut self.reloads.applied } else { &mut self.reloads.refused };
        *count += 1;
        self.reloading.answer(&result);
        notify::ready(&self.gateway.name);
    }

    /// Makes all workers change to `gateway`, for this `reason`.
    fn put_in_force(&mut self, gateway: Gateway, reason: Reason) {
        let before = self.install(gateway);
        self.note_headroom(&before, reason);
        for (port, what) in self.link_agents.tell_negotiated(&self.configured, &self.gateway) {
            self.journal.note(unix_time(), Some(port), None, what);
        }
    }

    /// Makes all workers change to `gateway`. Returns the one before.
    fn install(&mut self, gateway: Gateway) -> Gateway {
        for core in self.crew.install(&gateway.program, &self.gateway.program) {
            tracing::warn!(
                "the worker on core {core} is stalled and will apply the configuration when it resumes"
            );
        }
        self.crew.promise(&gateway);
        core::mem::replace(&mut self.gateway, gateway)
    }

    /// Puts the routes of the kernel in force once their programs are made, or says that it has too many.
    fn learn(&mut self, mut update: KernelTable) {
        match &update.table {
            Ok(learned) => {
                let waiting = self.widening.iter_mut().map(|it| &mut it.gateway);
                let mut gateways: Vec<_> =
                    [&mut self.configured, &mut self.gateway].into_iter().chain(waiting).collect();
                let programs: Option<Vec<_>> =
                    gateways.iter().map(|gateway| update.program_for(&gateway.program)).collect();
                let Some(programs) = programs else {
                    // They are not made yet, or a gateway has changed meanwhile.
                    update.made = gateways.into_iter().map(|gateway| (gateway.clone(), None)).collect();
                    let maker = update.maker.clone();
                    // If its thread has panicked, the log says so, and the routes before stay.
                    let _ = maker.send(update);
                    return;
                };
                for (gateway, program) in gateways.iter_mut().zip(programs) {
                    gateway.program = program;
                }
                self.crew.exchange(&self.gateway.program);
                let routes = learned.len() as u64;
                self.journal.note(unix_time(), None, None, What::Kernel { routes, refused: None });
            }
            Err(beyond) => self.note_refused(kernel::excess(*beyond)),
        }
    }

    fn note_refused(&mut self, reason: String) {
        tracing::warn!("{reason}");
        self.journal.note(unix_time(), None, None, What::Kernel { routes: 0, refused: Some(reason) });
    }

    /// Notes the groups whose headroom was another in `before`.
    fn note_headroom(&mut self, before: &Gateway, reason: Reason) {
        let now = unix_time();
        let ports = before.program.settings().ports.iter().zip(&self.gateway.program.settings().ports);
        for (port, (before, after)) in (0..).map(PortId).zip(ports) {
            for priority in Priority::all() {
                let headroom = |settings: &PortSettings| {
                    settings.groups[priority.index()].lossless().map_or(0, |group| group.headroom.0)
                };
                let (from_bytes, to_bytes) = (headroom(before), headroom(after));
                // Beside a reload, nothing else makes a priority lossy or lossless.
                let is_negotiated =
                    before.lossless().contains(priority) != after.lossless().contains(priority);
                let reason = if is_negotiated && reason != Reason::Reload { Reason::Dcbx } else { reason };
                if from_bytes != to_bytes {
                    let what = What::HeadroomMoved { reason: reason.name(), from_bytes, to_bytes };
                    self.journal.note(now, Some(port), Some(priority), what);
                }
            }
        }
    }

    fn look(&mut self) -> Snapshot {
        let about = Observation {
            gateway: &self.gateway,
            configured: &self.configured,
            started: self.started,
            now: unix_time(),
            tsc_hz: self.tsc_hz,
            reloads: self.reloads,
            refused_by_kernel: self.refused_by_kernel.load(Ordering::Relaxed),
            memory: (self.memory)(),
            covered_delays: self.covered_delays(),
            negotiated: self.link_agents.reports(&self.configured, &self.gateway),
            ledgers: self.ledgers.iter().map(Arc::as_ref).collect(),
            ports: Vec::new(),
            workers: Vec::new(),
        };
        self.looks.take(&mut self.crew, &self.lines, &self.kept_pauses, about)
    }

    /// Finds workers that are later than the buffer covers, and links of another delay, and makes room for that.
    fn watch_room(&mut self) {
        self.widen();
        let stall = self.configured.runtime.control.stall;
        let mut late = self.lateness.look(&self.crew.members, &self.gateway, stall);
        let changes = self.see_link_delays();
        let negotiated = self.see_neighbours();
        let (is_late, is_measured) = (self.lateness.is_raised(), !changes.is_empty());
        if is_late || is_measured || negotiated {
            let mut reason = Reason::of(is_late, is_measured);
            let wider = self.wanted();
            self.link_delays.tell(&changes, &wider, Instant::now());
            if wider.program.settings() != self.gateway.program.settings() {
                // Shrink the shared pool first. Its frames keep their room until they have left.
                self.put_in_force(self.gateway.with_shared_pool_of(&wider), reason);
                if let Some(waiting) = self.widening.take() {
                    late.extend(waiting.late);
                    reason = reason.max(waiting.reason);
                }
                self.widening = Some(Widening { gateway: wider, late, reason });
                return self.widen();
            }
        }
        self.lateness.tell(&late, &self.gateway, Instant::now());
    }

    /// The configuration that should be in force.
    fn wanted(&mut self) -> Gateway {
        let negotiated = self.link_agents.apply(&self.configured);
        let covered = self.lateness.cover(&self.link_delays.apply(&negotiated), &self.gateway);
        self.device_mtus.apply(&covered)
    }

    /// Lets no frame be queued for a device that would drop it in silence.
    fn watch_mtus(&mut self) {
        let changed = self.device_mtus.see(&self.lines);
        if changed.is_empty() {
            return;
        }
        let limited = self.device_mtus.apply(&self.gateway);
        self.install(limited);
        if let Some(widening) = &mut self.widening {
            widening.gateway = self.device_mtus.apply(&widening.gateway);
        }
        for port in changed {
            let device = self.lines[port.index()].device().name;
            let what = self.device_mtus.tell(port, &device, &self.gateway);
            what.into_iter().for_each(|what| self.journal.note(unix_time(), Some(port), None, what));
        }
    }

    /// Finds devices that keep received pauses to themselves.
    fn watch_pauses(&mut self) {
        let now = Instant::now();
        if !self.kept_pauses.is_due(now) {
            return;
        }
        // The workers first: a device then has counted all that they have seen.
        let seen = self.crew.inspect();
        self.kept_pauses.see(&seen, &self.lines);
        for (port, what) in self.kept_pauses.tell(&self.gateway, &self.lines, now) {
            self.journal.note(unix_time(), Some(port), None, what);
        }
    }

    /// Judges what neighbours announce, now and then. Returns whether the PFC of a port is to change.
    fn see_neighbours(&mut self) -> bool {
        let now = Instant::now();
        if !self.link_agents.is_due(&self.configured, now) {
            return false;
        }
        let heard = |seen: Option<Box<Inspection>>| seen?.port.link_agent;
        let heard: Vec<_> = self.crew.inspect().into_iter().map(heard).collect();
        let changes = self.link_agents.see(&heard, &self.configured, now);
        for (port, mismatches) in self.link_agents.tell(&heard, &self.gateway, now) {
            self.journal.note(unix_time(), Some(port), None, What::Neighbour { mismatches });
        }
        changes
    }

    /// Judges what the workers have measured, now and then. Returns the ports whose headroom is to change.
    fn see_link_delays(&mut self) -> Vec<Change> {
        let now = Instant::now();
        if !self.link_delays.is_due(&self.configured, now) {
            return Vec::new();
        }
        let measured = |seen: Option<Box<Inspection>>| seen?.port.link_delay?.delay;
        let measured: Vec<_> = self.crew.inspect().into_iter().map(measured).collect();
        let changes = self.link_delays.see(&measured, &self.configured);
        self.link_delays.tell(&[], &self.gateway, now);
        changes
    }

    /// The delay that the headroom of each port covers, where a measured one may set it.
    fn covered_delays(&self) -> Vec<Option<CoveredDelayReport>> {
        let covered = |port| {
            self.configured.delay_bounds(port)?;
            let covered_ns = self.gateway.link_delay(port)?.0;
            Some(CoveredDelayReport { covered_ns, ..self.link_delays.report(port) })
        };
        (0..).map(PortId).take(self.lines.len()).map(covered).collect()
    }

    /// Completes a widening once the frames in the shared pool fit its new size.
    fn widen(&mut self) {
        let Some(Widening { gateway: wider, .. }) = &self.widening else { return };
        let will_have = wider.program.settings().buffer.shared;
        // Each port's inspection includes its shard's pools, so one port per shard is enough.
        let seen = self.crew.inspect_each();
        let held: Option<Bytes> =
            seen.iter().map(|ports| Some(ports.first()?.as_ref()?.pools.shared.held)).sum();
        if held.is_none_or(|held| held > will_have) {
            return;
        }
        if let Some(Widening { gateway, late, reason }) = self.widening.take() {
            self.put_in_force(gateway, reason);
            self.lateness.tell(&late, &self.gateway, Instant::now());
        }
    }

    /// Checks workers and links.
    fn watch(&mut self, links: &mut [bool]) {
        self.crew.watch();
        self.captures.remove_ended(&mut self.crew);
        self.journal.collect();
        self.watch_room();
        self.watch_mtus();
        self.watch_pauses();
        for (number, (line, known)) in (0..).zip(self.lines.iter_mut().zip(links)) {
            if let Some(trouble) = line.trouble() {
                let name = &self.gateway.program.port(PortId(number)).name;
                tracing::warn!("port {name}: {trouble}");
            }
            let up = line.is_up();
            if !up {
                line.bring_up();
            }
            if up != *known && self.crew.link(PortId(number), up) {
                *known = up;
                self.journal.note(unix_time(), Some(PortId(number)), None, What::Link { up });
                let name = &self.gateway.program.port(PortId(number)).name;
                if up {
                    tracing::info!("port {name}: link up")
                } else {
                    tracing::warn!("port {name}: link down")
                }
            }
        }
    }

    /// Drains for as long as the configuration allows, then ends the workers.
    fn end(mut self) -> (Ended, Vec<L>) {
        let lost_worker = self.crew.lost();
        notify::stopping();
        tracing::info!("draining");
        self.crew.drain();
        // Workers follow commands in order, so one that answers this has stopped admission.
        self.crew.inspect();
        let limit = Duration::from_nanos(self.gateway.runtime.control.drain.0);
        let deadline = Instant::now() + limit;
        while self.left_inside() > 0 && Instant::now() < deadline {
            self.crew.drain_late();
            self.journal.collect();
            match self.events.recv_timeout(DRAIN_LOOK) {
                // The drain began because the time was up or a worker was lost, and now the end is requested.
                Ok(Event::Terminate) => break,
                Ok(Event::EndCapture(number)) => self.captures.end(number, &mut self.crew),
                // No one is answered any more.
                Ok(_) | Err(_) => {}
            }
        }
        let left_inside = self.left_inside();
        // Not before the end: a neighbour that forgets the port may turn off PFC, which the drain still needs. The look that
        // follows waits for a turn of each worker, in which these announcements leave.
        self.crew.shut_down_agents();
        let snapshot = self.look();
        self.journal.collect();
        self.crew.stop();
        (Ended { snapshot, left_inside, lost_worker }, self.lines)
    }

    /// Data frames that have not left: in the switch, on emulated links, and in devices whose hardware is
    /// full. Frames move through these in this order, and so does the count, so that none is missed.
    fn left_inside(&mut self) -> u64 {
        let waiting = self.waiting();
        let beyond = |port: Box<Inspection>| port.emulation.data_in_flight + port.device.waiting;
        waiting + self.crew.inspect().into_iter().flatten().map(beyond).sum::<u64>()
    }

    /// Frames admitted but not sent.
    fn waiting(&self) -> u64 {
        let ports = |ledger: &Arc<Ledger>| (0..ledger.ports() as u16).map(PortId);
        let frames = |ledger: &Arc<Ledger>, port| -> u64 {
            Priority::all().map(|priority| ledger.egress_queue(port, priority).frames).sum()
        };
        self.ledgers.iter().map(|it| ports(it).map(|port| frames(it, port)).sum::<u64>()).sum()
    }
}

/// The current Unix time; zero if the system clock is before 1970.
pub fn unix_time() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
