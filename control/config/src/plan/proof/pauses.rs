//! The longest pauses after the stop, as the frames on the wire ask for them.

use core::ops::ControlFlow;

use simulation::{Observer, Progress, Tap};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, WireBytes};
use wire::ethernet::{self, EtherType, HEADER_LEN};
use wire::grants::{self, slot::Kind};
use wire::pfc;

use super::network::{FAR, NEAR};

/// The longest pause of each priority at one place.
pub(super) type LongestPauses = [Interval; Priority::COUNT];

/// The pauses at one place, for each priority: since when, until when. Pauses that began earlier count from `from` on.
#[derive(Clone, Debug)]
struct Watched {
    from: Nanos,
    pauses: [Option<(Nanos, Nanos)>; Priority::COUNT],
    longest: LongestPauses,
}

impl Watched {
    fn new(from: Nanos) -> Self {
        Self { from, pauses: Default::default(), longest: Default::default() }
    }

    fn hear(&mut self, at: Nanos, priority: Priority, time: Interval) {
        let pause = self.pauses[priority.index()];
        if let Some((_, until)) = pause
            && (at > until || time == Interval::ZERO)
        {
            self.end_pause(priority, at);
        }
        if time > Interval::ZERO {
            let since = self.pauses[priority.index()].map_or(at, |(since, _)| since);
            self.pauses[priority.index()] = Some((since, at + time));
        }
    }

    /// Ends the pause of a priority, at `now` at the latest.
    fn end_pause(&mut self, priority: Priority, now: Nanos) {
        if let Some((since, until)) = self.pauses[priority.index()].take() {
            let lasted = until.min(now).since(since.max(self.from));
            let longest = &mut self.longest[priority.index()];
            *longest = lasted.max(*longest);
        }
    }

    fn end(&mut self, end: Nanos) {
        Priority::all().for_each(|priority| self.end_pause(priority, end));
    }
}

/// Watches the pauses that cross three places, and whether the run may go on.
pub(super) struct Pauses<F> {
    rate: BitRate,
    /// Sent by the far gateway on the long link, sent by the near one to its data center, and received by the far one.
    places: [(Tap, Watched); 3],
    go_on: F,
}

impl<F: FnMut() -> bool> Pauses<F> {
    /// Watches from the end of the stop on: `far` at the far gateway, and `near` at the near one, which learns of it later.
    /// Until then pauses last as long as the stop, and say nothing of the plan.
    pub fn new(rate: BitRate, [far, near]: [Nanos; 2], go_on: F) -> Self {
        let tap = |node, port, inbound, from| (Tap { node, port: PortId(port), inbound }, Watched::new(from));
        let places = [tap(FAR, 1, false, far), tap(NEAR, 0, false, near), tap(FAR, 0, true, far)];
        Self { rate, places, go_on }
    }

    /// The longest pauses, in the order of places, of a run that has ended.
    pub fn longest(mut self, end: Nanos) -> [LongestPauses; 3] {
        for (_, watched) in &mut self.places {
            watched.end(end);
        }
        self.places.map(|(_, watched)| watched.longest)
    }
}

impl<F: FnMut() -> bool> Observer for Pauses<F> {
    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], _: Bytes) {
        let Some((_, watched)) = self.places.iter_mut().find(|(place, _)| *place == tap) else { return };
        let (Ok(header), Some(payload)) = (ethernet::View::parse(headers), headers.get(HEADER_LEN..)) else {
            return;
        };
        match header.ether_type() {
            EtherType::MAC_CONTROL => {
                let Ok(view) = pfc::View::parse(payload) else { return };
                for priority in Priority::all() {
                    if let Some(quanta) = view.time(priority) {
                        watched.hear(at, priority, quanta.interval_at(self.rate));
                    }
                }
            }
            grants::ETHER_TYPE => {
                if let Ok(message) = grants::Message::parse(payload) {
                    hear_grant(watched, at, &message);
                }
            }
            _ => {}
        }
    }

    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        if (self.go_on)() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// A slot that grants nothing is a pause until the next message, which is due after it.
fn hear_grant(watched: &mut Watched, at: Nanos, message: &grants::Message) {
    let head = match message {
        grants::Message::Slot(message) => &message.head,
        grants::Message::FarPort(message) => &message.head,
        grants::Message::Credit(_)
        | grants::Message::Behind(_)
        | grants::Message::Hello(_)
        | grants::Message::Repair(_)
        | grants::Message::Session(_) => return,
    };
    let grants_nothing = head.kind == Kind::Grant && head.total == WireBytes(0);
    let time = if grants_nothing { head.slot * 2 } else { Interval::ZERO };
    head.priorities.iter().for_each(|priority| watched.hear(at, priority, time));
}
