//! Two ends and the link between them.

use crate::{Bench, Course, End, Facts, Fault, Figures, Report, Terms};
use config::Gateway;
use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use switch::{Frame, Ledger, Shard, ShardId};
use units::{Bytes, Interval, Nanos, PortId, PortSet};
use wire::rate_feedback::Key;
use worker::{
    BURST, Clock, Command, Controls, Device, DeviceCounters, Inspection, Monitor, ReceiveRing, Reply, Worker,
    mailbox,
};

pub const KEY: Key = Key([7; 16]);
const LINK: PortId = PortId(0);
const TEST: PortId = PortId(1);
const TURN: Interval = Interval::from_micros(50);
/// The fibre, which the file states too.
const DELAY: Interval = Interval::from_micros(100);
/// How often the control side reads figures.
const LOOK: Interval = Interval::from_millis(20);
/// The first bytes of a frame, in which its headers are.
const FIRST: usize = 128;
/// No course takes longer.
const LONGEST: Interval = Interval::from_secs(200);

/// The way of a frame over a link: how much later it arrives, or not at all.
pub type Fate = Option<Interval>;

/// The fault that a test plants.
pub type Plant = Box<dyn FnMut(Nanos, &mut Vec<u8>) -> Fate>;

/// Frames, each with an instant.
type Frames = VecDeque<(Nanos, Vec<u8>)>;

/// One direction of the link.
struct Fibre {
    frames: Frames,
    plant: Plant,
}

impl Fibre {
    fn take(&mut self, now: Nanos, mut frame: Vec<u8>) {
        let Some(later) = (self.plant)(now, &mut frame) else { return };
        let at = now + DELAY + later;
        let place = self.frames.partition_point(|(other, _)| *other <= at);
        self.frames.insert(place, (at, frame));
    }
}

#[derive(Clone)]
struct TestClock(Rc<Cell<Nanos>>);

impl Clock for TestClock {
    fn now(&mut self) -> Nanos {
        self.0.get()
    }
}

/// A frame of which the gateway sees the first bytes only, as where it takes several buffers of a card.
struct Piecemeal(Vec<u8>);

impl Frame for Piecemeal {
    fn headers(&self) -> &[u8] {
        &self.0[..self.0.len().min(FIRST)]
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        let first = self.0.len().min(FIRST);
        &mut self.0[..first]
    }

    fn length(&self) -> Bytes {
        Bytes(self.0.len() as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(self.0.clone()))
    }
}

/// A device at one end of two fibres.
struct Port {
    out: Rc<RefCell<Fibre>>,
    back: Rc<RefCell<Fibre>>,
    clock: Rc<Cell<Nanos>>,
}

impl Device for Port {
    type Frame = Piecemeal;

    fn receive(&mut self, burst: &mut Vec<Piecemeal>) {
        let frames = &mut self.back.borrow_mut().frames;
        let due = frames.partition_point(|(at, _)| *at <= self.clock.get()).min(BURST);
        burst.extend(frames.drain(..due).map(|(_, frame)| Piecemeal(frame)));
    }

    fn room(&self) -> usize {
        BURST
    }

    fn transmit(&mut self, frame: Piecemeal) {
        self.out.borrow_mut().take(self.clock.get(), frame.0);
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        self.out.borrow_mut().take(self.clock.get(), frame.to_vec());
    }

    fn make(&mut self, bytes: &[u8]) -> Option<Piecemeal> {
        Some(Piecemeal(bytes.to_vec()))
    }

    fn flush(&mut self) {}

    fn memory_is_low(&mut self) -> bool {
        false
    }

    fn receive_ring(&mut self) -> ReceiveRing {
        ReceiveRing::Endless
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters::default()
    }
}

/// A gateway in the state in which a port of it is commissioned.
pub fn file(changes: &[(&str, &str)]) -> String {
    let port = |name: &str, more: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nrate = \"100M\"\nmtu = 1500\ndistance = \"20km\"\ntx_window = \"100us\"\n{more}\
             classify = {{ default = 0, dscp = {{ \"26\" = 3 }} }}\n\
             [[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nheadroom = \"64KiB\"\n"
        )
    };
    let measured = "link_delay = { interval = \"20ms\", apply = false }\n";
    let text = format!(
        "[buffer]\nshared = \"2MiB\"\n[forwarding]\nmode = \"patch\"\npairs = [[\"lh0\", \"commission\"]]\n{}{}",
        port("lh0", measured),
        port("commission", "")
    );
    changes.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

type Make = fn(&[u8]) -> Option<Piecemeal>;
type TestBench = Bench<Port, Make, TestClock, fn(Nanos, &mut Course)>;

/// One end.
struct Side {
    worker: Worker<TestBench, TestClock>,
    controls: Controls,
    monitor: Arc<Monitor>,
    course: Rc<RefCell<Course>>,
    /// Pauses that the card counts; `None` if it counts none.
    counted: Rc<Cell<Option<u64>>>,
    /// Steps whose end the control side has seen.
    steps: usize,
}

impl Side {
    fn new(
        gateway: &Gateway,
        facts: Facts,
        key: Key,
        number: u64,
        port: Port,
        now: &Rc<Cell<Nanos>>,
    ) -> Self {
        let clock = TestClock(Rc::clone(now));
        let course = Course::new(facts, key, number, now.get());
        let make: Make = |bytes| Some(Piecemeal(bytes.to_vec()));
        let [link, test]: [TestBench; 2] = Bench::pair(port, make, course, &clock, |_, _| ());
        let course = link.course();
        let ledger = Arc::new(Ledger::new(2, 1));
        let owned: PortSet = [LINK, TEST].into_iter().collect();
        let shard = Shard::new(ShardId(0), gateway.program.clone(), ledger, owned);
        let (controls, mailbox) = mailbox();
        let monitor = Arc::new(Monitor::default());
        monitor.promise(gateway.covered_by([LINK]).unwrap_or(Interval::from_millis(10)));
        let devices = [(LINK, link), (TEST, test)];
        let worker = Worker::new(clock, shard, devices, mailbox, Arc::clone(&monitor));
        Self { worker, controls, monitor, course, counted: Rc::default(), steps: 0 }
    }

    /// Does the work of the control side of a gateway.
    fn look(&mut self) {
        let mut figures = Figures {
            late_turns: self.monitor.late_turns(),
            longest_turn: self.monitor.longest_turn(),
            pauses_counted: self.counted.get(),
            ..Figures::default()
        };
        let mut receive = || match self.controls.receive() {
            Some(Reply::Inspected(_, seen)) => Some(seen),
            _ => None,
        };
        if let (Some(link), Some(test)) = (receive(), receive()) {
            figures.add([&link, &test]);
        }
        let mut course = self.course.borrow_mut();
        course.read(figures);
        if course.steps_done() > self.steps {
            self.steps = course.steps_done();
            self.controls.send(Command::ClearWatermarks).unwrap();
        }
        for port in [LINK, TEST] {
            self.controls.send(Command::Inspect(port, Box::<Inspection>::default())).unwrap();
        }
    }
}

/// Two ends.
pub struct World {
    pub now: Rc<Cell<Nanos>>,
    sides: [Side; 2],
    fibres: [Rc<RefCell<Fibre>>; 2],
    /// Until when the second end does nothing.
    pub asleep: Nanos,
    /// Called before each pair of turns.
    pub each: Box<dyn FnMut(&mut Asleep)>,
    looks: u64,
    /// Frames that a plant adds.
    extra: Rc<RefCell<Frames>>,
}

/// The actions of a test as time passes.
pub struct Asleep {
    pub now: Nanos,
    /// Until when the second end does nothing.
    pub until: Nanos,
}

impl World {
    pub fn of(files: [&str; 2], keys: [Key; 2], terms: Terms) -> Self {
        let now = Rc::new(Cell::new(Nanos(1_000_000_000_000)));
        let fibre = || Fibre { frames: VecDeque::new(), plant: Box::new(|_, _| Some(Interval::ZERO)) };
        let fibres = [0, 1].map(|_| Rc::new(RefCell::new(fibre())));
        let sides = [0, 1].map(|side| {
            let gateway = config::parse(files[side], "gw.toml").unwrap_or_else(|error| panic!("{error}"));
            let facts = Facts::of(&gateway, LINK, terms);
            let (out, back) = (Rc::clone(&fibres[side]), Rc::clone(&fibres[1 - side]));
            let port = Port { out, back, clock: Rc::clone(&now) };
            Side::new(&gateway, facts, keys[side], 5 + side as u64, port, &now)
        });
        Self {
            now,
            sides,
            fibres,
            asleep: Nanos::ZERO,
            each: Box::new(|_| ()),
            looks: 0,
            extra: Rc::default(),
        }
    }

    pub fn new(terms: Terms) -> Self {
        Self::of([&file(&[]); 2], [KEY; 2], terms)
    }

    /// Plants a fault into the direction from the first end to the second.
    pub fn plant(&self, plant: impl FnMut(Nanos, &mut Vec<u8>) -> Fate + 'static) {
        self.fibres[0].borrow_mut().plant = Box::new(plant);
    }

    /// Plants a fault into the other direction.
    pub fn plant_back(&self, plant: impl FnMut(Nanos, &mut Vec<u8>) -> Fate + 'static) {
        self.fibres[1].borrow_mut().plant = Box::new(plant);
    }

    /// Counts, as the card of the second end, the pauses that it shows or keeps.
    pub fn counted(&self) -> Rc<Cell<Option<u64>>> {
        self.sides[1].counted.set(Some(0));
        Rc::clone(&self.sides[1].counted)
    }

    /// Lets a stranger send a frame to the second end.
    pub fn inject(&self, frame: Vec<u8>) {
        self.fibres[0].borrow_mut().frames.push_front((self.now.get(), frame));
    }

    /// A function that delivers one more frame to the second end.
    pub fn doubler(&self) -> impl Fn(Nanos, Vec<u8>) + 'static {
        let extra = Rc::clone(&self.extra);
        move |now, frame| extra.borrow_mut().push_back((now, frame))
    }

    pub fn end(&self, side: usize) {
        self.sides[side].course.borrow_mut().end(self.now.get(), End::Interrupted);
    }

    /// Passes this time.
    pub fn pass(&mut self, time: Interval) {
        let end = self.now.get() + time;
        while self.now.get() < end {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let now = self.now.get() + TURN;
        self.now.set(now);
        let mut asleep = Asleep { now, until: self.asleep };
        (self.each)(&mut asleep);
        self.asleep = asleep.until;
        for (at, frame) in self.extra.borrow_mut().drain(..) {
            let frames = &mut self.fibres[0].borrow_mut().frames;
            let at = at + DELAY;
            let place = frames.partition_point(|(other, _)| *other <= at);
            frames.insert(place, (at, frame));
        }
        let awake = if now < self.asleep { 1 } else { 2 };
        for side in &mut self.sides[..awake] {
            let _ = side.worker.turn();
        }
        if now.0 / LOOK.0 != self.looks {
            self.looks = now.0 / LOOK.0;
            self.sides[..awake].iter_mut().for_each(Side::look);
        }
    }

    pub fn is_over(&self) -> bool {
        self.sides.iter().all(|side| side.course.borrow().is_over(self.now.get()))
    }

    pub fn reports(&self) -> [Report; 2] {
        [0, 1].map(|side| self.sides[side].course.borrow().report())
    }

    /// Runs to the end.
    pub fn run(mut self) -> [Report; 2] {
        let limit = self.now.get() + LONGEST;
        while !self.is_over() {
            self.turn();
            assert!(self.now.get() < limit, "{}", self.reports()[0].text());
        }
        self.reports()
    }
}

/// The faults that both reports name, each once.
pub fn faults(reports: &[Report; 2]) -> Vec<Fault> {
    let mut faults: Vec<_> = reports.iter().flat_map(Report::faults).collect();
    faults.sort();
    faults.dedup();
    faults
}
