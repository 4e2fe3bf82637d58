//! Gives out the events of a shard.

use super::Fabric;
use crate::event::{Event, Happening};
use crate::frame::Frame;
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    /// Records events from now on. Earlier drops are told with the first look.
    pub fn record_events(&mut self) {
        self.recorder.start(self.ingress.iter().map(|port| port.id));
    }

    /// Lets `take` remove events from the front of the list, up to `now`.
    pub fn take_events(&mut self, now: Nanos, take: impl FnMut(&mut Vec<Event>)) {
        if self.recorder.events.takes_look(now) {
            for port in self.owned.iter() {
                let (ingress, egress) = (&mut self.ingress[port.index()], &mut self.egress[port.index()]);
                self.recorder.look_at_pauses(now, port);
                // A group may have fallen below its threshold before its pause was sent, and then no frame resumes it.
                self.recorder.note_thresholds(now, ingress);
                self.recorder.look_at_drops(now, ingress, egress);
                self.look_at_flows(port);
            }
        }
        self.recorder.events.give(now, take);
    }

    /// Takes events like [`Self::take_events`], with all drops so far.
    pub fn take_last_events(&mut self, now: Nanos, take: impl FnMut(&mut Vec<Event>)) {
        self.recorder.hurry();
        self.take_events(now, take);
    }

    /// Notes what has become known of the flows of `port`.
    fn look_at_flows(&mut self, port: PortId) {
        let Some(senders) = &mut self.senders[port.index()] else { return };
        let events = &mut self.recorder.events;
        let lost = senders.flows.take_changes(|change| {
            let what = Happening::Flow(change);
            events.note(Event { at: change.at, port: Some(port), priority: None, what });
        });
        events.lose(lost);
    }
}
