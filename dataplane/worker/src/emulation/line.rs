//! The delay line.

use super::impairments::{Fate, Impairments};
use super::track::{Arrival, Track};
use super::{EmulationCounters, EmulationSettings};
use switch::{ControlFrame, Frame, Transmitter};
use units::{BitRate, Bytes, Interval, LinkClock, Nanos, WireBytes};
use wire::ethernet::{self, EtherType};
use wire::lldp::LONGEST_EMITTED;

/// The capacity of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The maximum number of data frames, and separately of control frames.
    pub frames: usize,
    /// The maximum of data. The frame that reaches it is the last.
    pub data: WireBytes,
}

/// How data leaves the link. After a device had no room for a while, it gets the backlog at the rate of the
/// link, not all at once.
#[derive(Clone, Copy, Debug)]
enum Exit {
    OnTime,
    /// The device has no room.
    Shut,
    /// The device has room again, and late frames remain.
    Paced,
}

/// An announcement on the link, in the memory of the line itself.
struct Announcement {
    /// Its arrival; never if there is none.
    due: Nanos,
    length: usize,
    bytes: [u8; LONGEST_EMITTED],
}

/// Delays the frames that leave a port as a long fibre would.
///
/// The switch adds frames through [`Transmitter`] in the order of their starts; [`DelayLine::release`] takes
/// them out. [`DelayLine::new`] does all allocation, and the cost per frame does not depend on their number.
pub struct DelayLine<F> {
    delay: Interval,
    reorder_by: Interval,
    /// `None` for a link without impairments.
    impairments: Option<Impairments>,
    /// Whether control frames are impaired too.
    impairs_control: bool,
    data: Track<F>,
    /// Separate, so that data never takes room from control frames.
    control: Track<ControlFrame>,
    /// One at a time: one leaves a second at most.
    announcement: Announcement,
    /// The number of frames put on the link. It orders frames that arrive at the same instant.
    order: u64,
    /// Data on the link, and its limit.
    held: WireBytes,
    capacity: WireBytes,
    exit: Exit,
    /// Paces late frames.
    leaving: LinkClock,
    /// Without the frames in flight, which the tracks count.
    counters: EmulationCounters,
}

impl<F: Frame> DelayLine<F> {
    /// A link of `capacity`, which is what its rate sends within its delay. Allocates [`DelayLine::memory`].
    pub fn new(settings: &EmulationSettings, capacity: Capacity) -> Self {
        let (reorders, frames) = (settings.reorders(), capacity.frames);
        Self {
            delay: settings.delay,
            reorder_by: settings.reorder_by,
            impairments: Impairments::new(settings),
            impairs_control: settings.control,
            data: Track::new(frames, reorders),
            control: Track::new(frames, reorders && settings.control),
            announcement: Announcement { due: Nanos::NEVER, length: 0, bytes: [0; LONGEST_EMITTED] },
            order: 0,
            held: WireBytes(0),
            capacity: capacity.data,
            exit: Exit::OnTime,
            leaving: LinkClock::new(settings.rate),
            counters: EmulationCounters::default(),
        }
    }

    /// The memory of the line itself, without that of the frames, which belongs to their pool.
    pub fn memory(settings: &EmulationSettings, max_frames: usize) -> Bytes {
        let reorders = settings.reorders();
        Track::<F>::memory(max_frames, reorders)
            + Track::<ControlFrame>::memory(max_frames, reorders && settings.control)
    }

    /// Changes the rate of the link.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.leaving.set_rate(rate);
    }

    /// When to call [`DelayLine::release`]: the arrival of the next frame. It is in the past if the device
    /// had no room, and [`Nanos::NEVER`] if the link is empty.
    #[inline]
    pub fn next_deadline(&self) -> Nanos {
        let data = self.data.next().due;
        let data = match self.exit {
            Exit::Paced => data.max(self.leaving.free_at()),
            Exit::OnTime | Exit::Shut => data,
        };
        data.min(self.control.next().due).min(self.announcement.due)
    }

    /// Gives `out` the frames that have arrived by `now`, in order of arrival, each with its due instant.
    /// Data for which `out` has no room stays on the link and leaves late, at the rate of the link. Control
    /// frames never wait behind it, because a late pause would break its guarantee.
    pub fn release(&mut self, now: Nanos, out: &mut impl Transmitter<F>) {
        if self.announcement.due <= now {
            let due = core::mem::replace(&mut self.announcement.due, Nanos::NEVER);
            out.control(due, &self.announcement.bytes[..self.announcement.length]);
            self.counters.delivered += 1;
        }
        let end = Arrival::behind(now);
        loop {
            let next_control = self.control.next();
            self.release_data(now, end.min(next_control), out);
            let Some((arrival, frame)) = self.control.pop_before(end) else { return };
            out.control(arrival.due, frame.bytes());
            self.count_delivery(now, arrival);
        }
    }

    /// Gives `out` the data that arrives before `end` and may leave.
    #[inline]
    fn release_data(&mut self, now: Nanos, end: Arrival, out: &mut impl Transmitter<F>) {
        while self.data.next() < end {
            if out.room() == 0 {
                self.exit = Exit::Shut;
                return;
            }
            if matches!(self.exit, Exit::Paced) && self.leaving.free_at() > now {
                return;
            }
            let Some((arrival, frame)) = self.data.pop_before(end) else { return };
            let wire_bytes = WireBytes::of_frame(frame.length());
            self.held.0 -= wire_bytes.0;
            self.leave(now, wire_bytes);
            out.frame(arrival.due, frame);
            self.count_delivery(now, arrival);
        }
        if self.data.next() > Arrival::behind(now) {
            self.exit = Exit::OnTime;
        }
    }

    /// Notes that a frame leaves. A late one occupies the link from the end of the previous one.
    #[inline]
    fn leave(&mut self, now: Nanos, wire_bytes: WireBytes) {
        let from = match self.exit {
            Exit::OnTime => return,
            Exit::Shut => now,
            Exit::Paced => self.leaving.free_at(),
        };
        self.exit = Exit::Paced;
        self.leaving.occupy(from, wire_bytes);
    }

    /// The counters.
    pub fn counters(&self) -> EmulationCounters {
        let data_in_flight = self.data.length() as u64;
        EmulationCounters { in_flight: self.in_flight(), data_in_flight, ..self.counters }
    }

    fn in_flight(&self) -> u64 {
        let announced = usize::from(self.announcement.due != Nanos::NEVER);
        (self.data.length() + self.control.length() + announced) as u64
    }

    /// The arrival of a frame that starts at `start`.
    #[inline]
    fn arrival(&mut self, start: Nanos, fate: Fate) -> Arrival {
        self.order += 1;
        let due = start + self.delay;
        Arrival { due: if fate.held_back { due + self.reorder_by } else { due }, order: self.order }
    }

    #[inline]
    fn count_delivery(&mut self, now: Nanos, arrival: Arrival) {
        self.counters.delivered += 1;
        self.counters.max_lateness = self.counters.max_lateness.max(now.since(arrival.due));
    }

    #[inline]
    fn note_in_flight(&mut self) {
        self.counters.peak_in_flight = self.counters.peak_in_flight.max(self.in_flight());
    }

    /// Puts an LLDPDU on the link. It is lost like other frames, and not repeated or reordered.
    fn announce(&mut self, start: Nanos, frame: &[u8]) {
        self.counters.entered += 1;
        let impairments = self.impairments.as_mut().filter(|_| self.impairs_control);
        if impairments.is_some_and(|it| it.fate().lost) {
            self.counters.lost += 1;
        } else if self.announcement.due != Nanos::NEVER || frame.len() > LONGEST_EMITTED {
            self.counters.overflowed += 1;
        } else {
            self.announcement.due = start + self.delay;
            self.announcement.length = frame.len();
            self.announcement.bytes[..frame.len()].copy_from_slice(frame);
        }
    }
}

/// The near end of the link.
impl<F: Frame> Transmitter<F> for DelayLine<F> {
    /// The number of data frames that still fit; zero while the link holds its full capacity. That happens if
    /// the device takes no frames: they wait in the switch then, and nothing is lost.
    #[inline]
    fn room(&self) -> usize {
        if self.held < self.capacity { self.data.room() } else { 0 }
    }

    #[inline]
    fn frame(&mut self, start: Nanos, frame: F) {
        let fate = self.impairments.as_mut().map_or(Fate::default(), Impairments::fate);
        let (arrival, wire_bytes) = (self.arrival(start, fate), WireBytes::of_frame(frame.length()));
        let boarded = board(&mut self.data, &mut self.counters, fate, arrival, frame, F::duplicate);
        self.held.0 += boarded * wire_bytes.0;
        self.note_in_flight();
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        let is_lldp = ethernet::View::parse(frame).is_ok_and(|it| it.ether_type() == EtherType::LLDP);
        let Some(frame) = ControlFrame::copy_of(frame).filter(|_| !is_lldp) else {
            return self.announce(start, frame);
        };
        let impairments = self.impairments.as_mut().filter(|_| self.impairs_control);
        let fate = impairments.map_or(Fate::default(), Impairments::fate);
        let arrival = self.arrival(start, fate);
        board(&mut self.control, &mut self.counters, fate, arrival, frame, |frame| Some(*frame));
        self.note_in_flight();
    }
}

/// Puts a frame on a track once, twice or not at all. Returns how often.
#[inline]
fn board<T>(
    track: &mut Track<T>,
    counters: &mut EmulationCounters,
    fate: Fate,
    arrival: Arrival,
    frame: T,
    duplicate: impl FnOnce(&T) -> Option<T>,
) -> u64 {
    counters.entered += 1;
    if fate.lost {
        counters.lost += 1;
        return 0;
    }
    if track.room() == 0 {
        counters.overflowed += 1;
        return 0;
    }
    counters.reordered += u64::from(fate.held_back);
    let copy = if fate.duplicated && track.room() > 1 { duplicate(&frame) } else { None };
    track.push(arrival, fate.held_back, frame);
    let Some(copy) = copy else { return 1 };
    counters.duplicated += 1;
    track.push(arrival, fate.held_back, copy);
    2
}
