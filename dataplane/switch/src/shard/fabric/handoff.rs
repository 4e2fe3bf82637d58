//! Handoffs between shards: frames for ports of other shards leave, and frames for this shard's ports come in.

use super::Fabric;
use super::way_out::{Cargo, Handoff, OUTBOX, WayOut};
use crate::flows::LOOK_AHEAD;
use crate::frame::Frame;
use crate::ledger::ShardId;
use crate::queue::{Charge, Queued};
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    pub fn outbox(&mut self, to: ShardId) -> &mut Vec<Handoff<F>> {
        let Self { ways_out, store, .. } = self;
        let WayOut { outbox, waiting, .. } = &mut ways_out[to.index()];
        while outbox.len() < OUTBOX
            && let Some(queued) = store.pop(waiting)
        {
            outbox.push(Handoff { egress: queued.egress, cargo: Cargo::Frame(queued) });
        }
        outbox
    }

    pub fn held_back(&self) -> u64 {
        self.ways_out.iter().map(|way| way.held_back).sum()
    }

    /// Whether the way to the shard that owns `egress` takes one more frame.
    #[inline]
    pub(super) fn takes_handoff(&self, egress: PortId, charge: Charge) -> bool {
        self.ways_out[self.owners[egress.index()].index()].takes(charge.is_lossless())
    }

    #[inline(never)]
    pub(super) fn hand_over(&mut self, queued: Queued<F>) {
        let egress = queued.egress;
        let way = &mut self.ways_out[self.owners[egress.index()].index()];
        if way.room() > 0 {
            way.outbox.push(Handoff { egress, cargo: Cargo::Frame(queued) });
        } else {
            way.held_back += 1;
            self.store.push(&mut way.waiting, queued);
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
    fn accept_handoff(&mut self, now: Nanos, Handoff { egress, cargo }: Handoff<F>) {
        match cargo {
            Cargo::Frame(queued) => self.accept_frame(now, queued),
            Cargo::Notification(notification) => {
                self.changed.insert(egress);
                // The other shard may follow an older program, in which a port here keeps flows.
                self.equipped.insert(egress);
                // A lost notification does no harm.
                let _ = self.egress[egress.index()].notifications.push(notification);
            }
        }
    }
}
