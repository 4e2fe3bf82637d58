//! The gate of a port: when a queue may send, and how much.
//!
//! Received pauses, the shapers of the port and its queues, and the link clock with its window are asked together. So the
//! scheduler, the deadline and the watchdog get one answer.

use super::{ReceivedPauses, shaper::Shaper};
use crate::program::PortSettings;
use units::{Bytes, Interval, LinkClock, Nanos, Priority, PrioritySet, WireBytes};

/// What lets frames of a port pass.
#[derive(Debug)]
pub(crate) struct Gate {
    link: LinkClock,
    /// How far ahead of the link frames are handed over.
    tx_window: Interval,
    port: Option<Shaper>,
    queues: [Option<Shaper>; Priority::COUNT],
    /// Queues with a shaper of their own.
    shaped: PrioritySet,
    /// Whether there is any shaper.
    shapes: bool,
    pub pauses: ReceivedPauses,
}

impl Gate {
    pub fn new(settings: &PortSettings) -> Self {
        Self {
            link: LinkClock::new(settings.rate),
            tx_window: settings.tx_window,
            port: settings.rate_limit.as_ref().map(Shaper::new),
            queues: settings.queues.each_ref().map(|queue| queue.rate_limit.as_ref().map(Shaper::new)),
            shaped: shaped(settings),
            shapes: shapes(settings),
            pauses: ReceivedPauses::new(settings.pfc.obey, settings.rate),
        }
    }

    /// New settings. Shapers whose limit is new start full.
    pub fn configure(&mut self, now: Nanos, old: &PortSettings, new: &PortSettings) {
        if new.rate != old.rate {
            self.link.set_rate(new.rate);
        }
        self.tx_window = new.tx_window;
        if new.rate_limit != old.rate_limit {
            self.port = new.rate_limit.as_ref().map(Shaper::new);
        }
        for ((shaper, old), new) in self.queues.iter_mut().zip(&old.queues).zip(&new.queues) {
            if new.rate_limit != old.rate_limit {
                *shaper = new.rate_limit.as_ref().map(Shaper::new);
            }
        }
        self.shaped = shaped(new);
        self.shapes = shapes(new);
        self.pauses.configure(now, &new.pfc, new.rate);
    }

    /// Those of `queues` that may send a frame at `now`.
    #[inline]
    pub fn open(&mut self, now: Nanos, queues: PrioritySet) -> PrioritySet {
        if self.link_opens_at() > now || self.port.as_ref().is_some_and(|shaper| shaper.ready_at() > now) {
            return PrioritySet::EMPTY;
        }
        let open = queues.difference(self.pauses.paused(now));
        let held_back = open.intersection(self.shaped).iter().filter(|it| self.shaped_until(*it) > now);
        held_back.fold(open, PrioritySet::without)
    }

    /// When the first of `queues` may send a frame; never where there are none.
    #[inline]
    pub fn opens_at(&self, queues: PrioritySet) -> Nanos {
        let each = queues.iter().map(|it| self.pauses.paused_until(it).max(self.shaped_until(it)));
        let Some(first) = each.min() else { return Nanos::NEVER };
        let port = self.port.as_ref().map_or(Nanos::ZERO, Shaper::ready_at);
        first.max(port).max(self.link_opens_at())
    }

    /// When the link takes the next frame. Control frames wait for nothing else.
    #[inline]
    pub fn link_opens_at(&self) -> Nanos {
        self.link.free_at() - self.tx_window
    }

    /// Whether the link alone decides when the next frame leaves: nothing is paused or shaped.
    #[inline]
    pub fn is_link_alone(&self) -> bool {
        self.pauses.stopped().is_empty() && !self.shapes
    }

    /// Whether frames are handed over ahead of the link, so that several may leave at once.
    #[inline]
    pub fn has_window(&self) -> bool {
        self.tx_window > Interval::ZERO
    }

    /// Lets the queue of `priority`, which is [open](Self::open) at `now`, send one frame after the other.
    #[inline]
    pub fn opening(&mut self, now: Nanos, priority: Priority) -> Opening<'_> {
        let is_shaped = self.port.is_some() || self.shaped.contains(priority);
        Opening {
            now,
            horizon: now + self.tx_window,
            link: self.link,
            home: &mut self.link,
            shapers: is_shaped.then_some([&mut self.port, &mut self.queues[priority.index()]]),
        }
    }

    /// Puts a frame of `length` on the link at `now`, whatever else would hold it back. Returns its start.
    #[inline(always)]
    pub fn occupy(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.link.occupy(now, WireBytes::of_frame(length))
    }

    fn shaped_until(&self, priority: Priority) -> Nanos {
        self.queues[priority.index()].as_ref().map_or(Nanos::ZERO, Shaper::ready_at)
    }
}

/// The gate while one queue sends.
pub(crate) struct Opening<'a> {
    now: Nanos,
    horizon: Nanos,
    /// What each frame changes is kept here meanwhile, and not in memory.
    link: LinkClock,
    home: &'a mut LinkClock,
    /// That of the port and that of the queue, where there is one.
    shapers: Option<[&'a mut Option<Shaper>; 2]>,
}

impl Opening<'_> {
    /// Lets a frame pass. Returns its start on the link; `None`, with nothing changed, where it has to wait.
    #[inline(always)]
    pub fn pass(&mut self, bytes: WireBytes) -> Option<Nanos> {
        let Self { now, horizon, link, shapers, .. } = self;
        let Some(shapers) = shapers else { return link.occupy_by(*now, *horizon, bytes) };
        if shapers.iter().any(|shaper| shaper.as_ref().is_some_and(|it| it.ready_at() > *now)) {
            return None;
        }
        let start = link.occupy_by(*now, *horizon, bytes)?;
        shapers.iter_mut().filter_map(|shaper| shaper.as_mut()).for_each(|it| it.charge(*now, bytes));
        Some(start)
    }

    /// The queue has sent.
    #[inline(always)]
    pub fn close(self) {
        *self.home = self.link;
    }
}

fn shaped(settings: &PortSettings) -> PrioritySet {
    Priority::all().filter(|priority| settings.queues[priority.index()].rate_limit.is_some()).collect()
}

fn shapes(settings: &PortSettings) -> bool {
    settings.rate_limit.is_some() || !shaped(settings).is_empty()
}
