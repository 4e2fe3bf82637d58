//! The gateway that a replay drives.

use crate::capture::{CaptureError, CaptureSink, Captured};
use crate::carrier::Carriers;
use crate::frame::{FramePool, OwnedFrame};
use crate::output::Outputs;
use crate::series::{Sampler, Sampling};
use switch::driver::inspect;
use switch::{Event, Lanes, PortInspection, Volume};
use units::{Bytes, Nanos, PortId, PortSet, Priority};

/// The most frames of one instant and port that the switch is given at once, as a network card
/// hands them over.
const BURST: usize = 32;

/// Takes events.
pub(crate) type EventSink = Box<dyn FnMut(&Event)>;

units::named! {
    /// How a replay ended.
    Ending {
        /// Everything that could leave has left, and nothing is due any more.
        Drained = "drained",
        /// Nothing can leave, yet there are frames inside or groups paused: a deadlock.
        Deadlock = "deadlock",
        /// Frames still waited [`crate::Replay::DRAIN_LIMIT`] after the last arrival.
        DrainLimit = "drain_limit",
    }
}

/// A switch whose clock is moved by hand.
pub(crate) struct Gateway<W: CaptureSink> {
    pub switch: Lanes<OwnedFrame>,
    pub outputs: Outputs<W>,
    pub now: Nanos,
    /// The volume that was given to each port.
    pub offered: Vec<Volume>,
    ports: u16,
    pool: FramePool,
    /// Frames that arrived at `now` at `burst_port` and were not given to the switch yet.
    burst: Vec<OwnedFrame>,
    burst_port: PortId,
    carriers: Carriers,
    /// The ports whose frames wait until a carrier of their bundle is back.
    stopped: PortSet,
    /// The first instant after `now` at which a port wants to be called, or a carrier changes.
    next: Nanos,
    pub sampler: Option<Sampler>,
    /// When the sampler is to look; never without one.
    next_sample: Nanos,
    events: Option<EventSink>,
}

impl<W: CaptureSink> Gateway<W> {
    pub fn new(
        switch: Lanes<OwnedFrame>,
        carriers: Carriers,
        outputs: Outputs<W>,
        sampling: Option<Sampling>,
    ) -> Self {
        let ports = switch.program().settings().ports.len();
        assert_eq!(outputs.len(), ports, "there is one output for each port");
        let sampler = sampling.map(|sampling| Sampler::new(sampling, switch.program()));
        Self {
            next_sample: if sampler.is_some() { Nanos::ZERO } else { Nanos::NEVER },
            sampler,
            switch,
            outputs,
            now: Nanos::ZERO,
            offered: vec![Volume::default(); ports],
            ports: ports as u16,
            pool: FramePool::new(),
            burst: Vec::with_capacity(BURST),
            burst_port: PortId(0),
            next: carriers.next(),
            carriers,
            stopped: PortSet::EMPTY,
            events: None,
        }
    }

    /// Gives the events of the switch to `sink` from now on.
    pub fn record_events(&mut self, sink: Option<EventSink>) {
        if sink.is_some() {
            self.switch.record_events();
        }
        self.events = sink;
    }

    /// Gives away the events up to now.
    #[cold]
    fn take_events(&mut self) {
        if let Some(sink) = &mut self.events {
            self.switch.take_events(self.now, |event| sink(&event));
        }
    }

    /// Gives away the events up to now, at the end of the replay.
    pub fn take_last_events(&mut self) {
        if let Some(sink) = &mut self.events {
            self.switch.take_last_events(self.now, |event| sink(&event));
        }
    }

    /// The numbers of all ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + use<W> {
        (0..self.ports).map(PortId)
    }

    /// A frame arrives at `now`, which is never before the last one.
    #[inline]
    pub fn arrive(&mut self, now: Nanos, port: PortId, frame: &Captured<'_>) -> Result<(), CaptureError> {
        if now > self.now || port != self.burst_port || self.burst.len() == BURST {
            self.flush()?;
            if self.next < now {
                // A port that is due at the very instant of an arrival comes behind it.
                self.serve(Nanos(now.0 - 1))?;
            }
            self.move_clock(now);
            self.change_carriers();
            self.burst_port = port;
        }
        self.offered[port.index()].count(Bytes(u64::from(frame.original_length)));
        self.burst.push(self.pool.frame(frame.data, frame.original_length));
        Ok(())
    }

    /// Gives the switch what arrived, and takes what may leave at once.
    #[inline]
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        if self.burst.is_empty() {
            return Ok(());
        }
        self.switch.ingress(self.now, self.burst_port, &mut self.burst, &mut self.outputs);
        self.outputs.check()?;
        self.serve(self.now)
    }

    /// Changes carriers and calls each port at each of its deadlines up to `until`, in the order of time and, at one
    /// instant, of the ports.
    #[inline]
    fn serve(&mut self, until: Nanos) -> Result<(), CaptureError> {
        loop {
            if self.switch.look_due() <= self.now {
                self.switch.look(self.now);
            }
            self.change_carriers();
            let (mut next, mut served) = (self.switch.look_due().min(self.carriers.next()), false);
            for port in (0..self.ports).map(PortId).filter(|port| !self.stopped.contains(*port)) {
                let deadline = self.switch.port_deadline(port);
                if deadline > self.now {
                    next = next.min(deadline);
                    continue;
                }
                let output = self.outputs.port(port);
                self.switch.egress(self.now, port, output);
                output.check()?;
                served = true;
            }
            if served {
                // The frames that left may have made another port due, by the end of a pause.
                continue;
            }
            self.next = next;
            if next > until {
                return Ok(());
            }
            self.move_clock(next);
        }
    }

    #[inline]
    fn change_carriers(&mut self) {
        while let Some((port, up)) = self.carriers.take(self.now) {
            self.set_carrier(port, up);
        }
    }

    /// The link of `port` has lost its carrier, or has one again.
    #[cold]
    fn set_carrier(&mut self, port: PortId, up: bool) {
        self.switch.set_carrier(self.now, port, up);
        self.outputs.port(port).has_carrier = up;
        // While another link of the bundle has one, frames move there.
        let members = self.switch.program().settings().members(port);
        let waits = members.iter().all(|member| !self.outputs.port(member).has_carrier);
        for member in members.iter() {
            if waits { self.stopped.insert(member) } else { self.stopped.remove(member) }
        }
    }

    /// All that happens before `to` has happened, and the switch has what arrived.
    #[inline]
    fn move_clock(&mut self, to: Nanos) {
        if self.next_sample <= to {
            self.look(to);
        }
        if self.switch.has_events(self.now) {
            self.take_events();
        }
        self.now = to;
    }

    #[cold]
    fn look(&mut self, to: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            self.next_sample = sampler.catch_up(&self.switch, self.next_sample, to);
        }
    }

    /// A frame that comes in nowhere passes by at `now`.
    pub fn pass_by(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(now);
        }
    }

    /// Whether a link was to fail after all frames had left.
    pub fn has_missed_faults(&self) -> bool {
        self.carriers.fail_yet()
    }

    /// Lets leave what can leave after the last arrival.
    pub fn drain(&mut self, limit: Nanos) -> Result<Ending, CaptureError> {
        // Otherwise an announcement would always be due.
        self.switch.shut_down_agents();
        self.serve(self.now)?;
        while self.next != Nanos::NEVER {
            let departs = |port| self.switch.departure(port) != Nanos::NEVER;
            let is_stuck = || self.holds_frames() || self.has_paused_group();
            if self.next == self.carriers.next() && !is_stuck() {
                break;
            }
            // Lanes that have yet to look may find that a pause has ended, and a link may come back.
            let waits = self.switch.look_due().min(self.carriers.next()) != Nanos::NEVER;
            if !waits && !self.ports().any(departs) && is_stuck() {
                // Only pauses are left, and they would be refreshed for ever. Slots come to rest.
                return Ok(Ending::Deadlock);
            }
            if self.next > limit {
                return Ok(if is_stuck() { Ending::DrainLimit } else { Ending::Drained });
            }
            self.serve(self.next)?;
        }
        Ok(if self.holds_frames() { Ending::Deadlock } else { Ending::Drained })
    }

    /// The state of `port`.
    pub fn inspect(&self, port: PortId) -> PortInspection {
        let mut inspection = PortInspection::default();
        inspect(self.switch.lanes(), self.now, port, &mut inspection);
        inspection
    }

    fn has_paused_group(&self) -> bool {
        let paused = |port, priority| {
            self.switch.lanes().iter().any(|lane| lane.group(self.now, port, priority).paused.is_some())
        };
        self.ports().any(|port| Priority::all().any(|priority| paused(port, priority)))
    }

    /// The frames of `priority` that wait to leave through `port`, by the ledger.
    pub fn waiting(&self, port: PortId, priority: Priority) -> Volume {
        self.switch.total(|lane| lane.ledger().egress_queue(port, priority))
    }

    fn holds_frames(&self) -> bool {
        let holds = |port| Priority::all().any(|priority| self.waiting(port, priority).frames > 0);
        self.ports().any(holds)
    }
}
