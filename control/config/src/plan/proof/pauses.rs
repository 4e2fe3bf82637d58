//! The longest pauses, as the frames on the wire ask for them.

use core::ops::ControlFlow;

use simulation::{Observer, Progress, Tap};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority};
use wire::ethernet::{self, EtherType, HEADER_LEN};
use wire::pfc;

use super::network::{FAR, NEAR};

/// The longest pause of each priority at one place.
pub(super) type LongestPauses = [Interval; Priority::COUNT];

/// The pauses at one place, for each priority: since when, until when.
#[derive(Clone, Debug, Default)]
struct Watched {
    pauses: [Option<(Nanos, Nanos)>; Priority::COUNT],
    longest: LongestPauses,
}

impl Watched {
    fn hear(&mut self, at: Nanos, priority: Priority, time: Interval) {
        let (pause, longest) = (&mut self.pauses[priority.index()], &mut self.longest[priority.index()]);
        if let Some((since, until)) = *pause
            && (at > until || time == Interval::ZERO)
        {
            *longest = until.min(at).since(since).max(*longest);
            *pause = None;
        }
        if time > Interval::ZERO {
            let since = pause.map_or(at, |(since, _)| since);
            *pause = Some((since, at + time));
        }
    }

    fn end(&mut self, end: Nanos) {
        for (pause, longest) in self.pauses.into_iter().zip(&mut self.longest) {
            let Some((since, until)) = pause else { continue };
            *longest = until.min(end).since(since).max(*longest);
        }
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
    pub fn new(rate: BitRate, go_on: F) -> Self {
        let tap = |node, port, inbound| (Tap { node, port: PortId(port), inbound }, Watched::default());
        Self { rate, places: [tap(FAR, 1, false), tap(NEAR, 0, false), tap(FAR, 0, true)], go_on }
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
        let Ok(header) = ethernet::View::parse(headers) else { return };
        if header.ether_type() != EtherType::MAC_CONTROL {
            return;
        }
        let Some((_, watched)) = self.places.iter_mut().find(|(place, _)| *place == tap) else { return };
        let Some(Ok(view)) = headers.get(HEADER_LEN..).map(pfc::View::parse) else { return };
        for priority in Priority::all() {
            if let Some(quanta) = view.time(priority) {
                watched.hear(at, priority, quanta.interval_at(self.rate));
            }
        }
    }

    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        if (self.go_on)() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
