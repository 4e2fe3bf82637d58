//! The workers, as seen by the control thread.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use config::Gateway;
use dpdk::ResidentMemory;
use switch::{ForwardingSettings, Program, Successor};
use units::human::nanos;
use units::{Interval, PortId};
use worker::{Command, Controls, Inspection, Monitor, Reply, Stage, Tap};

/// How often the control thread looks whether a worker has answered.
const LOOK: Duration = Duration::from_micros(50);

/// One worker.
pub struct Member {
    /// The core that it runs on.
    pub core: usize,
    /// The ports that it owns.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The workers.
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

    /// Notifies the owner of `port` whether its link is up.
    pub fn link(&mut self, port: PortId, up: bool) -> bool {
        self.owner(port).is_some_and(|member| member.tell(Command::Link(port, up)))
    }

    /// Whether the worker of `port` owes answers, so that no one should wait for more of them.
    pub fn owes_answers(&mut self, port: PortId) -> bool {
        self.owner(port).is_none_or(|member| !member.catch_up())
    }

    /// Puts a capture at each of these ports, or removes that which it has, and frees the memory of the former ones. Does
    /// not wait for a worker that owes answers. Returns for each port whether its worker follows.
    pub fn capture(&mut self, taps: Vec<(PortId, Option<Box<Tap>>)>) -> Vec<Told> {
        let deadline = Instant::now() + self.patience;
        // Send all commands before waiting, so that stalled workers take no more time than one.
        let mut ask = |(port, tap)| {
            let Some(member) = self.owner(port) else { return (port, false, deadline) };
            let until = if member.catch_up() { deadline } else { Instant::now() };
            (port, member.tell(Command::Capture(port, tap)), until)
        };
        let asked: Vec<_> = taps.into_iter().map(&mut ask).collect();
        let mut hear = |(port, told, until)| match self.owner(port) {
            Some(member) if told => match wait(member, until) {
                Some(Reply::Captures(..)) => Told::Done,
                _ => Told::Late,
            },
            _ => Told::No,
        };
        asked.into_iter().map(&mut hear).collect()
    }

    fn owner(&mut self, port: PortId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.ports.contains(&port))
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

    /// The state of each port; `None` if its worker does not answer.
    pub fn inspect(&mut self) -> Vec<Option<Box<Inspection>>> {
        let mut seen: Vec<Option<Box<Inspection>>> = self.names.iter().map(|_| None).collect();
        for member in &mut self.members {
            // A worker that owes answers was already waited for, and its mailbox needs room for other
            // commands too.
            if !member.catch_up() {
                continue;
            }
            let deadline = Instant::now() + self.patience;
            for port in member.ports.clone() {
                let asked = member.tell(Command::Inspect(port, Box::default()));
                let answer = if asked { wait(member, deadline) } else { None };
                let Some(Reply::Inspected(port, inspection)) = answer else { break };
                seen[port.index()] = Some(inspection);
            }
        }
        seen
    }

    /// Puts `program` in force, at each worker between two bursts, and drops the one `before` here. Returns the
    /// cores of stalled workers, which will follow when they resume.
    pub fn install(&mut self, program: &Arc<Program>, before: &Program) -> Vec<usize> {
        let deadline = Instant::now() + self.patience;
        let resized = tables(program) != tables(before);
        // Send all commands before waiting, so that workers change at about the same time.
        let told: Vec<bool> =
            self.members.iter_mut().map(|member| member.tell_program(program.clone(), resized)).collect();
        let mut behind = Vec::new();
        for (member, told) in self.members.iter_mut().zip(told) {
            match if told { wait(member, deadline) } else { None } {
                Some(Reply::Installed(Ok(old))) => drop(old),
                Some(Reply::Installed(Err((_, reason)))) => {
                    tracing::error!(
                        "internal error: the worker on core {} rejected a valid configuration: {reason}",
                        member.core
                    );
                }
                _ => behind.push(member.core),
            }
        }
        behind
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
        Stage::Exchange => "is exchanging frames with other workers".into(),
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
pub(crate) mod tests {
    use super::*;
    use crate::device::WireDevice;
    use core::sync::atomic::{AtomicBool, Ordering};
    use switch::Shard;
    use units::Nanos;
    use worker::{Exchange, MonotonicClock, Worker};

    #[test]
    fn a_worker_is_stalled_when_it_completes_no_turn_for_its_patience_and_is_reported_once() {
        let limit = Duration::from_millis(100);
        let mut pulse = Pulse::new();
        let start = pulse.seen;
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(pulse.look(1, at(10), limit), None);
        assert_eq!(pulse.look(1, at(109), limit), None);
        assert_eq!(pulse.look(1, at(110), limit), Some(PulseChange::Stalled));
        assert_eq!(pulse.look(1, at(300), limit), None, "said once");
        let recovered = pulse.look(2, at(310), limit);
        assert_eq!(recovered, Some(PulseChange::Recovered(Duration::from_millis(300))));
        assert_eq!(pulse.look(3, at(320), limit), None);
    }

    /// A worker that owns one of two ports and turns while allowed.
    pub(crate) struct Hand {
        turns: Arc<AtomicBool>,
        /// Whether it has seen that it may not turn.
        rests: Arc<AtomicBool>,
    }

    fn hand(core: usize, program: &Arc<Program>) -> (Hand, Member) {
        let (controls, mailbox) = worker::mailbox();
        let monitor = Arc::new(Monitor::default());
        let (shard, pulse) = (Shard::single(program.clone()), monitor.clone());
        let turns = Arc::new(AtomicBool::new(true));
        let rests = Arc::new(AtomicBool::new(false));
        let (may_turn, says_so) = (turns.clone(), rests.clone());
        let work = move || {
            let clock = MonotonicClock::starting_at(Nanos(1));
            let exchange = Exchange::alone();
            let mut worker = Worker::<WireDevice, _>::new(clock, shard, [], exchange, mailbox, pulse);
            loop {
                if !may_turn.load(Ordering::Acquire) {
                    says_so.store(true, Ordering::Release);
                } else if worker.turn().is_break() {
                    break;
                }
                thread::yield_now();
            }
        };
        let thread = spawn(core, work).unwrap();
        let ports = vec![PortId(core as u16)];
        (Hand { turns, rests }, Member::new(core, ports, monitor, controls, thread))
    }

    impl Hand {
        /// Returns when its last turn is over.
        pub(crate) fn stall(&self) {
            self.turns.store(false, Ordering::Release);
            self.rests.store(false, Ordering::Release);
            while !self.rests.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }

        pub(crate) fn go_on(&self) {
            self.turns.store(true, Ordering::Release);
        }
    }

    /// Two workers and their configuration.
    pub(crate) fn crew() -> (Hand, Hand, Crew, Arc<Program>) {
        let program = program("4MiB");
        let ((one, first), (other, second)) = (hand(0, &program), hand(1, &program));
        let names = vec!["dc0".to_owned(), "lh0".to_owned()];
        (one, other, Crew::new(vec![first, second], names, Duration::from_millis(50)), program)
    }

    fn program(shared: &str) -> Arc<Program> {
        configured(shared).program
    }

    /// A gateway with these two ports.
    pub(crate) fn configured(shared: &str) -> Gateway {
        let port = |name: &str| format!("[[port]]\nname = \"{name}\"\nrate = \"10G\"\n");
        let text = format!("[buffer]\nshared = \"{shared}\"\n{}{}", port("dc0"), port("lh0"));
        config::parse(&text, "test").unwrap()
    }

    fn seen(crew: &mut Crew) -> Vec<bool> {
        crew.inspect().iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_worker_that_is_stalled_hides_no_other() {
        let (one, _other, mut crew, _) = crew();
        // On a slow machine too, the other worker answers eventually.
        crew.patience = Duration::from_secs(1);
        assert_eq!(seen(&mut crew), [true, true]);
        one.stall();
        while seen(&mut crew) != [false, true] {}
        one.go_on();
        while seen(&mut crew) != [true, true] {}
        crew.stop();
    }

    #[test]
    fn a_worker_that_is_stalled_is_asked_once_and_changes_its_configuration_when_it_goes_on() {
        let (one, _other, mut crew, old) = crew();
        one.stall();
        // More commands than its mailbox holds.
        for _ in 0..100 {
            crew.patience = Duration::from_millis(1);
            crew.inspect();
            crew.clear_watermarks();
            crew.install(&old, &old);
        }
        assert!(crew.members[0].overdue < 20);
        let new = program("8MiB");
        assert!(crew.install(&new, &old).contains(&0));
        one.go_on();
        // One reference here and one in each worker.
        while Arc::strong_count(&new) < 3 || Arc::strong_count(&old) > 1 {
            crew.watch();
            crew.patience = Duration::from_secs(1);
            crew.inspect();
        }
        crew.stop();
    }

    #[test]
    fn tables_are_exchanged_for_other_sizes_and_schemes_and_for_nothing_else() {
        let of = |xoff: &str, scheme: &str| {
            let port = "[forwarding]\nmode = \"bridge\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\ndistance = \"10km\"\n";
            let group = format!("[[port.lossless]]\npriorities = [3]\nxoff = \"{xoff}\"\n");
            let text = format!("[buffer]\nshared = \"4MiB\"\n{port}{group}{scheme}");
            config::parse(&text, "test").unwrap().program
        };
        let lscc = |more: &str| {
            let ends = "local = \"10.255.0.1\"\npeer = \"10.255.0.2\"\n";
            let key = "key = \"000102030405060708090a0b0c0d0e0f\"\n";
            format!("[port.lscc]\n{ends}{key}{more}")
        };
        let (off, on) = (of("100kB", ""), of("100kB", &lscc("")));
        assert!(tables(&on) == tables(&of("200kB", &lscc(""))));
        assert!(tables(&on) != tables(&off));
        assert!(tables(&on) != tables(&of("100kB", &lscc("flows = 4096\n"))));
        assert!(tables(&on) != tables(&of("100kB", &lscc("direct = \"int\"\n"))));
    }

    #[test]
    fn a_worker_whose_mailbox_was_full_drains_and_ends_when_it_goes_on() {
        let (one, _other, mut crew, program) = crew();
        one.stall();
        crew.patience = Duration::from_millis(1);
        while crew.members[0].tell(Command::Install(Box::new(Successor::new(program.clone())))) {}
        crew.drain();
        assert!(crew.members[0].undrained && !crew.members[1].undrained);
        one.go_on();
        while crew.members[0].undrained {
            let _ = crew.members[0].controls.receive();
            crew.drain_late();
        }
        one.stall();
        while crew.members[0].tell(Command::Install(Box::new(Successor::new(program.clone())))) {}
        one.go_on();
        crew.patience = Duration::from_secs(60);
        let monitor = crew.members[0].monitor.clone();
        crew.stop();
        assert_eq!(Arc::strong_count(&monitor), 1, "the worker has let go of it");
    }

    #[test]
    fn the_stage_of_a_worker_names_its_port() {
        let names = ["dc0".to_owned(), "lh0".to_owned()];
        assert_eq!(place(Stage::Egress(PortId(1)), &names), "is sending through port lh0");
        assert_eq!(place(Stage::Ingress(PortId(0)), &names), "is receiving from port dc0");
    }
}
