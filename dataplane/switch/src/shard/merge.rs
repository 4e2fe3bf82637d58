//! What several lanes of a port have counted, as one: the parts of an inspection.

use super::inspect::{GroupReport, QueueReport};
use crate::egress::PausesReceived;
use crate::flows::{DataFlows, FlowCounters, FlowsReport, ResolverCounters};
use crate::ingress::IngressCounters;

/// Adds `more` to the counters in the same places.
fn add_each<T: Copy + core::ops::AddAssign>(counters: &mut [T], more: &[T]) {
    counters.iter_mut().zip(more).for_each(|(counter, more)| *counter += *more);
}

impl IngressCounters {
    pub(super) fn add_lane(&mut self, lane: &Self) {
        let Self { received, copies, answers, consumed, dropped, dropped_roce, lost_notifications } = lane;
        add_each(&mut self.received, received);
        add_each(&mut self.copies, copies);
        add_each(&mut self.answers, answers);
        add_each(&mut self.consumed, consumed);
        self.dropped.iter_mut().zip(dropped).for_each(|(drops, more)| add_each(&mut **drops, &**more));
        add_each(&mut self.dropped_roce, dropped_roce);
        self.lost_notifications += lost_notifications;
    }
}

impl GroupReport {
    pub(super) fn add_lane(&mut self, lane: &Self) {
        let Self {
            lossless: _,
            occupancy,
            headroom,
            watermark: _,
            headroom_watermark: _,
            paused: _,
            pauses: _,
            paused_for: _,
        } = lane;
        self.occupancy += *occupancy;
        self.headroom += *headroom;
    }
}

impl QueueReport {
    pub(super) fn add_lane(&mut self, lane: &Self) {
        let Self {
            waiting,
            counters,
            watermark: _,
            pauses: PausesReceived { xoff, xon, ignored },
            paused_for: _,
            watchdog,
            stormed,
            dropped,
        } = lane;
        self.watchdog.join(*watchdog);
        self.stormed |= stormed;
        self.waiting += *waiting;
        self.counters += *counters;
        // A frame of PFC comes to one lane, whichever it is.
        self.pauses.xoff += xoff;
        self.pauses.xon += xon;
        self.pauses.ignored += ignored;
        add_each(&mut *self.dropped, &**dropped);
    }
}

impl FlowsReport {
    pub(super) fn add_lane(&mut self, lane: &Self) {
        let Self { known, table, data, resolver } = lane;
        self.known += known;
        let FlowCounters { entered, evicted, aged, strays } = table;
        self.table.entered += entered;
        self.table.evicted += evicted;
        self.table.aged += aged;
        self.table.strays += strays;
        let DataFlows { resolved, unresolved } = data;
        self.data.resolved += resolved;
        self.data.unresolved += unresolved;
        let ResolverCounters { resolved_by_cm, resolved_by_psn, suspended, contradicted, ambiguous, ended } =
            resolver;
        self.resolver.resolved_by_cm += resolved_by_cm;
        self.resolver.resolved_by_psn += resolved_by_psn;
        self.resolver.suspended += suspended;
        self.resolver.contradicted += contradicted;
        self.resolver.ambiguous += ambiguous;
        self.resolver.ended += ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortInspection;
    use crate::congestion::lscc::{LimiterCounters, LsccReport};
    use crate::egress::{QueueCounters, Restoration, RestorationCause, WatchdogChange, WatchdogEvent};
    use crate::forwarding::BridgeCounters;
    use crate::ingress::HiddenCounters;
    use crate::ledger::Volume;
    use units::{Bytes, Interval, Nanos, PortId, Priority, PrioritySet, QueueId, WireBytes};

    /// An inspection in which each figure that adds up is another number, times `count`.
    fn inspection(count: u64) -> PortInspection {
        let mut next = 0;
        let mut number = || {
            next += 1;
            next * count
        };
        let mut volume = || Volume { frames: number(), bytes: Bytes(number()) };
        let mut all = PortInspection { control_sent: volume(), ..PortInspection::default() };
        let ingress = &mut all.ingress;
        for counters in
            [&mut ingress.received[..], &mut ingress.copies, &mut ingress.answers, &mut ingress.consumed]
        {
            counters.fill_with(&mut volume);
        }
        ingress.dropped.iter_mut().for_each(|drops| drops.fill_with(&mut volume));
        for (group, queue) in all.groups.iter_mut().zip(&mut all.queues) {
            queue.waiting = volume();
            queue.dropped.fill_with(&mut volume);
            queue.counters = QueueCounters {
                transmitted: volume(),
                marked: volume().frames,
                already_marked: volume().frames,
            };
            queue.pauses =
                PausesReceived { xoff: volume().frames, xon: volume().frames, ignored: volume().frames };
            (group.occupancy, group.headroom) = (volume().bytes, volume().bytes);
        }
        all.flows = Some(FlowsReport {
            known: number() as u32,
            table: FlowCounters { entered: number(), evicted: number(), aged: number(), strays: number() },
            data: DataFlows { resolved: number() as u32, unresolved: number() as u32 },
            resolver: ResolverCounters {
                resolved_by_cm: number(),
                resolved_by_psn: number(),
                suspended: number(),
                contradicted: number(),
                ambiguous: number(),
                ended: number(),
            },
        });
        let mut lscc = LsccReport::default();
        lscc.limiter = LimiterCounters {
            direct_cnps: number(),
            marked_instead: number(),
            not_notified: number(),
            marks_removed: number(),
            far_cnps: number(),
            far_cnps_unknown: number(),
            far_cnps_suppressed: number(),
            congested_intervals: number(),
            ..lscc.limiter
        };
        all.notifiers.lscc = Some(lscc);
        all.ingress.dropped_roce.fill_with(&mut number);
        all.ingress.lost_notifications = number();
        all.hidden = HiddenCounters { macsec: number(), tagged: number() };
        all.bridge = Some(BridgeCounters { moved: number(), displaced: number(), refused: number() });
        for _ in 0..count {
            all.delays.iter_mut().for_each(|delays| delays.record(Interval(number())));
        }
        all
    }

    /// A lane with figures that it must not add, because they are the lead's.
    fn with_state(mut lane: PortInspection) -> PortInspection {
        lane.at = Nanos(7);
        lane.pauses.sent = PrioritySet::ALL;
        if let Some(lscc) = &mut lane.notifiers.lscc {
            (lscc.lapsed, lscc.pseudo_queue, lscc.longest_pseudo_queue) = (9, WireBytes(9), WireBytes(9));
        }
        for (group, queue) in lane.groups.iter_mut().zip(&mut lane.queues) {
            group.watermark.note(9);
            group.headroom_watermark.note(9);
            group.paused_for.fill(Interval(9));
            group.lossless = true;
            queue.watermark.note(9);
            queue.paused_for = Interval(9);
        }
        lane
    }

    #[test]
    fn a_storm_on_several_lanes_counts_once_and_all_of_its_events_are_kept() {
        let lane = |storms, at| {
            let mut lane = PortInspection::default();
            (lane.queues[3].watchdog.storms, lane.queues[3].stormed) = (storms, true);
            let restoration = Restoration {
                cause: RestorationCause::Xon,
                quiet_for: Interval::ZERO,
                stormed_for: Interval::ZERO,
            };
            lane.watchdog.push(WatchdogEvent {
                at: Nanos(at),
                port: PortId(0),
                queue: QueueId::from_low_bits(3),
                priority: Priority::from_low_bits(3),
                change: WatchdogChange::Restored(restoration),
            });
            lane
        };
        let mut merged = lane(1, 200);
        merged.add_lane(&lane(2, 100));
        assert_eq!((merged.queues[3].watchdog.storms, merged.queues[3].stormed), (2, true));
        assert!(merged.watchdog.iter().map(|event| event.at.0).eq([100, 200]));
    }

    #[test]
    fn counters_delays_and_levels_of_lanes_add_up_and_all_else_is_the_leads() {
        let mut merged = inspection(1);
        merged.add_lane(&with_state(inspection(2)));
        let mut expected = inspection(3);
        let longest = |delays: &crate::DelayHistogram| (delays.count(), delays.longest());
        let longest_of_lane = inspection(2).delays.each_ref().map(|delays| (3, delays.longest()));
        assert_eq!(merged.delays.each_ref().map(longest), longest_of_lane);
        // Delays that are twice as long are in other buckets.
        expected.delays = merged.delays.clone();
        assert_eq!(merged, expected);
    }
}
