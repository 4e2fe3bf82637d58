//! The PFC watchdog: what it finds is noted, and what it condemns is dropped.

use super::Fabric;
use crate::egress::{WatchdogChange, WatchdogEvent};
use crate::frame::Frame;
use crate::reason::DropReason;
use units::{Nanos, PauseQuanta, PortId, Priority};

/// Frames of a stormed queue that are dropped within one call: a queue may be as long as the buffer,
/// and other ports wait for their turn.
const DROPS_PER_CALL: u32 = 1_024;

impl<F: Frame> Fabric<F> {
    /// A pause of `time` that `priority` of `port` obeys has arrived.
    pub(super) fn pause(&mut self, now: Nanos, port: PortId, priority: Priority, time: PauseQuanta) {
        let change = self.egress[port.index()].pause(now, priority, time, &self.store);
        self.note(now, port, priority, change);
    }

    /// Does what the watchdog of `port` has to do at `now`.
    #[inline]
    pub(super) fn watch(&mut self, now: Nanos, port: PortId) {
        if self.egress[port.index()].watchdog_deadline(&self.store) <= now {
            self.judge(now, port);
        }
    }

    #[cold]
    fn judge(&mut self, now: Nanos, port: PortId) {
        // A pause that has run out by now is a suspect no more, whatever was to be decided before.
        self.egress[port.index()].gate.pauses.paused(now);
        for priority in Priority::all() {
            let change = self.egress[port.index()].judge(now, priority, &self.store);
            self.note(now, port, priority, change);
        }
        self.drop_condemned(port);
    }

    fn note(&mut self, now: Nanos, port: PortId, priority: Priority, change: Option<WatchdogChange>) {
        if let Some(change) = change {
            self.watchdog_log.push(WatchdogEvent { at: now, port, priority, change });
        }
    }

    /// Drops what waits in stormed queues, as far as one call goes. The next one is due at once.
    fn drop_condemned(&mut self, port: PortId) {
        for _ in 0..DROPS_PER_CALL {
            let egress = &mut self.egress[port.index()];
            let Some(priority) = egress.to_be_dropped().highest() else { return };
            let Some(queued) = egress.discard(priority, &mut self.store, &mut self.pools) else { return };
            let (ingress, charge, length) = (queued.ingress, queued.charge, queued.length());
            self.drop_at_egress(port, charge, ingress, length, DropReason::PfcWatchdog);
        }
    }
}
