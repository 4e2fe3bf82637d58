//! Tests of the control thread with real workers and devices in memory.

mod device_mtu;
mod kept_pauses;
mod link_agent;
mod link_delay;
mod observers;

use super::*;
use crate::crew::{self, Member};
use crate::socket::Response;
use dpdk::PausesCounted;
use link_delay::PeerDelayLink;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use switch::Shard;
use telemetry::{HardwareReport, Period, WireDevice};
use worker::{Device, DeviceCounters, EventInlet, Monitor, MonotonicClock, ReceiveRing, Worker, mailbox};

const FILE: &str = "
[control]
metrics = \"none\"
stall = \"5s\"
drain = \"20ms\"
[[port]]
name = \"dc0\"
rate = \"10G\"
device = { vdev = \"net_null0\" }
[[port]]
name = \"lh0\"
rate = \"10G\"
device = { vdev = \"net_null1\" }
";

/// A device that receives one frame, and may be a link to an end that answers requests of peer delay.
struct TestDevice {
    incoming: Option<Vec<u8>>,
    link: Option<PeerDelayLink>,
    /// Whether it takes frames.
    takes: bool,
    /// Panics once this is set.
    trap: Arc<AtomicBool>,
    sent: u64,
}

impl Device for TestDevice {
    type Frame = Vec<u8>;

    fn memory_is_low(&mut self) -> bool {
        false
    }

    fn receive(&mut self, burst: &mut Vec<Vec<u8>>) {
        assert!(!self.trap.load(Ordering::Relaxed), "the trap of a test");
        burst.extend(self.incoming.take());
        burst.extend(self.link.iter_mut().flat_map(PeerDelayLink::arrived));
    }

    fn room(&self) -> usize {
        if self.takes { worker::BURST } else { 0 }
    }

    fn make(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }

    fn transmit(&mut self, _frame: Vec<u8>) {
        self.sent += 1;
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        if let Some(link) = &mut self.link {
            link.carry(frame);
        }
    }

    fn flush(&mut self) {}

    fn receive_ring(&mut self) -> ReceiveRing {
        ReceiveRing::Endless
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters { sent: self.sent, ..DeviceCounters::default() }
    }
}

/// A line that is down until it is brought up.
#[derive(Clone)]
struct TestLine {
    up: Arc<AtomicBool>,
    /// Zero for no limit.
    mtu: Arc<AtomicU64>,
    /// The pauses that it counts.
    pauses: Arc<AtomicU64>,
}

impl Line for TestLine {
    fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    fn mtu(&self) -> Option<Bytes> {
        Some(Bytes(self.mtu.load(Ordering::Relaxed))).filter(|mtu| mtu.0 > 0)
    }

    fn bring_up(&mut self) {
        self.up.store(true, Ordering::Relaxed);
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn device(&self) -> WireDevice {
        let (name, driver) = ("test".into(), "test".into());
        WireDevice { name, driver, link_up: self.is_up(), pfc: telemetry::PfcPassage::default() }
    }

    fn hardware(&self) -> HardwareReport {
        HardwareReport::default()
    }

    fn pauses_counted(&self) -> Option<PausesCounted> {
        Some(PausesCounted { frames: self.pauses.load(Ordering::Relaxed), by_priority: 0 })
    }
}

/// A gateway with a running control thread.
struct Running {
    directory: tempfile::TempDir,
    events: Sender<Event>,
    trap: Arc<AtomicBool>,
    /// Whether its links are up.
    up: Arc<AtomicBool>,
    /// While it is locked, no file is read.
    reading: Arc<Mutex<()>>,
    /// The MTU of its devices.
    mtu: Arc<AtomicU64>,
    /// The pauses that each of its devices counts.
    pauses: Arc<AtomicU64>,
    control: JoinHandle<Ended>,
}

impl Running {
    /// A gateway of [`FILE`] that receives a frame through its first port. Its second port accepts frames if
    /// `takes`.
    fn start(takes: bool) -> Self {
        Self::start_with(FILE, takes)
    }

    /// Like [`Self::start`], with another file.
    fn start_with(file: &str, takes: bool) -> Self {
        Self::start_on(file, takes, None)
    }

    /// Like [`Self::start_with`], with this link behind the second port.
    fn start_on(file: &str, takes: bool, link: Option<PeerDelayLink>) -> Self {
        Self::start_knowing(file, takes, link, vec![2; 64], LinkAgents::new(2))
    }

    /// Like [`Self::start_on`], with this frame for the first port, by a control thread that knows this of neighbours.
    fn start_knowing(
        file: &str,
        takes: bool,
        link: Option<PeerDelayLink>,
        incoming: Vec<u8>,
        link_agents: LinkAgents,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.toml");
        std::fs::write(&path, file).unwrap();
        let gateway = config::load(&path).unwrap();
        let (sender, events) = channel();
        let trap = Arc::new(AtomicBool::new(false));
        let (ledger, member, inlet) = worker(&gateway, takes, link, incoming, trap.clone());
        let names: Vec<_> = gateway.port_names().map(str::to_owned).collect();
        let line =
            TestLine { up: Arc::new(AtomicBool::new(true)), mtu: Arc::default(), pauses: Arc::default() };
        let (up, mtu, pauses) = (line.up.clone(), line.mtu.clone(), line.pauses.clone());
        let reading = Arc::new(Mutex::new(()));
        let load = {
            let reading = reading.clone();
            move |path: &Path| {
                let _locked = reading.lock().unwrap();
                config::load(path)
            }
        };
        let control = Control {
            path,
            journal: Journal::new(names.clone(), vec![(0, inlet)], 100),
            captures: Captures::new(2, sender.clone()),
            crew: Crew::new(vec![member], names, Duration::from_secs(5)),
            started_as: gateway.clone(),
            configured: gateway.clone(),
            gateway,
            lateness: Lateness::new(2),
            device_mtus: DeviceMtus::of(&[line.clone(), line.clone()]),
            kept_pauses: KeptPauses::of(&[line.clone(), line.clone()]),
            link_delays: LinkDelays::new(2),
            link_agents,
            widening: None,
            drawn_seed: Some(7),
            hash_key: 7.into(),
            lines: vec![line.clone(), line.clone()],
            ledgers: vec![ledger],
            memory: Box::new(MemoryReport::default),
            events,
            started: unix_time(),
            tsc_hz: 1_000_000_000,
            looks: Looks::default(),
            ending: None,
            reloading: Reloads::new(Arc::new(load), sender.clone()),
            reloads: ReloadsReport::default(),
            refused_by_kernel: Arc::default(),
        };
        let control = thread::spawn(move || control.run().0);
        Self { directory, events: sender, trap, up, reading, mtu, pauses, control }
    }

    fn ask(&self, request: Request) -> Response {
        self.send(request).recv().unwrap()
    }

    /// Sends a request. Its answer will come.
    fn send(&self, request: Request) -> Receiver<Response> {
        let (answer, answered) = channel();
        self.events.send(Event::Request(request, answer)).unwrap();
        answered
    }

    fn show(&self) -> Snapshot {
        match self.ask(Request::Show) {
            Response::Shown(snapshot) => *snapshot,
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, text: &str) {
        std::fs::write(self.directory.path().join("gw.toml"), text).unwrap();
    }

    fn end(self) -> Ended {
        self.events.send(Event::Terminate).unwrap();
        self.control.join().unwrap()
    }
}

/// Starts a worker for both ports.
fn worker(
    gateway: &Gateway,
    takes: bool,
    link: Option<PeerDelayLink>,
    incoming: Vec<u8>,
    trap: Arc<AtomicBool>,
) -> (Arc<Ledger>, Member, EventInlet) {
    let ports = [PortId(0), PortId(1)];
    let shard = Shard::single(gateway.program.clone());
    let ledger = shard.shared_ledger();
    let device = |incoming, link| TestDevice { incoming, link, takes, trap: trap.clone(), sent: 0 };
    let devices = [(ports[0], device(Some(incoming), None)), (ports[1], device(None, link))];
    let (controls, mailbox) = mailbox();
    let monitor = Arc::new(Monitor::default());
    crew::promise(&monitor, &ports, gateway);
    let clock = MonotonicClock::starting_at(unix_time());
    let (outlet, inlet) = worker::event_ring();
    let worker = Worker::new(clock, shard, devices, mailbox, monitor.clone());
    let mut worker = worker.with_events(outlet);
    let thread = crew::spawn(0, move || worker.run()).unwrap();
    (ledger, Member::new(0, ports.into(), monitor, controls, thread), inlet)
}

#[test]
fn a_look_shows_what_workers_have_done() {
    let gateway = Running::start(true);
    let snapshot = gateway.show();
    assert_eq!(snapshot.ports[0].port.arrived.frames, 1);
    let ended = gateway.end();
    assert_eq!((ended.left_inside, ended.lost_worker), (0, None));
    assert_eq!(ended.snapshot.ports[1].port.out.frames, 1);
}

#[test]
fn a_gateway_that_ends_announces_it_to_the_neighbours_of_its_ports() {
    let gateway = Running::start_with(&format!("{FILE}[port.lldp]\n"), true);
    let announced = |it: &Snapshot| Period::since_start(it).port("lh0").unwrap().figure("lldp", "sent");
    assert_eq!(announced(&gateway.show()), Some(1));
    assert_eq!(announced(&gateway.end().snapshot), Some(2), "before the workers stop");
}

#[test]
fn a_reload_lists_the_changes_and_an_invalid_file_changes_nothing() {
    let gateway = Running::start(true);
    let before = gateway.show().config;
    assert!(before.contains("seed = "));
    for broken in ["[[port]]", &FILE.replace("net_null1", "net_null2"), &FILE.replace("lh0", "lh1")] {
        gateway.write(broken);
        assert!(matches!(gateway.ask(Request::Reload), Response::Refused(why) if !why.is_empty()));
        assert_eq!(gateway.show().config, before);
    }
    gateway.write(&FILE.replacen("10G", "5G", 1));
    let changed = gateway.ask(Request::Reload);
    assert!(
        matches!(&changed, Response::Reloaded(what) if what.iter().any(|it| it.contains("port.dc0.rate"))),
        "{changed:?}"
    );
    gateway.events.send(Event::Hangup).unwrap();
    assert!(matches!(gateway.ask(Request::Reload), Response::Reloaded(lines) if lines.is_empty()));
    let snapshot = gateway.show();
    assert!(snapshot.config.contains("rate = \"5G"), "{}", snapshot.config);
    assert_eq!((snapshot.reloads.applied, snapshot.reloads.refused), (3, 3), "a hangup is a reload, too");
    gateway.end();
}

#[test]
fn queries_are_answered_while_the_file_of_a_reload_is_read() {
    let gateway = Running::start(true);
    let locked = gateway.reading.lock().unwrap();
    let reloaded = gateway.send(Request::Reload);
    for _ in 0..3 {
        assert_eq!(gateway.show().reloads.applied, 0);
    }
    assert!(reloaded.try_recv().is_err());
    drop(locked);
    assert!(matches!(reloaded.recv().unwrap(), Response::Reloaded(_)));
    assert_eq!(gateway.show().reloads.applied, 1);
    gateway.end();
}

#[test]
fn reloads_that_are_asked_for_during_another_are_one_that_follows_it() {
    let gateway = Running::start(true);
    let locked = gateway.reading.lock().unwrap();
    let first = gateway.send(Request::Reload);
    gateway.show();
    gateway.write(&FILE.replacen("10G", "5G", 1));
    let others = [(); 20].map(|()| gateway.send(Request::Reload));
    gateway.events.send(Event::Hangup).unwrap();
    gateway.show();
    drop(locked);
    assert!(matches!(first.recv().unwrap(), Response::Reloaded(lines) if !lines.is_empty()));
    for other in others {
        let response = other.recv().unwrap();
        assert!(matches!(&response, Response::Reloaded(lines) if lines.is_empty()), "{response:?}");
    }
    assert_eq!(gateway.show().reloads.applied, 2);
    gateway.end();
}

#[test]
fn a_gateway_that_ends_waits_for_no_reload() {
    let gateway = Running::start(true);
    let reading = gateway.reading.clone();
    let _locked = reading.lock().unwrap();
    let reloaded = gateway.send(Request::Reload);
    gateway.end();
    assert!(reloaded.recv().is_err(), "no one is answered any more");
}

#[test]
fn a_reload_whose_reader_panics_is_refused_and_the_next_one_is_not() {
    let gateway = Running::start(true);
    let reading = gateway.reading.clone();
    thread::spawn(move || {
        let _locked = reading.lock().unwrap();
        panic!("the lock is poisoned");
    })
    .join()
    .unwrap_err();
    let refused = gateway.ask(Request::Reload);
    assert!(matches!(&refused, Response::Refused(why) if why[0].contains("failed to read")), "{refused:?}");
    gateway.reading.clear_poison();
    assert!(matches!(gateway.ask(Request::Reload), Response::Reloaded(_)));
    gateway.end();
}

#[test]
fn frames_that_cannot_leave_in_time_are_counted_at_the_end() {
    let gateway = Running::start(false);
    // The answer follows the turn that received the frame.
    gateway.show();
    assert_eq!(gateway.end().left_inside, 1);
}

#[test]
fn a_worker_that_ends_by_itself_ends_the_gateway() {
    let gateway = Running::start(true);
    gateway.trap.store(true, Ordering::Relaxed);
    assert_eq!(gateway.control.join().unwrap().lost_worker, Some(0));
}

#[test]
fn a_link_that_is_down_is_brought_up() {
    let gateway = Running::start(true);
    gateway.up.store(false, Ordering::Relaxed);
    while !gateway.up.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    assert!(gateway.show().ports.iter().all(|port| port.device.link_up));
    gateway.end();
}

/// Every turn takes some time, and this file initially covers none.
#[test]
fn a_worker_that_is_later_than_configured_is_covered_and_a_reload_keeps_that() {
    let lossless =
        "rate = \"10G\"\ndistance = \"10m\"\ninterface_delay = \"0us\"\nlossless = [{ priorities = [3] }]";
    let file = FILE.replace("rate = \"10G\"", lossless);
    let running = Running::start_with(&file, true);
    let covered = |shown: &Snapshot| shown.workers[0].covered_lateness_ns.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut shown = running.show();
    while covered(&shown) == 0 {
        assert!(Instant::now() < deadline, "no turn was late: {:?}", shown.workers);
        shown = running.show();
    }
    assert!(shown.workers[0].late_turns > 0);
    assert!(
        shown.config.contains("interface_delay = \"0ns\""),
        "the file is shown as it is: {}",
        shown.config
    );
    running.write(&file.replace("20ms", "30ms"));
    assert!(matches!(running.ask(Request::Reload), Response::Reloaded(_)));
    let after = running.show();
    assert!(covered(&after) >= covered(&shown), "{} after {}", covered(&after), covered(&shown));
    running.end();
}
