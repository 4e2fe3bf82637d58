//! A crew of workers, one of which may stall.

use super::*;
use crate::device::WireDevice;
use core::sync::atomic::{AtomicBool, Ordering};
use switch::{Board, Shard};
use units::Nanos;
use worker::{MonotonicClock, Worker};

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

/// A worker that turns while allowed.
pub(crate) struct Hand {
    turns: Arc<AtomicBool>,
    /// Whether it has seen that it may not turn.
    rests: Arc<AtomicBool>,
}

/// A worker that owns one of two ports.
fn hand(core: usize, program: &Arc<Program>) -> (Hand, Member) {
    hand_with(core, vec![PortId(core as u16)], Shard::single(program.clone()))
}

fn hand_with(core: usize, ports: Vec<PortId>, shard: Shard<dpdk::Mbuf>) -> (Hand, Member) {
    let (controls, mailbox) = worker::mailbox();
    let monitor = Arc::new(Monitor::default());
    let pulse = monitor.clone();
    let turns = Arc::new(AtomicBool::new(true));
    let rests = Arc::new(AtomicBool::new(false));
    let (may_turn, says_so) = (turns.clone(), rests.clone());
    let work = move || {
        let clock = MonotonicClock::starting_at(Nanos(1));
        let mut worker = Worker::<WireDevice, _>::new(clock, shard, [], mailbox, pulse);
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

/// Two workers that are lanes of both ports.
fn lanes() -> (Hand, Hand, Crew, Arc<Program>) {
    let program = configured_for_lanes("4MiB").program;
    let board = Arc::new(Board::new(2, 2));
    let lane = |number| {
        let program = Arc::new(program.for_lanes(2).unwrap());
        hand_with(number, vec![PortId(0), PortId(1)], Shard::lane(number, program, board.clone()))
    };
    let ((one, first), (other, second)) = (lane(0), lane(1));
    let names = vec!["dc0".to_owned(), "lh0".to_owned()];
    (one, other, Crew::new(vec![first, second], names, Duration::from_secs(60)), program)
}

fn configured_for_lanes(shared: &str) -> Gateway {
    let port = |name: &str| format!("[[port]]\nname = \"{name}\"\nrate = \"10G\"\n");
    let lanes = format!("[dpdk]\nlanes = 2\n[buffer]\nshared = \"{shared}\"\n");
    config::parse(&[lanes, port("dc0"), port("lh0")].concat(), "test").unwrap()
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

#[test]
fn a_port_of_lanes_is_seen_when_all_of_them_answer_and_has_a_capture_at_each() {
    let (one, other, mut crew, _) = lanes();
    assert_eq!((crew.count_of(PortId(0)), seen(&mut crew)), (2, vec![true; 2]));
    let each: Vec<_> = crew.inspect_each().iter().map(|ports| ports.iter().flatten().count()).collect();
    assert_eq!(each, [2, 2]);
    let remove = |crew: &mut Crew| crew.capture(vec![(PortId(1), vec![None, None])]);
    assert_eq!(remove(&mut crew), [Told::Done]);
    other.stall();
    crew.patience = Duration::from_millis(1);
    assert_eq!(remove(&mut crew), [Told::Late], "one of them is behind");
    assert_eq!(seen(&mut crew), [false; 2]);
    assert!(crew.owes_answers(PortId(0)) && crew.link(PortId(0), false));
    other.go_on();
    crew.patience = Duration::from_secs(60);
    while seen(&mut crew) != [true; 2] {}
    drop(one);
    crew.stop();
}

#[test]
fn the_lead_changes_its_configuration_after_all_other_lanes() {
    let (_lead, other, mut crew, old) = lanes();
    let new = configured_for_lanes("8MiB").program;
    assert!(crew.install(&new, &old).is_empty());
    other.stall();
    crew.patience = Duration::from_millis(50);
    let began = Instant::now();
    assert_eq!(crew.install(&old, &new), [1]);
    assert!(began.elapsed() >= crew.patience, "the lead has waited for it");
    other.go_on();
    crew.patience = Duration::from_secs(60);
    while seen(&mut crew) != [true; 2] {}
    crew.stop();
}
