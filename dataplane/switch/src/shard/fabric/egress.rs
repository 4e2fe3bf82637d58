//! From a queue onto the wire.

use super::senders::Watched;
use super::{Fabric, others};
use crate::egress::Turn;
use crate::flow_control::Accounts;
use crate::frame::{Frame, Transmitter};
use crate::ledger::{Ledger, Load};
use crate::program::Program;
use crate::queue::Charge;
use units::{Bytes, Nanos, PortId, PortSet};
use wire::{ethernet, pfc};

impl<F: Frame> Fabric<F> {
    pub fn egress(&mut self, now: Nanos, port: PortId, program: &Program, out: &mut impl Transmitter<F>) {
        match self.lane {
            None => self.egress_now(now, port, program, out),
            Some(_) => self.egress_of_lane(now, port, program, out),
        }
    }

    /// Sends what is due through `port`, as far as the link is free. Part of the call of a shard that is no lane, which a
    /// further call would cost a dozen instructions.
    #[inline(always)]
    pub(super) fn egress_now(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        self.changed.insert(port);
        let is_equipped = self.equipped.contains(port);
        if is_equipped {
            self.watch(now, port, program);
            if self.failover.stopped().contains(port) && !self.serve_stopped(now, port, program) {
                return self.speak_while_stopped(now, port, program, out);
            }
            self.act(now, port, program);
        }
        self.send_pauses(now, port, out);
        if is_equipped {
            self.speak(now, port, program, out);
        }
        while out.room() > 0 {
            let Some(turn) = self.egress[port.index()].next_turn(now, &self.store) else { break };
            if !self.serve(now, port, turn, out) {
                break;
            }
        }
        if self.followed_up.contains(port) {
            self.follow_up(now, port);
        }
        self.settle();
        self.publish();
        // A frame that just left may have ended a pause: send its XON now rather than in another call.
        self.send_pauses(now, port, out);
    }

    /// Looks at what the frames that `port` has sent leave behind: in queues for far ports, and for members of its bundle that
    /// wait for them.
    #[inline(never)]
    fn follow_up(&mut self, now: Nanos, port: PortId) {
        if self.steered.contains(port) {
            self.egress[port.index()].note_waiting();
        }
        self.look_at_returns(now);
    }

    /// Lets the flow control, the watchdog and the ECN thresholds of an equipped port act.
    #[inline(never)]
    pub(super) fn act(&mut self, now: Nanos, port: PortId, program: &Program) {
        let Self { ingress, ledger, lane, pools, .. } = self;
        let ingress = &mut ingress[port.index()];
        if ingress.scheme.deadline() <= now {
            ingress.call_scheme(now, Accounts { ledger, others: others(lane) }, pools);
        }
        if self.egress[port.index()].watchdog_deadline(&self.store) <= now {
            self.judge(now, port, program);
        }
        self.adapt(now, port, program);
    }

    /// Sends what an equipped port has to say to the other end of its link, and notifications to senders.
    #[inline(never)]
    pub(super) fn speak(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        if self.ingress[port.index()].frame_due() <= now {
            self.serve_link(now, port, out);
        }
        self.run_senders(now, port, program, out);
        if self.repaired.contains(port) {
            self.repair(now, port, program, out);
        }
    }

    /// Moves the ECN thresholds of `port` that are due.
    #[inline]
    fn adapt(&mut self, now: Nanos, port: PortId, program: &Program) {
        let Self { ledger, egress, recorder, .. } = self;
        let egress = &mut egress[port.index()];
        if egress.adapting.is_empty() {
            return;
        }
        let ports = program.settings().ports.len() as u16;
        let inputs = |priority| {
            let feeds = |ingress: &PortId| ledger.occupancy(*ingress, port, priority).volume.frames > 0;
            (0..ports).map(PortId).filter(feeds).count() as u32
        };
        egress.adapt(now, inputs, |priority, step, report| {
            recorder.note_ecn_step(now, port, priority, step, &report);
        });
    }

    /// Sends frames of one queue for as long as its turn lasts, and credits successive frames from one ingress port
    /// together. Returns whether any left. None leaves if a packed frame finds no memory to be unpacked into.
    #[inline]
    fn serve(&mut self, now: Nanos, port: PortId, turn: Turn, out: &mut impl Transmitter<F>) -> bool {
        if self.repaired.contains(port) && self.numbers(port, turn.queue) {
            return self.serve_repaired(now, port, turn, out);
        }
        let Self { ledger, egress, store, pools, rng, unsettled, senders, .. } = self;
        let credit = credit(ledger, unsettled, port);
        let (egress, parts) = (&mut egress[port.index()], (store, pools, rng));
        match senders[port.index()].as_deref_mut().filter(|senders| senders.severe_from().is_some()) {
            None => egress.serve(now, turn, parts, out, credit),
            Some(senders) => {
                let mut out = Watched { now, queue: turn.queue, senders, out };
                egress.serve(now, turn, parts, &mut out, credit)
            }
        }
    }

    /// Sends the PFC frame that is due, if any. While the link is busy beyond the window, it waits like any frame,
    /// so that one PFC frame carries all changes of that time.
    #[inline(always)]
    pub(super) fn send_pauses(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if self.pauses_due_at(port) <= now {
            self.send_pauses_now(now, port, out);
        }
    }

    #[inline(never)]
    fn send_pauses_now(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let ingress = &mut self.ingress[port.index()];
        let mut frame = [0; ethernet::MIN_FRAME_LEN];
        let start = self.egress[port.index()].send_control(now, Bytes(frame.len() as u64));
        let pauses = pfc::Frame { source: ingress.mac, times: ingress.take_due_pauses(now, start) };
        if self.recorder.is_on() {
            self.recorder.note_sent_pauses(start, ingress, &pauses.times);
            self.recorder.note_thresholds(now, ingress);
        }
        if pauses.emit(&mut frame).is_ok() {
            out.control(start, &frame);
        }
    }
}

/// Credits frames that have left through `port`.
pub(super) fn credit<'a>(
    ledger: &'a Ledger,
    unsettled: &'a mut PortSet,
    port: PortId,
) -> impl FnMut(Charge, Load) + use<'a> {
    move |charge, load| {
        if load.volume.frames > 0 {
            let ingress = charge.ingress();
            ledger.depart(ingress, port, charge.group(), load);
            unsettled.insert(ingress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{ShardId, Volume};
    use crate::program::{BufferSettings, ForwardingSettings, GroupSettings, LosslessGroup, PortSettings};
    use crate::program::{Settings, Threshold};
    use crate::queue::{Charge, Queued};
    use std::sync::Arc;
    use units::{BitRate, PortSet, Priority, QueueId};
    use wire::ethernet::MacAddress;

    const A: PortId = PortId(0);
    const B: PortId = PortId(1);
    const P3: Priority = Priority::from_low_bits(3);
    const LENGTH: Bytes = Bytes(64);

    /// Counts frames that leave.
    struct Counter(usize);

    impl Transmitter<Vec<u8>> for Counter {
        fn room(&self) -> usize {
            usize::MAX
        }

        fn frame(&mut self, _: Nanos, _: Vec<u8>) {
            self.0 += 1;
        }

        fn control(&mut self, _: Nanos, _: &[u8]) {}
    }

    fn settings() -> Settings {
        let port = |number: u8| {
            let mac = MacAddress([2, 0, 0, 0, 0, number]);
            let mut port = PortSettings::lossy(format!("port{number}"), mac, BitRate::gigabits(100));
            port.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
                reserved: Bytes::ZERO,
                xoff: Threshold::Static(Bytes(10_000)),
                xon: Bytes(5_000),
                xon_offset: Bytes::ZERO,
                headroom: Bytes(10_000),
            });
            port
        };
        let pool = Bytes(100_000);
        Settings {
            ports: [0, 1].map(port).into(),
            buffer: BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None },
            forwarding: ForwardingSettings::Patch(vec![(A, B)]),
            seed: 1,
        }
    }

    #[test]
    fn a_frame_that_leaves_at_another_priority_is_credited_to_the_group_that_was_charged() {
        let program = Program::new(settings()).unwrap();
        let ledger = Arc::new(Ledger::new(2, 1));
        let mut fabric = Fabric::new(ShardId(0), &program, ledger, PortSet::first(2));
        let load = Load::of_frame(LENGTH);
        fabric.ingress[A.index()].charge_within_room(P3, load, &mut fabric.pools);
        fabric.ledger.admit(A, B, P3, load);
        let (frame, length) = (vec![0; 64], LENGTH.0 as u16);
        let (charge, q3, q5) = (Charge::new(A, P3, true), QueueId::from(P3), QueueId::from_low_bits(5));
        fabric.enqueue(Queued { frame, since: Nanos(0), length, charge, egress: B, queue: q5, ip_offset: 0 });
        assert!(fabric.ingress[A.index()].groups[P3.index()].occupancy() > Bytes::ZERO);

        let mut out = Counter(0);
        fabric.egress(Nanos(0), B, &program, &mut out);
        assert_eq!(out.0, 1);
        let sent = |queue| fabric.egress[B.index()].queue(queue).counters.transmitted;
        assert_eq!((sent(q3), sent(q5)), (Volume::ZERO, load.volume), "it waited in the queue of priority 5");
        assert_eq!(fabric.ledger.departed(A, B, P3), load.volume);
        assert_eq!(fabric.ingress[A.index()].groups[P3.index()].occupancy(), Bytes::ZERO);
    }
}
