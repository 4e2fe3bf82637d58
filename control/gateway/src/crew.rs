//! The workers, as seen by the control thread.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use config::Gateway;
use dpdk::ResidentMemory;
use switch::{ForwardingSettings, LanesRefusal, Program, Successor};
use units::human::nanos;
use units::{Interval, PortId};
use worker::{Command, Controls, Inspection, Monitor, Reply, Stage, Tap};

/// How often the control thread looks whether a worker has answered.
const LOOK: Duration = Duration::from_micros(50);

/// One worker.
pub struct Member {
    /// The core that it runs on.
    pub core: usize,
    /// The ports that it has. Lanes all have the same ones.
    pub ports: Vec<PortId>,
    /// Its pulse.
    pub monitor: Arc<Monitor>,
    controls: Controls,
    thread: JoinHandle<()>,
    /// Answers still to come that no one waits for.
    overdue: usize,
    /// A configuration that did not fit into its mailbox.
    untold: Option<Arc<Program>>,
    /// Whether a drain command did not fit into its mailbox.
    undrained: bool,
    pulse: Pulse,
}

impl Member {
    /// The worker that runs on `thread`.
    pub fn new(
        core: usize,
        ports: Vec<PortId>,
        monitor: Arc<Monitor>,
        controls: Controls,
        thread: JoinHandle<()>,
    ) -> Self {
        let (untold, undrained) = (None, false);
        Self { core, ports, monitor, controls, thread, overdue: 0, untold, undrained, pulse: Pulse::new() }
    }

    /// Sends a command if the mailbox has room, which it has unless the worker is stalled.
    fn tell(&mut self, command: Command) -> bool {
        self.controls.send(command).is_ok()
    }

    /// Installs `program`; if its mailbox is full, as soon as there is room. Tables that are `resized` will be used, so they
    /// are touched here; others only take the place of memory.
    fn tell_program(&mut self, program: Arc<Program>, resized: bool) -> bool {
        if self.controls.is_full() {
            self.untold = Some(program);
            return false;
        }
        let make = || Box::new(Successor::new(program.clone()));
        let successor = if resized { ResidentMemory::around(make) } else { make() };
        let told = self.tell(Command::Install(successor));
        self.untold = (!told).then_some(program);
        told
    }

    /// Makes its ports admit no more data; if its mailbox is full, as soon as there is room.
    fn tell_to_drain(&mut self) -> bool {
        let told = self.tell(Command::Drain);
        self.undrained = !told;
        told
    }

    /// Drops answers that no one waits for. Returns whether no more of them are to come.
    fn catch_up(&mut self) -> bool {
        while self.overdue > 0 && self.controls.receive().is_some() {
            self.overdue -= 1;
        }
        self.overdue == 0
    }

    /// The next answer to a command that someone waits for.
    fn hear(&mut self) -> Option<Reply> {
        if self.catch_up() { self.controls.receive() } else { None }
    }
}

/// Whether a worker follows a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// It does not know of it: its mailbox is full.
    No,
    /// It is stalled and will follow when it resumes.
    Late,
    /// It has followed.
    Done,
}

/// The time of a worker's last known turn.
struct Pulse {
    turns: u64,
    seen: Instant,
    stalled_since: Option<Instant>,
}

impl Pulse {
    fn new() -> Self {
        Self { turns: 0, seen: Instant::now(), stalled_since: None }
    }

    /// Checks once; returns what has changed.
    fn look(&mut self, turns: u64, now: Instant, limit: Duration) -> Option<PulseChange> {
        if turns != self.turns {
            (self.turns, self.seen) = (turns, now);
            return self.stalled_since.take().map(|since| PulseChange::Recovered(now - since));
        }
        if self.stalled_since.is_some() || now - self.seen < limit {
            return None;
        }
        self.stalled_since = Some(self.seen);
        Some(PulseChange::Stalled)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum PulseChange {
    Stalled,
    Recovered(Duration),
}

/// All workers of a gateway.
pub struct Crew {
    /// The workers. If they are lanes, the first one leads.
    pub members: Vec<Member>,
    names: Vec<String>,
    /// A worker that completes no turn for this long is stalled and is not waited for.
    pub patience: Duration,
}

impl Crew {
    /// The workers of the ports called `names`.
    pub fn new(members: Vec<Member>, names: Vec<String>, patience: Duration) -> Self {
        Self { members, names, patience }
    }

    /// The core of a worker that ended by a panic.
    pub fn lost(&self) -> Option<usize> {
        self.members.iter().find(|member| member.thread.is_finished()).map(|member| member.core)
    }

    /// Checks each worker's pulse, and logs which one has stalled and where. Retries configurations that did
    /// not fit into mailboxes.
    pub fn watch(&mut self) {
        let (now, patience) = (Instant::now(), self.patience);
        let time = |it: Duration| nanos(it.as_nanos() as u64);
        for member in &mut self.members {
            member.catch_up();
            if let Some(program) = member.untold.take()
                && member.tell_program(program, true)
            {
                member.overdue += 1;
            }
            let (core, stage) = (member.core, member.monitor.stage());
            match member.pulse.look(member.monitor.turns(), now, patience) {
                Some(PulseChange::Stalled) => {
                    let (place, time) = (place(stage, &self.names), time(patience));
                    tracing::error!(
                        "the worker on core {core} has not completed a turn for {time}: it {place}"
                    );
                }
                Some(PulseChange::Recovered(after)) => {
                    tracing::warn!("the worker on core {core} resumed after {}", time(after));
                }
                None => {}
            }
        }
    }

    /// Whether the workers are lanes, each of which has all ports.
    fn are_lanes(&self) -> bool {
        matches!(&self.members[..], [lead, other, ..] if lead.ports == other.ports)
    }

    /// Notifies the workers of `port` whether its link is up. Returns whether all of them know.
    pub fn link(&mut self, port: PortId, up: bool) -> bool {
        let told = self.workers_of(port).map(|member| member.tell(Command::Link(port, up)));
        told.reduce(|all, told| all & told).unwrap_or(false)
    }

    /// Whether a worker of `port` owes answers, so that no one should wait for more of them.
    pub fn owes_answers(&mut self, port: PortId) -> bool {
        self.workers_of(port).map(|member| !member.catch_up()).reduce(|any, owes| any | owes).unwrap_or(true)
    }

    /// The number of workers that have `port`.
    pub fn count_of(&self, port: PortId) -> usize {
        self.members.iter().filter(|member| member.ports.contains(&port)).count()
    }

    /// Puts captures at these ports, one for each worker that has the port, or removes those which they have, and frees the
    /// memory of the former ones. Does not wait for a worker that owes answers. Returns for each port whether its workers
    /// follow: [`Told::No`] if one of them does not.
    pub fn capture(&mut self, taps: Vec<(PortId, Vec<Option<Box<Tap>>>)>) -> Vec<Told> {
        let deadline = Instant::now() + self.patience;
        // Send all commands before waiting, so that stalled workers take no more time than one.
        let mut ask = |(port, taps): (PortId, Vec<_>)| {
            let ask = |(member, tap): (&mut Member, _)| {
                let until = if member.catch_up() { deadline } else { Instant::now() };
                (member.tell(Command::Capture(port, tap)), until)
            };
            (port, self.workers_of(port).zip(taps).map(ask).collect::<Vec<_>>())
        };
        let asked: Vec<_> = taps.into_iter().map(&mut ask).collect();
        let hear = |(member, (told, until)): (&mut Member, _)| match told {
            true => match wait(member, until) {
                Some(Reply::Captures(..)) => Told::Done,
                _ => Told::Late,
            },
            false => Told::No,
        };
        let mut told = |(port, asked)| self.workers_of(port).zip(asked).map(hear).min().unwrap_or(Told::No);
        asked.into_iter().map(&mut told).collect()
    }

    fn workers_of(&mut self, port: PortId) -> impl Iterator<Item = &mut Member> {
        self.members.iter_mut().filter(move |member| member.ports.contains(&port))
    }

    /// Restarts the cleared-on-read watermarks.
    pub fn clear_watermarks(&mut self) {
        for member in &mut self.members {
            if !member.tell(Command::ClearWatermarks) {
                tracing::warn!(
                    "the worker on core {} is stalled and does not clear its watermarks",
                    member.core
                );
            }
        }
    }

    /// Makes all ports admit no more data.
    pub fn drain(&mut self) {
        for member in &mut self.members {
            if !member.tell_to_drain() {
                tracing::warn!(
                    "the worker on core {} is stalled and will drain when it resumes",
                    member.core
                );
            }
        }
    }

    /// Retries drain commands that did not fit into mailboxes.
    pub fn drain_late(&mut self) {
        for member in self.members.iter_mut().filter(|member| member.undrained) {
            member.catch_up();
            member.tell_to_drain();
        }
    }

    /// Lets all ports with a link agent announce that they stop. The neighbours of a worker that is stalled forget its ports
    /// when their time has run out.
    pub fn shut_down_agents(&mut self) {
        for member in &mut self.members {
            member.tell(Command::ShutDownAgents);
        }
    }

    /// The state of each port, of all lanes as one; `None` if a worker of it does not answer.
    pub fn inspect(&mut self) -> Vec<Option<Box<Inspection>>> {
        let mut seen = self.inspect_each();
        let mut of_port = |port| {
            let of_worker = |(member, seen): (&Member, &mut Vec<Option<Box<Inspection>>>)| {
                let place = member.ports.iter().position(|it| *it == port)?;
                Some(seen[place].take())
            };
            let mut workers = self.members.iter().zip(&mut seen).filter_map(of_worker);
            let first = workers.next()??;
            workers.try_fold(first, |mut all, lane| {
                all.add_lane(&*lane?);
                Some(all)
            })
        };
        (0..).map(PortId).take(self.names.len()).map(&mut of_port).collect()
    }

    /// By worker, the state of each of its ports; `None` if it does not answer.
    pub fn inspect_each(&mut self) -> Vec<Vec<Option<Box<Inspection>>>> {
        let patience = self.patience;
        let ask = |member: &mut Member| {
            let mut seen: Vec<_> = member.ports.iter().map(|_| None).collect();
            // A worker that owes answers was already waited for, and its mailbox needs room for other
            // commands too.
            if !member.catch_up() {
                return seen;
            }
            let deadline = Instant::now() + patience;
            for (port, seen) in member.ports.clone().into_iter().zip(&mut seen) {
                let asked = member.tell(Command::Inspect(port, Box::default()));
                let answer = if asked { wait(member, deadline) } else { None };
                let Some(Reply::Inspected(_, inspection)) = answer else { break };
                *seen = Some(inspection);
            }
            seen
        };
        self.members.iter_mut().map(ask).collect()
    }

    /// Puts `program` in force, at each worker between two bursts, and drops the one `before` here. Returns the
    /// cores of stalled workers, which will follow when they resume.
    pub fn install(&mut self, program: &Arc<Program>, before: &Program) -> Vec<usize> {
        let patience = self.patience;
        let resized = tables(program) != tables(before);
        let program = match self.for_workers(program) {
            Ok(program) => program,
            Err(reason) => {
                tracing::error!("internal error: lanes rejected a valid configuration: {reason}");
                return self.members.iter().map(|member| member.core).collect();
            }
        };
        // The lead judges by thresholds that the other lanes have already.
        let leads = usize::from(self.are_lanes());
        let (lead, others) = self.members.split_at_mut(leads);
        let mut behind = Vec::new();
        for members in [others, lead] {
            let deadline = Instant::now() + patience;
            // Send all commands before waiting, so that workers change at about the same time.
            let told: Vec<bool> =
                members.iter_mut().map(|member| member.tell_program(program.clone(), resized)).collect();
            for (member, told) in members.iter_mut().zip(told) {
                if !(told && is_installed(member, deadline)) {
                    behind.push(member.core);
                }
            }
        }
        behind
    }

    /// Exchanges the routes of the kernel: `program` differs from the one in force in nothing else. A worker that is stalled
    /// gets it as a whole when it resumes.
    pub fn exchange(&mut self, program: &Arc<Program>) {
        let deadline = Instant::now() + self.patience;
        for member in &mut self.members {
            // A program that waits would undo it.
            let told = member.untold.is_none() && member.tell(Command::Exchange(program.clone()));
            if !told {
                member.untold = Some(program.clone());
            } else if let Some(Reply::Exchanged(old)) = wait(member, deadline) {
                drop(old);
            }
        }
    }

    /// The program that each worker runs of `program`.
    fn for_workers(&self, program: &Arc<Program>) -> Result<Arc<Program>, LanesRefusal> {
        match self.are_lanes() {
            true => program.for_lanes(self.members.len()).map(Arc::new),
            false => Ok(program.clone()),
        }
    }

    /// Sets the maximum turn of each worker under `gateway`.
    pub fn promise(&self, gateway: &Gateway) {
        for member in &self.members {
            promise(&member.monitor, &member.ports, gateway);
        }
    }

    /// Ends all workers. Abandons a stalled one with a message, because the process is about to end.
    pub fn stop(mut self) {
        let deadline = Instant::now() + self.patience;
        // Send all commands before waiting, so that a stalled worker takes no time from the others.
        let told: Vec<bool> = self.members.iter_mut().map(|member| member.tell(Command::Stop)).collect();
        for (member, mut told) in self.members.iter_mut().zip(told) {
            while !member.thread.is_finished() && Instant::now() < deadline {
                // Make room for an answer that the worker may have to send first.
                let _ = member.controls.receive();
                told = told || member.tell(Command::Stop);
                thread::sleep(LOOK);
            }
        }
        for member in self.members {
            if !member.thread.is_finished() {
                tracing::error!("the worker on core {} did not stop", member.core);
            } else if member.thread.join().is_err() {
                tracing::error!("the worker on core {} panicked", member.core);
            }
        }
    }
}

/// The settings by which a worker decides to exchange tables: sizes, how long flows are kept, and the schemes that keep
/// something of each flow.
fn tables(program: &Program) -> impl PartialEq + use<> {
    let settings = program.settings();
    let flows =
        settings.ports.iter().map(|port| (port.flows().map(|it| (it.capacity, it.ageing)), port.notifiers));
    let bridge = match &settings.forwarding {
        ForwardingSettings::Bridge(bridge) => Some(bridge.capacity),
        _ => None,
    };
    (flows.collect::<Vec<_>>(), bridge)
}

/// Waits for the answer to an installation until `deadline`. Returns whether there was one.
fn is_installed(member: &mut Member, deadline: Instant) -> bool {
    match wait(member, deadline) {
        Some(Reply::Installed(Ok(old))) => drop(old),
        Some(Reply::Installed(Err((_, reason)))) => tracing::error!(
            "internal error: the worker on core {} rejected a valid configuration: {reason}",
            member.core
        ),
        _ => return false,
    }
    true
}

/// Waits for an answer until `deadline`; after that it is overdue.
fn wait(member: &mut Member, deadline: Instant) -> Option<Reply> {
    loop {
        if let Some(reply) = member.hear() {
            return Some(reply);
        }
        if Instant::now() >= deadline || member.thread.is_finished() {
            member.overdue += 1;
            return None;
        }
        thread::sleep(LOOK);
    }
}

/// The stage of a worker, as the rest of a sentence.
fn place(stage: Stage, names: &[String]) -> String {
    let name = |port: PortId| names.get(port.index()).map_or("?", String::as_str);
    match stage {
        Stage::Idle => "has not started its first turn".into(),
        Stage::Ingress(port) => format!("is receiving from port {}", name(port)),
        Stage::Egress(port) => format!("is sending through port {}", name(port)),
        Stage::Command => "is executing a command".into(),
    }
}

/// Says the worker with `monitor`, which has `ports`, how long a turn of it may take under `gateway`.
pub fn promise(monitor: &Monitor, ports: &[PortId], gateway: &Gateway) {
    monitor.promise(gateway.covered_by(ports.iter().copied()).unwrap_or(Interval(u64::MAX)));
}

/// Starts a worker's thread.
///
/// # Errors
/// The error of the system.
pub fn spawn<T: Send + 'static>(
    core: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(format!("worker-{core}")).spawn(work)
}

#[cfg(test)]
pub(crate) mod tests;
