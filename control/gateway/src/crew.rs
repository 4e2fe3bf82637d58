//! The workers, seen from the control thread.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use config::Gateway;
use switch::{Program, Successor};
use units::PortId;
use worker::{Command, Controls, Inspection, Monitor, Reply, Stage};

use crate::lateness;

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
    /// Answers that will come although nobody waits for them any more.
    overdue: usize,
    /// The configuration for which its mailbox had no room.
    untold: Option<Arc<Program>>,
    /// Whether it is to drain, and its mailbox had no room for saying so.
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

    /// Gives it a command, if its mailbox has room: it has, unless the worker is stalled.
    fn tell(&mut self, command: Command) -> bool {
        self.controls.send(command).is_ok()
    }

    /// Has it put `program` in force: where its mailbox has no room, as soon as it has.
    fn tell_program(&mut self, program: Arc<Program>) -> bool {
        let told = self.tell(Command::Install(Box::new(Successor::new(program.clone()))));
        self.untold = (!told).then_some(program);
        told
    }

    /// Has its ports take in no more data: where its mailbox has no room, as soon as it has.
    fn tell_to_drain(&mut self) -> bool {
        let told = self.tell(Command::Drain);
        self.undrained = !told;
        told
    }

    /// Drops answers that nobody waits for any more. Returns whether there are none to come.
    fn catch_up(&mut self) -> bool {
        while self.overdue > 0 && self.controls.receive().is_some() {
            self.overdue -= 1;
        }
        self.overdue == 0
    }

    /// The next answer to a command that somebody waits for.
    fn hear(&mut self) -> Option<Reply> {
        if self.catch_up() { self.controls.receive() } else { None }
    }
}

/// When a worker was last seen to end a turn.
struct Pulse {
    turns: u64,
    seen: Instant,
    stalled_since: Option<Instant>,
}

impl Pulse {
    fn new() -> Self {
        Self { turns: 0, seen: Instant::now(), stalled_since: None }
    }

    /// Looks once; says what has changed.
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
    /// A worker that ends no turn for so long is stalled, and is not waited for.
    pub patience: Duration,
}

impl Crew {
    /// The workers of the ports called `names`.
    pub fn new(members: Vec<Member>, names: Vec<String>, patience: Duration) -> Self {
        Self { members, names, patience }
    }

    /// The core of a worker that has ended without being told to, by a panic.
    pub fn lost(&self) -> Option<usize> {
        self.members.iter().find(|member| member.thread.is_finished()).map(|member| member.core)
    }

    /// Looks at each worker's pulse, and says in the log which one has stalled, and where. Tells those that
    /// go on what their mailboxes had no room for.
    pub fn watch(&mut self) {
        let (now, patience) = (Instant::now(), self.patience);
        for member in &mut self.members {
            member.catch_up();
            if let Some(program) = member.untold.take()
                && member.tell_program(program)
            {
                member.overdue += 1;
            }
            let (core, stage) = (member.core, member.monitor.stage());
            match member.pulse.look(member.monitor.turns(), now, patience) {
                Some(PulseChange::Stalled) => {
                    let place = place(stage, &self.names);
                    tracing::error!(
                        "the worker on core {core} has not completed a turn for {patience:?}: it {place}"
                    );
                }
                Some(PulseChange::Recovered(after)) => {
                    tracing::warn!("the worker on core {core} resumed after {after:.1?}");
                }
                None => {}
            }
        }
    }

    /// Tells the owner of `port` whether its link is up.
    pub fn link(&mut self, port: PortId, up: bool) -> bool {
        let owner = self.members.iter_mut().find(|member| member.ports.contains(&port));
        owner.is_some_and(|member| member.tell(Command::Link(port, up)))
    }

    /// Has the cleared-on-read watermarks start again.
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

    /// Has all ports take in no more data.
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

    /// Tells those that go on to drain, where their mailboxes had no room for it.
    pub fn drain_late(&mut self) {
        for member in self.members.iter_mut().filter(|member| member.undrained) {
            member.catch_up();
            member.tell_to_drain();
        }
    }

    /// What there is to see of each port; `None` of those whose worker does not answer.
    pub fn inspect(&mut self) -> Vec<Option<Box<Inspection>>> {
        let mut seen: Vec<Option<Box<Inspection>>> = self.names.iter().map(|_| None).collect();
        for member in &mut self.members {
            // One that owes answers was waited for before, and its mailbox is not for questions alone.
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

    /// Puts `program` in force, everywhere between two bursts, and drops the old one here. Gives the
    /// cores of workers that have not done so yet: they will as soon as they go on.
    pub fn install(&mut self, program: &Arc<Program>) -> Vec<usize> {
        let deadline = Instant::now() + self.patience;
        // All are told before any is waited for, so that they change at about the same time.
        let told: Vec<bool> =
            self.members.iter_mut().map(|member| member.tell_program(program.clone())).collect();
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

    /// Says each worker how long a turn may take under `gateway`.
    pub fn promise(&self, gateway: &Gateway) {
        for member in &self.members {
            lateness::promise(&member.monitor, &member.ports, gateway);
        }
    }

    /// Ends all workers. One that is stalled is left behind with a message: the process is about to end.
    pub fn stop(mut self) {
        let deadline = Instant::now() + self.patience;
        // All are told before any is waited for: one that is stalled takes no time from the others.
        let told: Vec<bool> = self.members.iter_mut().map(|member| member.tell(Command::Stop)).collect();
        for (member, mut told) in self.members.iter_mut().zip(told) {
            while !member.thread.is_finished() && Instant::now() < deadline {
                // Whoever wants to stop may first have to get rid of an answer.
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

/// Where in its turn a worker stands, as the rest of a sentence.
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

/// Starts a worker's thread.
///
/// # Errors
/// What the system says.
pub fn spawn<T: Send + 'static>(
    core: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(format!("worker-{core}")).spawn(work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::WireDevice;
    use core::sync::atomic::{AtomicBool, Ordering};
    use switch::Shard;
    use units::Nanos;
    use worker::{Exchange, MonotonicClock, Worker};

    #[test]
    fn a_worker_is_stalled_when_it_has_ended_no_turn_for_its_patience_and_is_told_of_once() {
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

    /// A worker that owns one of two ports, and turns while it is let.
    struct Hand {
        turns: Arc<AtomicBool>,
    }

    fn hand(core: usize, program: &Arc<Program>) -> (Hand, Member) {
        let (controls, mailbox) = worker::mailbox();
        let monitor = Arc::new(Monitor::default());
        let (shard, pulse) = (Shard::single(program.clone()), monitor.clone());
        let turns = Arc::new(AtomicBool::new(true));
        let may_turn = turns.clone();
        let work = move || {
            let clock = MonotonicClock::starting_at(Nanos(1));
            let exchange = Exchange::alone();
            let mut worker = Worker::<WireDevice, _>::new(clock, shard, [], exchange, mailbox, pulse);
            while !may_turn.load(Ordering::Acquire) || worker.turn().is_continue() {
                thread::yield_now();
            }
        };
        let thread = spawn(core, work).unwrap();
        let ports = vec![PortId(core as u16)];
        (Hand { turns }, Member::new(core, ports, monitor, controls, thread))
    }

    impl Hand {
        fn stall(&self) {
            self.turns.store(false, Ordering::Release);
        }

        fn go_on(&self) {
            self.turns.store(true, Ordering::Release);
        }
    }

    /// Two workers, and the configuration that they run.
    fn crew() -> (Hand, Hand, Crew, Arc<Program>) {
        let program = program("4MiB");
        let ((one, first), (other, second)) = (hand(0, &program), hand(1, &program));
        let names = vec!["dc0".to_owned(), "lh0".to_owned()];
        (one, other, Crew::new(vec![first, second], names, Duration::from_millis(50)), program)
    }

    fn program(shared: &str) -> Arc<Program> {
        let port = |name: &str| format!("[[port]]\nname = \"{name}\"\nrate = \"10G\"\n");
        let text = format!("[buffer]\nshared = \"{shared}\"\n{}{}", port("dc0"), port("lh0"));
        config::parse(&text, "test").unwrap().program
    }

    fn seen(crew: &mut Crew) -> Vec<bool> {
        crew.inspect().iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_worker_that_is_stalled_hides_no_other() {
        let (one, _other, mut crew, _) = crew();
        // Whatever the machine does meanwhile, the other answers in the end.
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
        // More than its mailbox holds.
        for _ in 0..100 {
            crew.patience = Duration::from_millis(1);
            crew.inspect();
            crew.clear_watermarks();
            crew.install(&old);
        }
        assert!(crew.members[0].overdue < 20);
        let new = program("8MiB");
        assert!(crew.install(&new).contains(&0));
        one.go_on();
        // One for us, one in each worker.
        while Arc::strong_count(&new) < 3 || Arc::strong_count(&old) > 1 {
            crew.watch();
            crew.patience = Duration::from_secs(1);
            crew.inspect();
        }
        crew.stop();
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
    fn where_a_worker_stands_is_said_with_the_name_of_the_port() {
        let names = ["dc0".to_owned(), "lh0".to_owned()];
        assert_eq!(place(Stage::Egress(PortId(1)), &names), "is sending through port lh0");
        assert_eq!(place(Stage::Ingress(PortId(0)), &names), "is receiving from port dc0");
    }
}
