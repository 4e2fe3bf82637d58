//! The worker and its turn.

use crate::kernel::{KernelPort, PER_TURN};
use crate::mailbox::{Command, Inspection, Mailbox, Reply};
use crate::monitor::{Monitor, Stage};
use crate::port::{Port, Ports};
use crate::profile::{ProfileStage, Profiler};
use crate::{BURST, Clock, DelayLine, Device, EventOutlet, ReceiveRing};
use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use switch::{DelayHistogram, Frame, Shard, Successor};
use units::{Bytes, Interval, Nanos, PortId, PortSet, WireBytes};

/// The behaviour of a worker without traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Keeps polling.
    #[default]
    Poll,
    /// Sleeps for about 50 us at a time, unless frames are due meanwhile.
    Sleep,
}

/// Turns without a frame after which a worker sleeps: about ten microseconds, so that it does not sleep
/// within a train of frames.
const IDLE_TURNS: u32 = 64;
/// The duration of a sleep. Yielding instead is unsuitable: a scheduler may penalize a thread that yields
/// repeatedly, and run others for seconds.
const NAP: Interval = Interval::from_micros(50);
/// It does not sleep with a deadline this near, because the system may wake it late.
const SOON: Interval = Interval::from_micros(200);

/// One core of a gateway: a shard, the devices of its ports, and its end of the mailbox.
pub struct Worker<D: Device, C> {
    clock: C,
    now: Nanos,
    /// The start of the current turn.
    began: Nanos,
    shard: Shard<D::Frame>,
    ports: Ports<D>,
    mailbox: Mailbox,
    monitor: Arc<Monitor>,
    /// Received frames; empty between ports.
    burst: Vec<D::Frame>,
    draining: bool,
    /// The ports whose receive rings are deep.
    deep_rings: PortSet,
    /// Completed turns.
    turns: u64,
    /// Turns in which a frame arrived or left.
    busy: u64,
    /// The maximum number of bursts sent through one port per turn: as many as can arrive for it.
    bursts_out: usize,
    idle: Idle,
    /// Whether its shard is a lane, which shares its ports with those of other workers.
    is_lane: bool,
    lateness: DelayHistogram,
    turn_times: DelayHistogram,
    /// Turns that took longer than promised.
    late_turns: u64,
    profiler: Profiler,
    /// Where the events of the shard go, if they are recorded.
    events: Option<EventOutlet>,
    /// The frames to and from the kernel, where it speaks for the gateway.
    kernel: Option<KernelPort>,
}

impl<D: Device, C: Clock> Worker<D, C> {
    /// A worker that drives `shard`, which owns the ports of `devices`. All links start up.
    pub fn new(
        clock: C,
        shard: Shard<D::Frame>,
        devices: impl IntoIterator<Item = (PortId, D)>,
        mailbox: Mailbox,
        monitor: Arc<Monitor>,
    ) -> Self {
        let ports: Ports<D> = devices.into_iter().map(|(id, device)| Port::new(id, device)).collect();
        Self {
            clock,
            now: Nanos::ZERO,
            began: Nanos::ZERO,
            ports,
            mailbox,
            monitor,
            burst: Vec::with_capacity(BURST),
            draining: false,
            deep_rings: PortSet::EMPTY,
            turns: 0,
            busy: 0,
            bursts_out: shard.ledger().ports(),
            idle: Idle::default(),
            is_lane: false,
            lateness: DelayHistogram::default(),
            turn_times: DelayHistogram::default(),
            late_turns: 0,
            profiler: Profiler::default(),
            events: None,
            kernel: None,
            shard,
        }
    }

    /// Puts an emulated link between the switch and the device of `port`, for departing frames.
    ///
    /// # Panics
    /// If the worker has no such port, a mistake of the caller.
    #[must_use]
    pub fn emulate(mut self, port: PortId, line: DelayLine<D::Frame>) -> Self {
        self.ports.port_mut(port).expect("links are emulated behind ports of the worker").line =
            Some(Box::new(line));
        self
    }

    /// Sets the behaviour of [`Worker::run`] without traffic.
    #[must_use]
    pub fn while_idle(self, idle: Idle) -> Self {
        Self { idle, ..self }
    }

    /// Drives its shard as a lane ([`Shard::lane`]).
    #[must_use]
    pub fn as_lane(self) -> Self {
        Self { is_lane: true, ..self }
    }

    /// Records the events of the shard, and gives them to `outlet`.
    #[must_use]
    pub fn with_events(mut self, outlet: EventOutlet) -> Self {
        self.shard.record_events();
        self.events = Some(outlet);
        self
    }

    /// Exchanges frames with the kernel through `kernel`.
    #[must_use]
    pub fn with_kernel(mut self, kernel: KernelPort) -> Self {
        self.shard.make_room_for_punts(BURST);
        self.kernel = Some(kernel);
        self
    }

    /// The switch state.
    pub fn shard(&self) -> &Shard<D::Frame> {
        &self.shard
    }

    /// Runs turns until [`Command::Stop`]. Frames still queued then stay in place.
    pub fn run(&mut self) {
        let (mut busy, mut idle_turns) = (self.busy, 0);
        while self.turn().is_continue() {
            if self.idle == Idle::Poll {
                continue;
            }
            idle_turns = if self.busy == busy { (idle_turns + 1).min(IDLE_TURNS) } else { 0 };
            busy = self.busy;
            if idle_turns >= IDLE_TURNS && self.next_deadline() > self.now + SOON {
                let from = self.clock.now();
                thread::sleep(Duration::from_nanos(NAP.0));
                self.profiler.note_sleep(self.clock.now().since(from));
            }
        }
        self.monitor.enter(Stage::Idle);
    }

    /// The next deadline if nothing arrives.
    fn next_deadline(&self) -> Nanos {
        let on_links = self.ports.iter().filter_map(|port| Some(port.line.as_ref()?.next_deadline()));
        on_links.fold(self.shard.next_deadline(), Nanos::min)
    }

    /// Runs one turn. Breaks on [`Command::Stop`].
    pub fn turn(&mut self) -> ControlFlow<()> {
        self.now = self.clock.now().max(self.now);
        let last = if self.turns > 0 { self.began } else { self.now };
        self.began = self.now;
        if self.turns > 0 {
            self.note_turn(self.began.since(last));
        } else {
            self.profiler.start(self.began);
        }
        self.profiler.begin(self.began);
        let mut busy = false;
        self.look_at_memory();
        if !self.deep_rings.is_empty() {
            self.look_at_deep_rings();
        }
        self.profiler.end_stage(ProfileStage::Housekeeping, &mut self.clock);
        for index in 0..self.ports.len() {
            busy |= self.receive(index, last);
        }
        // The time since the last burst went into polls that found nothing.
        self.profiler.end_stage(ProfileStage::Receive, &mut self.clock);
        self.shard.look_at_other_shards();
        for index in 0..self.ports.len() {
            busy |= self.transmit(index, last);
        }
        if self.is_lane {
            self.meet_other_lanes();
        }
        self.profiler.end_stage(ProfileStage::Egress, &mut self.clock);
        self.profiler.note_busy(busy);
        if self.kernel.is_some() {
            self.serve_kernel();
        }
        if self.shard.has_events(self.now) {
            self.give_events();
        }
        let ordered = self.mailbox.take();
        let flow = ordered.map_or(ControlFlow::Continue(()), |command| self.follow(command));
        self.turns += 1;
        self.busy += u64::from(busy);
        self.monitor.publish(self.turns, self.busy);
        flow
    }

    /// Shows the other lanes what this one holds, and looks at what they show: between two turns, so that what is due for them
    /// is due in the next one, and a worker does not sleep over it.
    #[inline(never)]
    fn meet_other_lanes(&mut self) {
        self.shard.publish();
        self.now = self.clock.now().max(self.now);
        self.shard.look(self.now);
    }

    /// Counts a turn of this duration. During a turn, arriving frames are unseen and cause no pauses.
    #[inline]
    fn note_turn(&mut self, took: Interval) {
        self.turn_times.record(took);
        self.profiler.end(self.began, took);
        if self.monitor.is_late(took) {
            self.late_turns += 1;
            self.monitor.note_late(self.turn_times.longest(), self.late_turns);
        }
    }

    /// Pauses senders while memory runs low. One device is enough to check, as all share one pool.
    #[inline]
    fn look_at_memory(&mut self) {
        if let Some(port) = self.ports.first_mut() {
            self.shard.set_memory_low(port.device.memory_is_low());
        }
    }

    /// Resumes the senders of ports whose receive rings the worker has caught up with.
    #[cold]
    fn look_at_deep_rings(&mut self) {
        for port in self.ports.iter() {
            if self.deep_rings.contains(port.id) && port.ring.is_calm(self.turns) {
                self.deep_rings.remove(port.id);
                self.shard.set_ring_deep(port.id, false);
            }
        }
    }

    /// Notes that a burst filled its room, so that more may wait in the receive ring. If that is deep, the senders of the port
    /// are paused.
    #[inline(never)]
    fn note_full_burst(&mut self, index: usize, last: Nanos) {
        self.shard.note_unread(self.now, self.ports[index].id, false);
        let port = &mut self.ports[index];
        if !port.ring.note_full(self.turns, last) || self.deep_rings.contains(port.id) {
            return;
        }
        let is_deep = match port.device.receive_ring() {
            ReceiveRing::Endless => false,
            ReceiveRing::Told { is_deep } => is_deep,
            ReceiveRing::Untold { descriptors } => {
                let rate = self.shard.program().port(port.id).rate;
                let read: u64 = self.burst.iter().map(|frame| WireBytes::of_frame(frame.length()).0).sum();
                port.ring.may_be_deep(descriptors, self.now, rate, WireBytes(read))
            }
        };
        if is_deep {
            self.deep_rings.insert(port.id);
            self.shard.set_ring_deep(port.id, true);
            // Headroom does not cover the unread frames if the groups reach their thresholds meanwhile.
            self.shard.allow_late(port.id, port.ring.unread_for(self.now));
        }
    }

    /// Notes that hellos may wait to be read at all ports, those that were read before this thread was late among them.
    #[cold]
    fn note_late(&mut self) {
        for port in self.ports.iter() {
            self.shard.note_unread(self.now, port.id, true);
        }
    }

    /// Receives a burst from a port; the turn before began at `last`. Returns whether there was a burst.
    #[inline]
    fn receive(&mut self, index: usize, last: Nanos) -> bool {
        let port = &mut self.ports[index];
        self.monitor.enter(Stage::Ingress(port.id));
        port.device.receive(&mut self.burst);
        if self.burst.is_empty() {
            return false;
        }
        self.profiler.count_burst(self.burst.len());
        // Read the clock again, because the system may have preempted this thread since the turn began. A
        // timestamp before the frame's arrival would let it leave an emulated link too early.
        self.now = self.clock.now().max(self.now);
        self.profiler.end_stage_at(ProfileStage::Receive, self.now);
        if let Some(tap) = &mut port.tap {
            tap.see_received(self.now, &self.burst);
        }
        if self.burst.len() == BURST {
            self.note_full_burst(index, last);
        }
        let port = &mut self.ports[index];
        if self.draining {
            port.drop_data(&mut self.burst);
        }
        let port = port.id;
        if self.monitor.is_late(self.now.since(last)) {
            self.shard.allow_late(port, self.now.since(last));
            self.note_late();
        }
        self.shard.ingress(self.now, port, &mut self.burst, &mut self.ports);
        if self.shard.has_punts()
            && let Some(kernel) = &mut self.kernel
        {
            // A frame in several pieces is longer than any for the kernel.
            self.shard.take_punts(|port, class, frame| {
                frame.headers().len() as u64 == frame.length().0 && kernel.give(port, class, frame.headers())
            });
        }
        self.profiler.end_stage(ProfileStage::Ingress, &mut self.clock);
        true
    }

    /// Sends the frames that are due at a port. Returns whether there were any.
    #[inline]
    fn transmit(&mut self, index: usize, last: Nanos) -> bool {
        let port = &mut self.ports[index];
        if !port.link_is_up {
            return self.move_frames(index);
        }
        let deadline = self.shard.port_deadline(port.id);
        if deadline > self.now {
            port.flush(self.now);
            return false;
        }
        self.monitor.enter(Stage::Egress(port.id));
        // A deadline before the last turn was not missed: its frame found the link free, or the device had no
        // room for it.
        if deadline > last {
            self.lateness.record(self.now.since(deadline));
        }
        let mut used = false;
        for _ in 0..self.bursts_out {
            let sent = port.send(&mut self.shard, self.now);
            used |= sent.any;
            port.flush(self.now);
            if !sent.all_room || port.device.room() == 0 || self.shard.port_deadline(port.id) > self.now {
                break;
            }
        }
        used
    }

    /// Lets the frames of a member of a bundle, whose link is down, move to the others. All other ports keep theirs.
    #[cold]
    fn move_frames(&mut self, index: usize) -> bool {
        let (now, id) = (self.now, self.ports[index].id);
        let moves = self.shard.program().port(id).bundle.is_some() && self.shard.port_deadline(id) <= now;
        moves && self.ports[index].send(&mut self.shard, now).any
    }

    /// Queues what the kernel sends, and tells it which ports carry data. Frames of the kernel wait during a drain.
    #[inline(never)]
    fn serve_kernel(&mut self) {
        let Self { kernel: Some(kernel), ports, shard, .. } = self else { return };
        let carries = |port: &&Port<D>| port.link_is_up && shard.sends(port.id);
        kernel.tell(ports.iter().filter(carries).map(|port| port.id).collect());
        for _ in 0..if self.draining { 0 } else { PER_TURN } {
            let queue = |frame: &crate::KernelFrame| {
                let made = ports.port_mut(frame.port).and_then(|port| port.device.make(&frame.bytes));
                shard.inject(self.now, frame.port, Bytes(frame.bytes.len() as u64), made);
            };
            if !kernel.take(queue) {
                break;
            }
        }
    }

    #[cold]
    fn give_events(&mut self) {
        if let Some(outlet) = &mut self.events {
            self.shard.take_events(self.now, |events| outlet.append(events));
        }
    }

    #[cold]
    fn follow(&mut self, command: Command) -> ControlFlow<()> {
        self.monitor.enter(Stage::Command);
        match command {
            Command::Install(successor) => {
                let reply = self.install(successor);
                self.mailbox.answer(reply);
            }
            Command::Exchange(mut program) => {
                self.shard.exchange_routes(&mut program);
                self.mailbox.answer(Reply::Exchanged(program));
            }
            Command::Inspect(port, mut inspection) => {
                self.inspect(port, &mut inspection);
                self.mailbox.answer(Reply::Inspected(port, inspection));
            }
            Command::ClearWatermarks => self.shard.clear_watermarks(),
            Command::Link(id, is_up) => {
                if let Some(port) = self.ports.port_mut(id) {
                    port.link_is_up = is_up;
                    self.shard.set_carrier(self.now, id, is_up);
                }
            }
            Command::Capture(id, mut tap) => {
                if let Some(port) = self.ports.port_mut(id) {
                    core::mem::swap(&mut port.tap, &mut tap);
                }
                self.mailbox.answer(Reply::Captures(id, tap));
            }
            Command::Drain => self.draining = true,
            Command::ShutDownAgents => self.shard.shut_down_agents(),
            Command::Stop => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn install(&mut self, mut successor: Box<Successor>) -> Reply {
        Reply::Installed(match self.shard.succeed(self.now, &mut successor) {
            Ok(()) => {
                for port in self.ports.iter_mut() {
                    let rate = self.shard.program().port(port.id).rate;
                    port.line.iter_mut().for_each(|line| line.set_rate(rate));
                }
                Ok(successor)
            }
            Err(why) => Err((successor, why)),
        })
    }

    fn inspect(&self, id: PortId, into: &mut Inspection) {
        let Some(port) = self.ports.port(id) else { return };
        self.shard.inspect(self.now, id, &mut into.port);
        into.device = port.device.counters();
        into.emulation = port.line.as_ref().map(|line| line.counters()).unwrap_or_default();
        into.pools = self.shard.pools();
        into.lateness.clone_from(&self.lateness);
        into.turns.clone_from(&self.turn_times);
        into.profile = self.profiler.profile(self.turns, self.busy);
        into.drained = port.drained;
    }
}
