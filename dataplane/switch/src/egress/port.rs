//! One port's egress: its queues, and the choice of the next frame.

mod adaptive;
mod longest;
mod slow;

mod watched;

use super::gate::Gate;
use super::queue::{Queue, mark};
use super::scheduler::Scheduler;
use super::watchdog::{PortWatchdog, WatchdogChange, WatchdogCounters};
use crate::admission::Pools;
use crate::congestion::int::Stamper;
use crate::flow_control::{Steering, Upstream};
use crate::flows::notifications::Notifications;
use crate::frame::{Frame, Transmitter};
use crate::ledger::{Load, Volume};
use crate::program::{MarkAt, PortSettings, QueueSettings};
use crate::queue::{Charge, Lent, Queued, Store};
use crate::reason::{DropReason, PerReason};
use crate::service::Outgoing;
use longest::Longest;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cells, Nanos, Priority, PrioritySet, QueueId, QueueSet, WireBytes};

/// The egress half of a port.
#[derive(Serialize, Deserialize)]
pub(crate) struct EgressPort {
    pub gate: Gate,
    /// The longest frames that may leave.
    pub longest: Longest,
    /// Adds telemetry of the link to packets of HPCC.
    stamper: Option<Stamper>,
    scheduler: Scheduler,
    /// The slow queue of each priority that has one.
    slow: [Option<QueueId>; Priority::COUNT],
    /// Slow queues that wait for frames in the first queue of their priority.
    barred: QueueSet,
    /// Queues that hold frames.
    backlog: QueueSet,
    queues: Vec<Queue>,
    /// The queues whose ECN thresholds move.
    pub adapting: QueueSet,
    watchdog: PortWatchdog,
    /// Notifications for senders behind the port.
    pub notifications: Notifications,
    /// Control frames sent.
    pub control: Volume,
    /// Whether a frame was dropped since the drops were last looked at.
    pub has_dropped: bool,
}

/// The queue whose turn it is to send, within one call.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub queue: QueueId,
    /// Wire bytes that it may send.
    allowance: u64,
    /// What each frame gets on its way out.
    added: WireBytes,
}

impl Turn {
    /// The turn of a queue whose frames get `bytes` more each on their way out.
    pub fn adding(self, bytes: WireBytes) -> Self {
        Self { added: bytes, ..self }
    }
}

/// Frames that a queue has sent in one turn.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    volume: Volume,
    /// Buffer cells of its lossy frames.
    lossy: Cells,
}

impl Sent {
    /// Adds a run that left `waiting` bytes in the queue. Returns the load of the run.
    fn add(&mut self, run: &Run, waiting: u64) -> Load {
        let volume = Volume { frames: run.frames, bytes: Bytes(run.waiting - waiting) };
        self.volume += volume;
        self.lossy += if run.charge.is_lossless() { Cells::ZERO } else { run.cells };
        Load { cells: run.cells, volume }
    }
}

/// Successive frames that leave and have the same charge.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    charge: Charge,
    /// Bytes in the queue before it.
    waiting: u64,
    frames: u64,
    cells: Cells,
}

impl EgressPort {
    pub fn new(settings: &PortSettings) -> Self {
        let mut port = Self {
            gate: Gate::new(settings),
            longest: Longest::of(settings),
            slow: [None; Priority::COUNT],
            barred: QueueSet::EMPTY,
            stamper: Stamper::new(settings),
            scheduler: Scheduler::new(&settings.queues, settings.max_frame, settings.rate),
            backlog: QueueSet::EMPTY,
            queues: settings.queues.iter().map(|queue| Queue::new(queue, settings.rate)).collect(),
            adapting: adapting(settings),
            watchdog: PortWatchdog::new(settings.watchdog, settings.queues.len()),
            notifications: Notifications::new(),
            control: Volume::default(),
            has_dropped: false,
        };
        port.configure_slow(settings);
        port
    }

    /// Applies new settings. Waiting frames stay, and shapers whose limit is new start full. Calls `report` for
    /// each storm that ends because of it.
    pub fn configure(
        &mut self,
        now: Nanos,
        old: &PortSettings,
        new: &PortSettings,
        report: impl FnMut(QueueId, WatchdogChange),
    ) {
        self.gate.configure(now, old, new);
        self.longest = Longest::of(new);
        self.stamper = Stamper::new(new);
        self.scheduler.configure(&new.queues, new.max_frame, new.rate);
        for (queue, (old, new_queue)) in self.queues.iter_mut().zip(old.queues.iter().zip(&new.queues)) {
            queue.configure(old, new_queue, new.rate);
        }
        self.adapting = adapting(new);
        self.configure_slow(new);
        let (obeying, pauses) = (new.queues_of(new.pfc.obeyed()), &self.gate.pauses);
        self.watchdog.configure(now, new.watchdog, obeying, |queue| *pauses.meter(queue), report);
        self.gate.pauses.ignore(now, self.watchdog.forwarding());
    }

    pub fn queue(&self, queue: QueueId) -> &Queue {
        &self.queues[queue.index()]
    }

    pub fn queues_mut(&mut self) -> &mut [Queue] {
        &mut self.queues
    }

    /// The frames that wait and those that were sent, by priority.
    pub fn outgoing(&self) -> Outgoing {
        let (mut waiting, mut sent) = ([Volume::ZERO; Priority::COUNT], [Volume::ZERO; Priority::COUNT]);
        for id in QueueSet::first(self.queues.len()).iter() {
            let (queue, index) = (self.queue(id), self.gate.pauses.priority(id).index());
            waiting[index] += queue.waiting();
            sent[index] += queue.counters.transmitted;
        }
        let in_first = core::array::from_fn(|index| self.queues[index].waiting().frames);
        Outgoing { waiting: waiting.map(Volume::on_the_wire), sent: sent.map(Volume::on_the_wire), in_first }
    }

    /// What steers its frames to queues of far ports, if anything does.
    #[inline]
    pub fn steering(&self) -> Option<&Steering> {
        self.gate.upstream.as_deref().and_then(Upstream::steering)
    }

    /// Tells its grants which queues hold frames, at a time when none is on its way to a queue.
    #[inline]
    pub fn note_waiting(&mut self) {
        if let Some(upstream) = &mut self.gate.upstream {
            upstream.note_waiting(self.backlog);
        }
    }

    /// The queues that hold at least `bytes`.
    pub fn at_least(&self, bytes: Bytes) -> QueueSet {
        let all = QueueSet::first(self.queues.len()).iter();
        all.filter(|queue| self.queue(*queue).bytes >= bytes.0).collect()
    }

    /// Notes what waits in its queues on other lanes, by priority.
    pub fn note_waiting_of_others(&mut self, waiting: &[Bytes; Priority::COUNT]) {
        self.queues.iter_mut().zip(waiting).for_each(|(queue, waiting)| queue.note_others(*waiting));
    }

    /// All that it has sent so far, control frames among it.
    pub fn sent(&self) -> Volume {
        self.control + self.data_sent()
    }

    /// The data that it has sent so far.
    pub fn data_sent(&self) -> Volume {
        self.queues.iter().map(|queue| queue.counters.transmitted).sum()
    }

    /// Bytes that the frames in the first queues of `priorities` take on the wire, short ones not counted as padded.
    pub fn on_the_wire(&self, priorities: PrioritySet) -> WireBytes {
        let waiting = priorities.iter().map(|priority| self.queue(priority.into()).waiting());
        waiting.sum::<Volume>().on_the_wire()
    }

    /// The queues in which frames wait.
    #[inline]
    pub fn waiting(&self) -> QueueSet {
        self.backlog
    }

    /// Whether frames wait in `queue`.
    #[inline]
    pub fn has_waiting(&self, queue: QueueId) -> bool {
        self.backlog.contains(queue)
    }

    /// Queues a frame, or returns it with the reason for its drop. The caller has checked that the queue does not
    /// [drop](Self::drops) all frames.
    #[inline(always)]
    pub fn enqueue<F: Frame>(
        &mut self,
        store: &mut Store<F>,
        pools: &mut Pools,
        mut queued: Queued<F>,
        rng: &mut impl Rng,
    ) -> Result<(), (DropReason, Queued<F>)> {
        let id = queued.queue;
        let queue = &mut self.queues[id.index()];
        let length = u64::from(queued.length);
        let cells = Cells::of_frame(queued.length());
        if !queued.charge.is_lossless()
            && let Err(reason) = queue.lossy.admit(cells, pools)
        {
            // Of the lossy frames, only copies of a lossless one wait in the queue of another priority than they are charged to.
            let is_copy = queued.charge.group() != self.gate.pauses.priority(id);
            return Err((if is_copy { DropReason::FloodLimit } else { reason }, queued));
        }
        if let Some(red) = &queue.red
            && red.at == MarkAt::Enqueue
            && queued.ip_offset != 0
            && red.marks(Bytes(queue.joint_bytes()), rng)
        {
            queue.counters.count(mark(&mut queued));
        }
        store.push(&mut queue.fifo, queued);
        queue.bytes += length;
        queue.watermark.note(queue.bytes);
        self.backlog = self.backlog.with(id);
        if let Some(slow) = &mut queue.slow {
            slow.entered += 1;
            self.gate.suspend(id, queue.bytes > slow.limit);
        }
        Ok(())
    }

    /// Cells that queue `id` takes in a run with one charge; none if each frame must be checked. The caller asks
    /// whether the queue [drops](Self::drops) all frames.
    #[inline]
    pub fn room_for_run<F: Frame>(
        &self,
        id: QueueId,
        charge: Charge,
        store: &Store<F>,
        pools: &Pools,
    ) -> Cells {
        let queue = &self.queues[id.index()];
        let marks = queue.red.as_ref().is_some_and(|red| red.at == MarkAt::Enqueue);
        let room = store.room_for_run(&queue.fifo);
        // Frames of a slow queue are numbered.
        match (marks || queue.slow.is_some(), charge.is_lossless()) {
            (true, _) => Cells::ZERO,
            (false, true) => room,
            (false, false) => room.min(queue.lossy.room(pools)),
        }
    }

    /// Lends the frames of queue `id` to a run, which adds to them until [`EgressPort::end_run`].
    #[inline]
    pub fn lend(&mut self, id: QueueId) -> Lent {
        self.queues[id.index()].fifo.lend()
    }

    /// Takes back the frames that queue `id` has lent, and accounts for those of the run.
    #[inline]
    pub fn end_run<F: Frame>(
        &mut self,
        id: QueueId,
        (lent, charge, load): (Lent, Charge, Load),
        (store, pools): (&mut Store<F>, &mut Pools),
    ) {
        let queue = &mut self.queues[id.index()];
        if !charge.is_lossless() {
            queue.lossy.charge_within_room(load.cells, pools);
        }
        store.end_run(&mut queue.fifo, lent, load.volume.frames);
        queue.bytes += load.volume.bytes.0;
        queue.watermark.note(queue.bytes);
        if !queue.fifo.is_empty() {
            self.backlog = self.backlog.with(id);
        }
    }

    /// Whether a frame of `length` for queue `id` that comes at `now` may leave at once: no frame waits, the link
    /// is free, and nothing is paused, shaped, stamped, watched or marked.
    #[inline(always)]
    pub fn may_pass(&self, now: Nanos, length: Bytes, id: QueueId, lossless: bool, pools: &Pools) -> bool {
        let queue = &self.queues[id.index()];
        self.backlog.is_empty()
            && self.gate.is_link_alone()
            && self.gate.link_opens_at() <= now
            && self.stamper.is_none()
            && self.watchdog.stormed.is_empty()
            && self.notifications.is_empty()
            && length <= self.longest.any
            && queue.red.as_ref().is_none_or(|red| red.at != MarkAt::Enqueue)
            && (lossless || queue.lossy.has_room(Cells::of_frame(length), pools))
    }

    /// Sends a frame that [may pass](Self::may_pass), and returns its start. It is never marked, because its queue
    /// stays empty.
    #[inline(always)]
    pub fn pass(
        &mut self,
        now: Nanos,
        length: Bytes,
        id: QueueId,
        lossless: bool,
        pools: &mut Pools,
    ) -> Nanos {
        let queue = &mut self.queues[id.index()];
        if !lossless {
            queue.lossy.pass_within_room(Cells::of_frame(length), pools);
        }
        let start = self.gate.occupy(now, length);
        queue.watermark.note(length.0);
        queue.delay.record(start.since(now));
        queue.counters.transmitted.count(length);
        queue.last_sent = now;
        self.scheduler.served(id, WireBytes::of_frame(length).0, true);
        start
    }

    /// The queue whose turn it is at `now`, if any may send. Most calls find nothing, which a call would double.
    #[inline(always)]
    pub fn next_turn<F: Frame>(&mut self, now: Nanos, store: &Store<F>) -> Option<Turn> {
        if self.backlog.is_empty() {
            return None;
        }
        let eligible = self.gate.open(now, self.backlog.difference(self.barred));
        let queues = &self.queues;
        let (queue, allowance) = self.scheduler.choose(eligible, |queue| {
            let front = store.front(&queues[queue.index()].fifo);
            front.map_or(WireBytes(0), |(_, length)| WireBytes::of_frame(length))
        })?;
        Some(Turn { queue, allowance, added: WireBytes(0) })
    }

    /// Lets the queue whose turn it is send into `out`, until the turn is over or there is no room. Calls `credit`
    /// with the charge of frames that have left, once for successive frames with the same charge. Returns whether
    /// any left.
    #[inline]
    pub fn serve<F: Frame>(
        &mut self,
        now: Nanos,
        turn: Turn,
        parts: (&mut Store<F>, &mut Pools, &mut impl Rng),
        out: &mut impl Transmitter<F>,
        credit: impl FnMut(Charge, Load),
    ) -> bool {
        let Some(stamper) = self.stamper else {
            return self.serve_turn(now, turn, parts, out, credit, |_, _, _, _| {});
        };
        let before = self.carried();
        self.serve_turn(now, turn, parts, out, credit, move |frame, start, carried, queue| {
            stamper.stamp(frame.headers_mut(), start, WireBytes(before.0 + carried.0), queue);
        })
    }

    /// Whether it does more than to send frames when they are due: its watchdog or its thresholds act, or notifications
    /// wait.
    pub fn acts(&self) -> bool {
        self.watchdog.is_on() || !self.adapting.is_empty() || !self.notifications.is_empty()
    }

    /// Wire bytes that the link has carried.
    fn carried(&self) -> WireBytes {
        let data: Volume = self.queues.iter().map(|queue| queue.counters.transmitted).sum();
        (data + self.control).on_the_wire()
    }

    /// As [`EgressPort::serve`], but calls `stamp` for each frame before it leaves, with its start, the bytes sent
    /// before it in this turn, and the bytes that it leaves in its queue.
    #[inline(never)]
    fn serve_turn<F: Frame>(
        &mut self,
        now: Nanos,
        turn: Turn,
        (store, pools, rng): (&mut Store<F>, &mut Pools, &mut impl Rng),
        out: &mut impl Transmitter<F>,
        mut credit: impl FnMut(Charge, Load),
        stamp: impl Fn(&mut F, Nanos, WireBytes, Bytes),
    ) -> bool {
        let queue = &mut self.queues[turn.queue.index()];
        let red = queue.red.as_ref().filter(|red| red.at == MarkAt::Dequeue);
        let (mut opening, added) = (self.gate.opening(now, turn.queue), turn.added.0);
        // Marks follow what waits on all lanes.
        let (mut left, mut waiting) = (turn.allowance, queue.joint_bytes());
        let (mut sent, mut run) = (Sent::default(), Run { waiting, ..Run::default() });
        store.pop_while(&mut queue.fifo, |slot| {
            let Some(front) = slot else { return false };
            let wire_bytes = WireBytes::of_frame(front.length());
            if out.room() == 0 || wire_bytes.0 > left {
                return false;
            }
            let Some(start) = opening.pass(WireBytes(wire_bytes.0 + added)) else { return false };
            let Some(mut queued) = slot.take() else { return false };
            if run.charge != queued.charge {
                credit(run.charge, sent.add(&run, waiting));
                run = Run { charge: queued.charge, waiting, ..Run::default() };
            }
            run.frames += 1;
            run.cells += Cells::of_frame(queued.length());
            waiting -= u64::from(queued.length);
            queue.delay.record(start.since(queued.since));
            if let Some(red) = red
                && queued.ip_offset != 0
                && red.marks(Bytes(waiting), rng)
            {
                queue.counters.count(mark(&mut queued));
            }
            stamp(&mut queued.frame, start, WireBytes(turn.allowance - left), Bytes(waiting));
            left -= wire_bytes.0;
            out.frame(start, queued.frame);
            true
        });
        credit(run.charge, sent.add(&run, waiting));
        queue.set_joint_bytes(waiting);
        opening.close();
        self.end_turn(now, turn, sent, WireBytes(turn.allowance - left), pools);
        sent.volume.frames > 0
    }

    /// Accounts for the frames of a turn.
    #[inline]
    fn end_turn(&mut self, now: Nanos, turn: Turn, sent: Sent, on_the_wire: WireBytes, pools: &mut Pools) {
        let queue = &mut self.queues[turn.queue.index()];
        queue.counters.transmitted += sent.volume;
        queue.lossy.release(sent.lossy, pools);
        if sent.volume.frames > 0 {
            queue.last_sent = now;
        }
        if let Some(slow) = &queue.slow {
            self.gate.suspend(turn.queue, queue.bytes > slow.limit);
        }
        let empty = queue.fifo.is_empty();
        if empty {
            self.backlog = self.backlog.without(turn.queue);
        }
        self.scheduler.served(turn.queue, on_the_wire.0, empty);
        self.unbar(turn.queue);
    }

    /// The time when the next frame can be handed to the device if nothing more arrives.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.gate.opens_at(self.backlog.difference(self.barred))
    }

    /// Counts an admitted frame for `queue` that is dropped.
    pub fn count_drop(&mut self, queue: QueueId, reason: DropReason, length: Bytes) {
        self.has_dropped = true;
        self.queues[queue.index()].dropped[reason.index()].count(length);
    }

    /// Frames that the queues of `priority` dropped, by reason.
    pub fn dropped(&self, priority: Priority) -> PerReason<Volume> {
        let mut sums = PerReason::<Volume>::default();
        for queue in self.gate.pauses.queues(priority).iter() {
            let dropped = &self.queue(queue).dropped;
            sums.iter_mut().zip(dropped).for_each(|(sum, dropped)| *sum += *dropped);
        }
        sums
    }

    /// The watchdog's counters of `queue`, and whether it is stormed.
    pub fn watchdog(&self, queue: QueueId) -> (WatchdogCounters, bool) {
        (self.watchdog.counters(queue), self.watchdog.stormed.contains(queue))
    }

    /// Puts a control frame on the wire at `now`, when the window is open: behind the frames handed over, ahead of
    /// all waiting ones, paused or not. Returns its start.
    pub fn send_control(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.control.count(length);
        self.gate.occupy(now, length)
    }
}

fn adapting(settings: &PortSettings) -> QueueSet {
    let moves = |queue: &QueueSettings| queue.red.is_some_and(|red| red.adaptive.is_some());
    let queues = settings.queues.iter().enumerate().filter(|(_, queue)| moves(queue));
    queues.filter_map(|(index, _)| QueueId::new(index)).collect()
}

#[cfg(test)]
mod tests;
