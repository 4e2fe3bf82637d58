//! A driver for one shard, with a clock that the test moves.

use crate::conservation::assert_conserved;
use crate::frame::TestFrame;
use std::sync::Arc;
use switch::program::Settings;
use switch::{DropReason, Links, PortInspection, Program, SchemeReport, Shard, Transmitter, Volume};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet};
use wire::mac_control;

/// Calls of `egress` in a row, without a frame, before a bench concludes that a deadline lies.
const IDLE_CALLS_MAX: u32 = 4;

/// Something that left through a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its first bit was on the wire.
    pub start: Nanos,
    /// The frame; its label is 0 for control frames.
    pub frame: TestFrame,
    /// Whether the switch itself made it, out of nothing.
    pub control: bool,
}

impl Sent {
    /// The pause times, where it is a PFC frame.
    pub fn pfc(&self) -> Option<[Option<PauseQuanta>; Priority::COUNT]> {
        if !self.control {
            return None;
        }
        match mac_control::Message::parse(self.frame.bytes.get(14..)?) {
            Ok(mac_control::Message::Pfc(view)) => Some(view.times()),
            _ => None,
        }
    }
}

/// Collects what leaves through one port.
pub struct Recorder<'a> {
    sent: &'a mut Vec<Sent>,
    room: usize,
}

impl<'a> Recorder<'a> {
    /// Appends to `sent`; takes `room` data frames.
    pub fn new(sent: &'a mut Vec<Sent>, room: usize) -> Self {
        Self { sent, room }
    }
}

impl Transmitter<TestFrame> for Recorder<'_> {
    fn room(&self) -> usize {
        self.room
    }

    fn frame(&mut self, start: Nanos, frame: TestFrame) {
        assert!(self.room > 0, "a frame was given to a transmitter without room");
        self.room -= 1;
        self.sent.push(Sent { start, frame, control: false });
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.sent.push(Sent { start, frame: TestFrame::new(frame.to_vec()), control: true });
    }
}

/// The links of a bench during [`Shard::ingress`].
struct OpenLinks<'a> {
    pub sent: &'a mut [Vec<Sent>],
    pub are_open: bool,
}

impl Links<TestFrame> for OpenLinks<'_> {
    fn takes(&self, _port: PortId) -> bool {
        self.are_open
    }

    fn frame(&mut self, port: PortId, start: Nanos, frame: TestFrame) {
        self.sent[port.index()].push(Sent { start, frame, control: false });
    }
}

/// A switch of one shard under test. When it is dropped, it checks that nothing was lost.
pub struct Testbench {
    /// The switch.
    pub shard: Shard<TestFrame>,
    now: Nanos,
    sent: Vec<Vec<Sent>>,
    /// How many entries of `sent` were taken by [`Testbench::newly_sent`].
    read: Vec<usize>,
    arrived: Vec<Volume>,
    /// Whether frames may leave as soon as they come in.
    lets_pass: bool,
}

impl Testbench {
    /// A switch with `settings`, at time zero.
    ///
    /// # Panics
    /// Where the settings do not hold.
    pub fn new(settings: Settings) -> Self {
        let ports = settings.ports.len();
        let program = Program::new(settings).expect("the test's settings hold");
        Self {
            shard: Shard::single(Arc::new(program)),
            now: Nanos::ZERO,
            sent: vec![Vec::new(); ports],
            read: vec![0; ports],
            arrived: vec![Volume::default(); ports],
            lets_pass: false,
        }
    }

    /// The same with links that take frames within [`Shard::ingress`]. Otherwise every frame waits for
    /// [`Shard::egress`].
    ///
    /// # Panics
    /// As [`Testbench::new`].
    pub fn letting_pass(settings: Settings) -> Self {
        let mut bench = Self::new(settings);
        bench.lets_pass = true;
        bench
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The whole state of `port`.
    pub fn look(&self, port: PortId) -> PortInspection {
        let mut look = PortInspection::default();
        self.shard.inspect(self.now, port, &mut look);
        look
    }

    /// All its ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + Clone + use<> {
        (0..self.sent.len() as u16).map(PortId)
    }

    /// Lets `frames` arrive at `port` in one burst, now.
    pub fn inject(&mut self, port: PortId, frames: impl IntoIterator<Item = TestFrame>) {
        let mut burst: Vec<_> = frames.into_iter().collect();
        for frame in &burst {
            self.arrived[port.index()].count(Bytes(frame.length));
        }
        let mut links = OpenLinks { sent: &mut self.sent, are_open: self.lets_pass };
        self.shard.ingress(self.now, port, &mut burst, &mut links);
        assert!(burst.is_empty(), "ingress takes all frames of a burst");
    }

    /// Lets `frames` arrive at `port` one by one, each its own burst, now, and what is due
    /// leave.
    pub fn inject_singly(&mut self, port: PortId, frames: impl IntoIterator<Item = TestFrame>) {
        for frame in frames {
            self.inject(port, [frame]);
            self.turn();
        }
    }

    /// Lets a PFC frame arrive at `port` that tells `priorities` to pause for `time`.
    pub fn inject_pfc(&mut self, port: PortId, priorities: PrioritySet, time: PauseQuanta) {
        self.inject(port, [TestFrame::pfc(priorities, time)]);
    }

    /// Lets an 802.3x PAUSE frame arrive at `port`.
    pub fn inject_global_pause(&mut self, port: PortId, time: PauseQuanta) {
        let mut frame = TestFrame::pfc(PrioritySet::EMPTY, time);
        let [high, low] = time.0.to_be_bytes();
        frame.bytes[14..18].copy_from_slice(&[0, 1, high, low]);
        frame.bytes[18..].fill(0);
        self.inject(port, [frame]);
    }

    /// The peer of `port` pauses `priority` for as long as a frame can say.
    pub fn block(&mut self, port: PortId, priority: Priority) {
        self.inject_pfc(port, PrioritySet::EMPTY.with(priority), PauseQuanta::MAX);
    }

    /// The peer of `port` resumes `priority`.
    pub fn release(&mut self, port: PortId, priority: Priority) {
        self.inject_pfc(port, PrioritySet::EMPTY.with(priority), PauseQuanta::ZERO);
    }

    /// Calls `egress` for `port` now, whether or not it is due, with room for `room` frames.
    pub fn egress(&mut self, port: PortId, room: usize) {
        self.shard.egress(self.now, port, &mut Recorder::new(&mut self.sent[port.index()], room));
    }

    /// Lets everything leave that is due now.
    pub fn turn(&mut self) {
        self.run_until(self.now);
    }

    /// Moves the clock to `time`, and lets everything leave when it is due on the way.
    ///
    /// # Panics
    /// Where deadlines come and nothing happens: a driver would spin.
    pub fn run_until(&mut self, time: Nanos) {
        let (mut idle_calls, mut unseen) = (0, (Volume::ZERO, 0));
        while self.shard.next_deadline() <= time {
            self.now = self.now.max(self.shard.next_deadline());
            let before = self.count_sent();
            for port in self.ports() {
                if self.shard.port_deadline(port) <= self.now {
                    self.egress(port, usize::MAX);
                }
            }
            idle_calls = if self.count_sent() == before { idle_calls + 1 } else { 0 };
            // A call may drop what waits, or end a slot or an interval of a scheme.
            if idle_calls > 0 {
                let now = (self.dropped_in_all(), self.slots_ended());
                if core::mem::replace(&mut unseen, now) != now {
                    idle_calls = 0;
                }
            }
            assert!(idle_calls < IDLE_CALLS_MAX, "a deadline at {} that leads to nothing", self.now);
        }
        self.now = self.now.max(time);
    }

    /// Moves the clock to `time` and calls nothing: a driver that is late.
    pub fn run_clock_to(&mut self, time: Nanos) {
        self.now = self.now.max(time);
    }

    /// Moves the clock by `interval`.
    pub fn run_for(&mut self, interval: Interval) {
        self.run_until(self.now + interval);
    }

    /// Lets everything leave that can, and pauses run out, until nothing is due any more. The
    /// clock then stands at the last deadline.
    pub fn run_dry(&mut self) {
        while self.shard.next_deadline() != Nanos::NEVER {
            self.run_until(self.shard.next_deadline().max(self.now));
        }
    }

    fn count_sent(&self) -> usize {
        self.sent.iter().map(Vec::len).sum()
    }

    fn slots_ended(&self) -> u64 {
        let schemes = self.ports().map(|port| self.shard.flow_control(port));
        let ended = |scheme: SchemeReport| match scheme {
            SchemeReport::Pfc => 0,
            SchemeReport::Bifrost(report) => report.slots.slots,
            SchemeReport::BifrostX(report) => report.slots.slots.slots,
            SchemeReport::PortGrants(report) => report.slots.slots.slots,
            SchemeReport::Cbfc(report) => report.sent,
            SchemeReport::PPfc(report) => report.ticks,
            SchemeReport::CaPfc(report) => report.ticks,
            SchemeReport::Relay(report) => report.passed_on,
        };
        schemes.map(ended).sum()
    }

    /// Everything that left through `port`.
    pub fn sent(&self, port: PortId) -> &[Sent] {
        &self.sent[port.index()]
    }

    /// The data frames that left through `port`.
    pub fn data(&self, port: PortId) -> impl Iterator<Item = &Sent> {
        self.sent(port).iter().filter(|sent| !sent.control)
    }

    /// The labels of the data frames that left through `port`, in their order.
    pub fn labels(&self, port: PortId) -> Vec<u64> {
        self.data(port).map(|sent| sent.frame.label).collect()
    }

    /// The PFC frames that left through `port`: when, and what they say of `priority`.
    pub fn pauses(&self, port: PortId, priority: Priority) -> Vec<(Nanos, PauseQuanta)> {
        let times = |sent: &Sent| Some((sent.start, sent.pfc()?[priority.index()]?));
        self.sent(port).iter().filter_map(times).collect()
    }

    /// The frames that left through `port` since this was last asked.
    pub fn newly_sent(&mut self, port: PortId) -> Vec<Sent> {
        let read = core::mem::replace(&mut self.read[port.index()], self.sent[port.index()].len());
        self.sent[port.index()][read..].to_vec()
    }

    /// Changes the settings while the switch runs.
    ///
    /// # Panics
    /// Where they do not hold or cannot change live.
    pub fn install(&mut self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.shard.program().settings().clone();
        change(&mut settings);
        let program = Program::new(settings).expect("the test's settings hold");
        self.shard.install(self.now, Arc::new(program)).expect("the test changes what can change");
    }

    /// Frames of `priority` from `port` that were dropped for `reason`, before or after they were
    /// admitted: before at ingress, after at egress.
    pub fn dropped(&self, port: PortId, priority: Priority, reason: DropReason) -> Volume {
        let ingress = self.shard.ingress_counters(port).dropped[priority.index()][reason.index()];
        ingress + self.shard.queue(self.now, port, priority).dropped[reason.index()]
    }

    /// All frames that were dropped anywhere.
    pub fn dropped_in_all(&self) -> Volume {
        let each = |port| {
            Priority::all().flat_map(move |priority| {
                DropReason::ALL.into_iter().map(move |reason| self.dropped(port, priority, reason))
            })
        };
        self.ports().flat_map(each).sum()
    }

    /// Checks that nothing was lost and that every figure agrees with every other.
    ///
    /// # Panics
    /// Where one does not.
    pub fn assert_conserved(&self) {
        assert_conserved(self.ports(), self.now, |_| &self.shard);
        for port in self.ports() {
            let counters = self.shard.ingress_counters(port);
            let received: Volume = counters.received.into_iter().sum();
            let consumed: Volume = counters.consumed.into_iter().sum();
            assert_eq!(received + consumed, self.arrived[port.index()], "{port}: arrived");
            let sent = |control: bool| -> Volume {
                let lengths = self.sent(port).iter().filter(|sent| sent.control == control);
                lengths.fold(Volume::default(), |mut sum, sent| {
                    sum.count(Bytes(sent.frame.length));
                    sum
                })
            };
            let queues = Priority::all().map(|priority| self.shard.queue(self.now, port, priority));
            let transmitted: Volume = queues.map(|queue| queue.counters.transmitted).sum();
            assert_eq!(sent(false), transmitted, "{port}: transmitted");
            assert_eq!(sent(true), self.shard.control_sent(port), "{port}: control frames");
        }
    }
}

impl Drop for Testbench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_conserved();
        }
    }
}
