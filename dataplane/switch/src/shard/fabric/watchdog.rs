//! The PFC watchdog: records its changes, and drops the frames that it condemns.

use super::Fabric;
use crate::egress::WatchdogEvent;
use crate::frame::Frame;
use crate::program::Program;
use crate::reason::DropReason;
use units::{Nanos, PauseQuanta, PortId, Priority};

/// The most frames of stormed queues dropped within one call: a queue may be as long as the buffer, and other ports
/// wait for their turn.
const DROPS_PER_CALL: u32 = 1_024;

impl<F: Frame> Fabric<F> {
    /// Takes a pause of `time` that `priority` of `port` obeys.
    pub(super) fn pause(&mut self, now: Nanos, port: PortId, priority: Priority, time: PauseQuanta) {
        let Self { egress, store, recorder, lane, .. } = self;
        let egress = &mut egress[port.index()];
        egress.pause(now, priority, time, store, |queue, change| {
            recorder.note_watchdog(WatchdogEvent { at: now, port, queue, priority, change });
        });
        if recorder.is_on() {
            recorder.note_received_pause(now, port, priority, egress.gate.pauses.ends_at(priority));
        }
        if let Some(lane) = lane {
            lane.tell_pause(now, port, priority, egress.gate.pauses.ends_at(priority).since(now));
        }
    }

    /// Lets the watchdog of `port` judge at `now`.
    #[cold]
    pub(super) fn judge(&mut self, now: Nanos, port: PortId, program: &Program) {
        let Self { egress, store, recorder, .. } = self;
        egress[port.index()].judge(now, store, |queue, change| {
            let priority = program.port(port).queues[queue.index()].priority;
            recorder.note_watchdog(WatchdogEvent { at: now, port, queue, priority, change });
        });
        self.pass_on(now, port);
        self.drop_condemned(port);
    }

    /// Drops frames of stormed queues, up to the limit of one call. If frames remain, the next call is due at once.
    fn drop_condemned(&mut self, port: PortId) {
        for _ in 0..DROPS_PER_CALL {
            let egress = &mut self.egress[port.index()];
            let Some(queue) = egress.to_be_dropped().highest() else { return };
            let Some(queued) = egress.take_first(queue, &mut self.store, &mut self.pools) else { return };
            self.drop_at_egress((port, queue), queued.charge, queued.length(), DropReason::PfcWatchdog);
        }
    }
}
