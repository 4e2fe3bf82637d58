//! Frames one by one, where nothing but they themselves is to be looked after.
//!
//! A switch in a simulation is given a frame at a time, and gives out one at a time. What a burst pays once, it
//! would pay for each of them. Here a frame is charged, queued, marked, sent and credited like any other, with the
//! same totals, watermarks and histograms; but only where it changes no deadline except its egress port's, and where
//! it finds that port idle it is not put into the queue and taken out again. Everything else is left to
//! [`Shard::ingress`](crate::Shard::ingress) and [`Shard::egress`](crate::Shard::egress).

use super::Fabric;
use super::ingress::Arrival;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::ledger::Load;
use crate::program::Program;
use crate::queue::Charge;
use units::{Nanos, PortId};
use wire::ethernet::EtherType;

/// What became of a frame that was given to [`Shard::ingress_one`](crate::Shard::ingress_one).
pub enum Passage<F> {
    /// It leaves at once. No deadline has changed.
    Through {
        /// The port through which it leaves.
        egress: PortId,
        /// When its first bit is on the wire.
        start: Nanos,
        /// As it leaves.
        frame: F,
    },
    /// It waits.
    Queued {
        /// For which port.
        egress: PortId,
        /// The deadline of that port. No other one has changed.
        deadline: Nanos,
    },
    /// It was taken, as [`Shard::ingress`](crate::Shard::ingress) takes frames.
    Taken,
    /// Nothing has happened: it is for [`Shard::ingress`](crate::Shard::ingress).
    Declined(F),
}

/// What [`Shard::egress_one`](crate::Shard::egress_one) gives out.
pub struct Departure<F> {
    /// When its first bit is on the wire.
    pub start: Nanos,
    /// As it leaves.
    pub frame: F,
    /// The deadline of its port. No other one has changed.
    pub deadline: Nanos,
}

impl<F: Frame> Fabric<F> {
    #[inline(always)]
    pub fn ingress_one(
        &mut self,
        now: Nanos,
        port: PortId,
        mut frame: F,
        program: &Program,
        verdict: impl FnOnce(&Descriptor, &mut F) -> Verdict,
    ) -> Passage<F> {
        if program.keeps_flows() || self.has_other_shards() || self.ingress[port.index()].wakes() {
            return Passage::Declined(frame);
        }
        let length = frame.length();
        let descriptor = match Descriptor::parse(frame.headers(), length) {
            Some(descriptor) if descriptor.ether_type != EtherType::MAC_CONTROL => descriptor,
            _ => return Passage::Declined(frame),
        };
        let (priority, verdict) = Self::decide(port, program, &descriptor, &mut frame, length, verdict);
        let arrival = Arrival { now, port, priority, length, descriptor: &descriptor };
        if let Verdict::Forward(egress) = verdict {
            match self.forward_one(arrival, egress, frame) {
                Ok(passage) => return passage,
                Err(back) => frame = back,
            }
        }
        let run = self.start_run(verdict, arrival, frame);
        self.close(port, run);
        self.end_burst(now, port, true);
        Passage::Taken
    }

    /// Charges a frame, and sends it or queues it; or gives it back where that is not all: where a threshold is near,
    /// somebody is paused, told to pause, or waits to be, or no descriptor is left.
    #[inline(always)]
    fn forward_one(&mut self, arrival: Arrival<'_>, egress: PortId, frame: F) -> Result<Passage<F>, F> {
        let Arrival { now, port, priority, length, .. } = arrival;
        let Self { id, ledger, ingress, egress: ports, store, pools, .. } = self;
        if !self.paused.is_empty() || !ingress[egress.index()].is_silent() {
            return Err(frame);
        }
        let (from, to) = (&mut ingress[port.index()], &mut ports[egress.index()]);
        let group = &from.groups[priority.index()];
        let charge = Charge::new(priority, priority, group.is_lossless());
        let load = Load::of_frame(length);
        if !to.is_calm() || !group.has_room(load.cells, pools) || !to.takes(length, charge, store, pools) {
            return Err(frame);
        }
        if to.is_open(now) {
            ledger.admit(port, egress, priority, load);
            ledger.depart(*id, port, egress, priority, load);
            from.pass_within_room(priority, load, ledger, pools);
            let start = to.send_through(now, length, charge, pools);
            return Ok(Passage::Through { egress, start, frame });
        }
        to.push(store, arrival.queued(egress, frame, charge));
        ledger.admit(port, egress, priority, load);
        from.charge_within_room(priority, load, pools);
        to.end_run(charge, load, store, pools);
        Ok(Passage::Queued { egress, deadline: to.gate.link_opens_at() })
    }

    #[inline]
    pub fn egress_one(&mut self, now: Nanos, port: PortId) -> Option<Departure<F>> {
        let alone = self.limited.is_empty() && !self.has_other_shards() && self.paused.is_empty();
        if !alone || !self.ingress[port.index()].is_silent() {
            return None;
        }
        let Self { id, ledger, ingress, egress, store, pools, rng, .. } = self;
        let from = &mut egress[port.index()];
        let (start, queued) = from.send_one(now, store, pools, rng)?;
        let group = queued.charge.group();
        ledger.depart(*id, queued.ingress, port, group, Load::of_frame(queued.length()));
        ingress[queued.ingress.index()].settle_one(group, ledger, pools);
        let deadline = if from.is_idle() { Nanos::NEVER } else { from.gate.link_opens_at() };
        Some(Departure { start, frame: queued.frame, deadline })
    }
}
