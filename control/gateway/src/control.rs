//! The control thread: it hears signals and clients, watches workers and links, and changes the
//! configuration.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use config::Gateway;
use switch::{HashKey, Ledger};
use telemetry::{HardwareReport, MemoryReport, ReloadsReport, Snapshot, WireDevice};
use units::{Bytes, Nanos, PortId, Priority};
use worker::Inspection;

use crate::crew::Crew;
use crate::event::Event;
use crate::lateness::{Late, Lateness};
use crate::look::{Circumstances, Looks};
use crate::socket::{Request, Response};
use crate::{notify, reload};

/// How often workers and links are looked at.
const WATCH: Duration = Duration::from_millis(20);
/// How often it is looked whether all has left.
const DRAIN_LOOK: Duration = Duration::from_millis(2);

/// What the control thread knows of a port's device.
pub trait Line {
    /// Whether the link is up.
    fn is_up(&self) -> bool;

    /// Does what it takes beyond waiting to bring a link up that is down. Called often while it is.
    fn bring_up(&mut self);

    /// A message for the log if it failed since the last call.
    fn trouble(&mut self) -> Option<String>;

    /// What it is.
    fn device(&self) -> WireDevice;

    /// What the hardware has counted.
    fn hardware(&self) -> HardwareReport;
}

/// A running gateway.
pub struct Control<L> {
    /// The configuration file.
    pub path: PathBuf,
    /// The configuration with which it was started, and for which its memory was made.
    pub started_as: Gateway,
    /// The configuration as its file says it now.
    pub configured: Gateway,
    /// The configuration in force: the same, with room for workers that are later than it says.
    pub gateway: Gateway,
    /// How late workers have been seen.
    pub lateness: Lateness,
    /// The next configuration in force, and the late ports it is for. It waits until the frames in the shared pool fit
    /// the smaller pool that it has.
    pub widening: Option<(Gateway, Vec<Late>)>,
    /// The seed that was drawn at the start, where the file has none.
    pub drawn_seed: Option<u64>,
    /// The key of the tables, drawn at the start.
    pub hash_key: HashKey,
    /// The workers.
    pub crew: Crew,
    /// The devices, by port.
    pub lines: Vec<L>,
    /// The accounts of the switch.
    pub ledger: Arc<Ledger>,
    /// How much of the memory of frames is in use.
    pub memory: Box<dyn Fn() -> MemoryReport + Send>,
    /// What is to be done.
    pub events: Receiver<Event>,
    /// When it was started, Unix time.
    pub started: Nanos,
    /// The latest looks at its ports.
    pub looks: Looks,
    /// When it ends by itself.
    pub ending: Option<Instant>,
    /// What happened to the configuration.
    pub reloads: ReloadsReport,
}

/// How a gateway ended.
#[derive(Debug)]
pub struct Ended {
    /// The last look, before the workers ended.
    pub snapshot: Snapshot,
    /// Frames that were still inside, and are lost.
    pub left_inside: u64,
    /// The core of a worker that ended by a panic, and ended the gateway.
    pub lost_worker: Option<usize>,
}

impl<L: Line> Control<L> {
    /// Runs until it is told to end, then drains. Gives the last look.
    pub fn run(mut self) -> Ended {
        // Links are up until they are seen to be down, as workers take them to be.
        let mut links = vec![true; self.lines.len()];
        let mut next_watch = Instant::now();
        loop {
            let now = Instant::now();
            if self.ending.is_some_and(|ending| now >= ending) {
                break;
            }
            if now >= next_watch {
                self.watch(&mut links);
                next_watch = now + WATCH;
                if self.crew.lost().is_some() {
                    break;
                }
            }
            match self.events.recv_timeout(next_watch.saturating_duration_since(now)) {
                Ok(Event::Hangup) => drop(self.reload()),
                Ok(Event::Request(request, answer)) => {
                    let response = self.respond(request);
                    // A client that did not wait has its reasons.
                    let _ = answer.send(response);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Terminate) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end()
    }

    fn respond(&mut self, request: Request) -> Response {
        match request {
            Request::Show => Response::Shown(Box::new(self.look())),
            Request::ShowAndClear => {
                let snapshot = self.look();
                self.crew.clear_watermarks();
                Response::Shown(Box::new(snapshot))
            }
            Request::Reload => match self.reload() {
                Ok(changes) => Response::Reloaded(changes),
                Err(reasons) => Response::Refused(reasons),
            },
        }
    }

    /// Reads the configuration again, and puts it in force; all of it or nothing.
    fn reload(&mut self) -> Result<Vec<String>, Vec<String>> {
        notify::reloading();
        let result =
            reload::read(&self.path, &self.started_as, &self.configured, self.drawn_seed, self.hash_key).map(
                |successor| {
                    for warning in &successor.gateway.warnings {
                        tracing::warn!("{warning}");
                    }
                    self.crew.patience = Duration::from_nanos(successor.gateway.runtime.control.stall.0);
                    self.configured = successor.gateway;
                    self.widening = None;
                    let wider = self.lateness.cover(&self.configured, &self.gateway);
                    self.put_in_force(wider);
                    successor.changes
                },
            );
        match &result {
            Ok(changes) if changes.is_empty() => tracing::info!("reloaded: no changes"),
            Ok(changes) => tracing::info!("reloaded: {}", changes.join("; ")),
            Err(reasons) => tracing::error!("reload refused: {}", reasons.join("; ")),
        }
        match &result {
            Ok(_) => self.reloads.applied += 1,
            Err(_) => self.reloads.refused += 1,
        }
        notify::ready(&self.gateway.name);
        result
    }

    /// Has all workers change to `gateway`.
    fn put_in_force(&mut self, gateway: Gateway) {
        for core in self.crew.install(&gateway.program) {
            tracing::warn!(
                "the worker on core {core} is stalled and will apply the configuration when it resumes"
            );
        }
        self.crew.promise(&gateway);
        self.gateway = gateway;
    }

    fn look(&mut self) -> Snapshot {
        let about = Circumstances {
            gateway: &self.gateway,
            configured: &self.configured,
            started: self.started,
            now: unix_time(),
            reloads: self.reloads,
            memory: (self.memory)(),
        };
        self.looks.take(&mut self.crew, &self.lines, about)
    }

    /// Looks for workers that are later than the buffer was made for, and makes room for it.
    fn watch_lateness(&mut self) {
        self.widen();
        let stall = self.configured.runtime.control.stall;
        let mut late = self.lateness.look(&self.crew.members, &self.gateway, stall);
        if self.lateness.is_raised() {
            let wider = self.lateness.cover(&self.configured, &self.gateway);
            if wider.program.settings() != self.gateway.program.settings() {
                // What waits in the shared pool stays where it is: nobody else gets its room before it has left.
                self.put_in_force(self.gateway.with_shared_pool_of(&wider));
                let waiting = self.widening.take().into_iter().flat_map(|(_, late)| late);
                late.extend(waiting);
                self.widening = Some((wider, late));
                return self.widen();
            }
        }
        self.lateness.tell(&late, &self.gateway, Instant::now());
    }

    /// Goes on with a widening, if the shared pool holds no more than it will have.
    fn widen(&mut self) {
        let Some((wider, _)) = &self.widening else { return };
        let will_have = wider.program.settings().buffer.shared;
        // A shard's pools are in the inspection of each of its ports.
        let seen = self.crew.inspect();
        let shards = self.crew.members.iter().filter_map(|member| member.ports.first());
        let held: Option<Bytes> =
            shards.map(|port| Some(seen[port.index()].as_ref()?.pools.shared.held)).sum();
        if held.is_none_or(|held| held > will_have) {
            return;
        }
        if let Some((wider, late)) = self.widening.take() {
            self.put_in_force(wider);
            self.lateness.tell(&late, &self.gateway, Instant::now());
        }
    }

    /// Looks at workers and links.
    fn watch(&mut self, links: &mut [bool]) {
        self.crew.watch();
        self.watch_lateness();
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
                let name = &self.gateway.program.port(PortId(number)).name;
                if up {
                    tracing::info!("port {name}: link up")
                } else {
                    tracing::warn!("port {name}: link down")
                }
            }
        }
    }

    /// Lets leave what is inside, for as long as the configuration grants, then ends the workers.
    fn end(mut self) -> Ended {
        let lost_worker = self.crew.lost();
        notify::stopping();
        tracing::info!("draining");
        self.crew.drain();
        // Commands are followed in order: who has answered after that takes in no more.
        self.crew.inspect();
        let limit = Duration::from_nanos(self.gateway.runtime.control.drain.0);
        let deadline = Instant::now() + limit;
        while self.left_inside() > 0 && Instant::now() < deadline {
            self.crew.drain_late();
            match self.events.recv_timeout(DRAIN_LOOK) {
                // It drains because its time was over or a worker was lost, and now somebody asks for the end.
                Ok(Event::Terminate) => break,
                Ok(Event::Hangup | Event::Request(..)) | Err(_) => {}
            }
        }
        let left_inside = self.left_inside();
        let snapshot = self.look();
        self.crew.stop();
        Ended { snapshot, left_inside, lost_worker }
    }

    /// Data frames that have not left: in the switch, on emulated links, and in devices whose hardware is
    /// full. They go from one to the next, and are looked for in that order, so that none is missed.
    fn left_inside(&mut self) -> u64 {
        let waiting = self.waiting();
        let beyond = |port: Box<Inspection>| port.emulation.data_in_flight + port.device.waiting;
        waiting + self.crew.inspect().into_iter().flatten().map(beyond).sum::<u64>()
    }

    /// Frames that have been admitted and not sent.
    fn waiting(&self) -> u64 {
        let ports = (0..self.ledger.ports() as u16).map(PortId);
        let queues = |port| Priority::all().map(move |priority| (port, priority));
        ports.flat_map(queues).map(|(port, priority)| self.ledger.egress_queue(port, priority).frames).sum()
    }
}

/// The present instant. A clock that is set before 1970 shows that year.
pub fn unix_time() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
