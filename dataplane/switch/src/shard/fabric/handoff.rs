//! Handoffs between shards: frames for ports of other shards leave through an outbox, or wait in a queue while that
//! shard lags, and frames for the ports of this shard come in.

use super::Fabric;
use super::outbox::{Handoff, LOSSY_WAITING, Outbox, Payload, READY};
use crate::descriptor::Descriptor;
use crate::flows::LOOK_AHEAD;
use crate::frame::Frame;
use crate::ledger::ShardId;
use crate::queue::{Charge, Queued};
use crate::reason::DropReason;
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    pub fn outbox(&mut self, to: ShardId) -> &mut Vec<Handoff<F>> {
        let Self { outboxes, store, .. } = self;
        let Outbox { ready, waiting, .. } = &mut outboxes[to.index()];
        while ready.len() < READY
            && let Some(queued) = store.pop(waiting)
        {
            ready.push(Handoff { egress: queued.egress, payload: Payload::Frame(queued) });
        }
        ready
    }

    pub fn held_back(&self) -> u64 {
        self.outboxes.iter().map(|outbox| outbox.held_back).sum()
    }

    /// Whether the shard that owns `egress` takes one more frame. It always takes lossless ones.
    #[inline]
    pub(super) fn takes_handoff(&self, egress: PortId, charge: Charge) -> bool {
        let outbox = &self.outboxes[self.owners[egress.index()].index()];
        charge.is_lossless() || outbox.waiting.length() < LOSSY_WAITING
    }

    #[inline(never)]
    pub(super) fn hand_over(&mut self, queued: Queued<F>) {
        let egress = queued.egress;
        let outbox = &mut self.outboxes[self.owners[egress.index()].index()];
        if outbox.room() > 0 {
            outbox.ready.push(Handoff { egress, payload: Payload::Frame(queued) });
        } else {
            outbox.held_back += 1;
            self.store.push(&mut outbox.waiting, queued);
        }
    }

    pub fn accept(&mut self, now: Nanos, handoffs: &mut Vec<Handoff<F>>) {
        self.read_other_shards();
        let mut arriving = handoffs.drain(..);
        loop {
            let next = arriving.as_slice();
            let next = next.get(..LOOK_AHEAD).unwrap_or(next);
            if next.is_empty() {
                break;
            }
            self.look_ahead_handed_over(next);
            arriving.by_ref().take(LOOK_AHEAD).for_each(|handoff| self.accept_handoff(now, handoff));
        }
        drop(arriving);
        self.settle();
        self.publish();
    }

    #[inline]
    fn accept_handoff(&mut self, now: Nanos, Handoff { egress, payload }: Handoff<F>) {
        match payload {
            Payload::Frame(queued) => self.accept_frame(now, queued),
            Payload::Notification(notification) => {
                self.changed.insert(egress);
                // The other shard may follow an older program, in which a port here keeps flows.
                self.equipped.insert(egress);
                // A lost notification does no harm.
                let _ = self.egress[egress.index()].notifications.push(notification);
            }
        }
    }

    /// Queues a frame that another shard has charged. That shard could not know the far ports of this one.
    fn accept_frame(&mut self, now: Nanos, mut queued: Queued<F>) {
        let headers = queued.frame.headers();
        if self.steered.contains(queued.egress)
            && let Some(descriptor) = Descriptor::parse(headers, queued.length())
        {
            queued.queue = self.steer(queued.egress, queued.queue, &descriptor, headers);
        }
        let Queued { egress, queue, charge, .. } = queued;
        if self.egress[egress.index()].drops(queue) {
            self.drop_at_egress((egress, queue), charge, queued.length(), DropReason::PfcWatchdog);
            return;
        }
        queued.since = now;
        self.changed.insert(egress);
        self.show_senders_handed_over(egress, &mut queued);
        self.enqueue(queued);
    }
}
