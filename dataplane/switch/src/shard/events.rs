//! The events of a shard.

use super::Shard;
use super::fabric::Fabric;
use crate::event::{Event, Happening};
use crate::frame::Frame;
use units::{Nanos, PortId};

impl<F: Frame> Shard<F> {
    /// Records events from now on ([`crate::Event`]), for [`Shard::take_events`]. Earlier drops are told with the first look.
    /// This allocates.
    pub fn record_events(&mut self) {
        self.fabric.recorder.start(self.fabric.ingress.iter().map(|port| port.id));
    }

    /// Whether to call [`Shard::take_events`] at `now`: there are events, or a look at counters is due, which is every
    /// millisecond. Never unless events are recorded.
    #[inline]
    pub fn has_events(&self, now: Nanos) -> bool {
        self.fabric.recorder.events.is_due(now)
    }

    /// Lets `take` remove events from the front of the list, oldest first. Events of one port and kind are in the order of
    /// their time. The list is bounded; what found no room is told by [`crate::Happening::Lost`].
    pub fn take_events(&mut self, now: Nanos, take: impl FnMut(&mut Vec<Event>)) {
        let bundles = self.fabric.bundles.clone();
        let program = &self.program;
        // The flows of a bundle are its first member's.
        let teller = |port: PortId| match &bundles {
            Some(bundles) if program.port(port).notifiers.shared_flows().is_some() => bundles.head(port),
            _ => port,
        };
        let Fabric { recorder, owned, ingress, egress, senders, .. } = &mut self.fabric;
        if recorder.events.takes_look(now) {
            for port in owned.iter() {
                let (ingress, egress) = (&mut ingress[port.index()], &mut egress[port.index()]);
                recorder.look_at_pauses(now, port);
                // A group may have fallen below its threshold before its pause was sent, and then no frame resumes it.
                recorder.note_thresholds(now, ingress);
                recorder.look_at_drops(now, ingress, egress);
                let Some(senders) = &mut senders[port.index()] else { continue };
                let lost = senders.flows.take_changes(|change| {
                    let what = Happening::Flow(change);
                    recorder.events.note(Event {
                        at: change.at,
                        port: Some(teller(port)),
                        priority: None,
                        what,
                    });
                });
                recorder.events.lose(lost);
            }
        }
        recorder.events.give(now, take);
    }

    /// Takes events like [`Shard::take_events`], for the last time: drops and ends of pauses that wait for the next look are
    /// told at once, up to `now`.
    pub fn take_last_events(&mut self, now: Nanos, take: impl FnMut(&mut Vec<Event>)) {
        self.fabric.recorder.hurry();
        self.take_events(now, take);
    }
}
