//! What several lanes of a port have counted, as one: the parts of an inspection.

use super::inspect::{GroupReport, QueueReport};
use crate::egress::PausesReceived;
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
            watchdog: _,
            stormed: _,
            dropped,
        } = lane;
        self.waiting += *waiting;
        self.counters += *counters;
        // A frame of PFC comes to one lane, whichever it is.
        self.pauses.xoff += xoff;
        self.pauses.xon += xon;
        self.pauses.ignored += ignored;
        add_each(&mut *self.dropped, &**dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortInspection;
    use crate::egress::QueueCounters;
    use crate::forwarding::BridgeCounters;
    use crate::ingress::HiddenCounters;
    use crate::ledger::Volume;
    use units::{Bytes, Interval, Nanos, PrioritySet};

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
        for (group, queue) in lane.groups.iter_mut().zip(&mut lane.queues) {
            group.watermark.note(9);
            group.headroom_watermark.note(9);
            group.paused_for.fill(Interval(9));
            group.lossless = true;
            queue.watermark.note(9);
            queue.watchdog.storms = 9;
            (queue.stormed, queue.paused_for) = (true, Interval(9));
        }
        lane
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
