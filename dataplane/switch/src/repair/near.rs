//! The near end of a repaired link: it keeps what it has sent until the far end has it.

use super::number::{Absurd, Missing, gaps_of, widen, widen_span};
use crate::frame::Frame;
use crate::ledger::Volume;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Interval, Nanos, WireBytes};
use wire::grants::repair::Message;
use wire::repair::{AGAIN_LEN, BUCKETS, FARTHEST, NEW_LEN, Shim};

/// How far numbers go beyond what has arrived, so that they may wrap around.
const AHEAD: u64 = FARTHEST as u64 / 2;
/// The most numbers that one status settles or asks for. The rest is settled once all before it has arrived, or sent again as
/// after silence.
const JUDGED: u64 = 1 << 14;
/// The frames from the oldest missing one on that are sent again if nothing was said of them for long.
const OLDEST: u64 = 8;
/// How long after a copy the second one leaves, where both could be lost: longer than most bursts of losses.
const APART: Interval = Interval::from_micros(100);
/// The most second copies that wait.
const SECONDS: usize = 1 << 12;
/// Frames after which what was lost before counts half.
const RECENT: u64 = 1 << 17;
/// The most frames at which one call looks for those that silence may have cost.
const LOOKED_AT: usize = 256;
/// The most frames that are dropped at once.
const DROPPED: usize = 64;

/// What a near end may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Retention {
    /// Bytes on the wire.
    pub bytes: WireBytes,
    /// Frames.
    pub frames: usize,
}

/// A frame that was sent, and whether it has arrived.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<F> {
    /// `None` once it has arrived, and if there was no memory to keep it.
    frame: Option<F>,
    /// Its length, with its shim: a frame that has arrived need not be read.
    length: u32,
    /// The place of its shim.
    shim_at: u8,
    bucket: u16,
    back: u32,
    /// When it was last sent.
    sent: Nanos,
    /// The number under which it was last sent again.
    copy: Option<u64>,
    /// Whether it waits to be sent again.
    is_asked: bool,
}

/// The counters of a near end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearCounters {
    /// New frames sent.
    pub sent: u64,
    /// Frames sent again.
    pub sent_again: u64,
    /// Frames that have arrived.
    pub settled: u64,
    /// Frames given up.
    pub abandoned: u64,
    /// New frames that no memory was left to keep.
    pub unkept: u64,
    /// All frames that were kept and are not any more, with their shims.
    pub dropped: Volume,
}

/// The near end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Near<F> {
    retention: Retention,
    /// The lowest number that is kept, and the next one.
    first: u64,
    next: u64,
    /// From `first` on.
    kept: VecDeque<Kept<F>>,
    /// Frames that were kept, to be dropped together; empty between calls.
    #[serde(skip, default = "Vec::new")]
    settled: Vec<F>,
    held: Volume,
    /// Bytes of all new frames.
    total: u64,
    /// One above the last number of each bucket; 0 if it had none.
    last: Box<[u64]>,
    /// All before it have arrived, as the far end says.
    base: u64,
    /// Numbers that wait to be sent again.
    asked: VecDeque<u64>,
    /// The frames that were sent again, from the copy `copies_from` on.
    copies: VecDeque<u64>,
    copies_from: u64,
    /// Frames that leave once more, and when.
    second: VecDeque<(Nanos, u64)>,
    /// Frames sent of late, and those of them that were lost.
    recent: u64,
    lost: u64,
    /// The next frame to look at after silence; `next` or more if none is.
    looks_at: u64,
    /// All before it are given up.
    given_up: u64,
    pub counters: NearCounters,
}

impl<F> Near<F> {
    /// Memory for each frame that may be kept: its number, and its places among those that are asked for and sent again.
    pub const NUMBER: usize = size_of::<Kept<F>>() + 2 * size_of::<u64>();
}

impl<F: Frame> Near<F> {
    pub fn new(retention: Retention) -> Self {
        Self {
            retention,
            first: 0,
            next: 0,
            kept: VecDeque::with_capacity(retention.frames),
            settled: Vec::with_capacity(DROPPED),
            held: Volume::ZERO,
            total: 0,
            last: vec![0; usize::from(BUCKETS)].into(),
            base: 0,
            asked: VecDeque::with_capacity(retention.frames),
            copies: VecDeque::with_capacity(retention.frames),
            copies_from: 0,
            second: VecDeque::with_capacity(SECONDS),
            recent: 0,
            lost: 0,
            looks_at: u64::MAX,
            given_up: 0,
            counters: NearCounters::default(),
        }
    }

    /// Whether there is room to keep one more frame: the last one may exceed the bytes.
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.retention.frames
            && self.held.on_the_wire() < self.retention.bytes
            && self.next - self.base < AHEAD
    }

    /// Frames that are kept, with their shims.
    pub fn held(&self) -> Volume {
        self.held
    }

    /// When the oldest frame that is kept was last sent.
    pub fn oldest(&self) -> Option<Nanos> {
        self.kept.front().map(|kept| kept.sent)
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// Numbers `frame` of `bucket`, which has room for a shim at `shim_at` and whose first bit leaves at `start`, and keeps it.
    /// There must be [room](Near::has_room).
    pub fn send(&mut self, start: Nanos, epoch: u8, bucket: u16, shim_at: u8, frame: &mut F) {
        let (number, last) = (self.next, &mut self.last[usize::from(bucket % BUCKETS)]);
        let back = match *last {
            0 => 0,
            last => u32::try_from(number + 1 - last).ok().filter(|back| *back <= FARTHEST).unwrap_or(0),
        };
        *last = number + 1;
        self.next += 1;
        self.total += WireBytes::of_frame(frame.length()).0;
        self.counters.sent += 1;
        self.recent += 1;
        if self.recent == RECENT {
            (self.recent, self.lost) = (RECENT / 2, self.lost / 2);
        }
        let shim = Shim { bucket, number: number as u32, epoch, back, copy: None };
        write(&shim, shim_at, frame);
        let (length, frame) = (frame.length(), frame.share());
        match &frame {
            Some(_) => self.held.count(length),
            None => self.counters.unkept += 1,
        }
        let length = length.0 as u32;
        let kept = Kept { frame, length, shim_at, bucket, back, sent: start, copy: None, is_asked: false };
        self.kept.push_back(kept);
    }

    /// When the next frame is to be sent again, as far as is known without a look: never while the far end has not told of enough
    /// copies.
    pub fn again_due(&self) -> Nanos {
        if self.copies.len() >= self.retention.frames {
            return Nanos::NEVER;
        }
        let waits = !self.asked.is_empty() || self.looks_at < self.next;
        let second = self.second.front().map_or(Nanos::NEVER, |(due, _)| *due);
        if waits { Nanos::ZERO } else { second }
    }

    /// Whether a frame and its copy are both lost more often than once in 100 round trips.
    fn is_lossy(&self) -> bool {
        let in_flight = self.kept.len() as u64;
        u128::from(self.lost).pow(2) * u128::from(in_flight) * 100 > u128::from(self.recent).pow(2)
    }

    /// A further handle to the next frame to send again, with its first bit at `start`. `round_trip` is how long the far end
    /// takes to say that a frame has arrived. `None` if there is none, or no memory for the handle.
    pub fn send_again(&mut self, start: Nanos, epoch: u8, round_trip: Interval) -> Option<F> {
        let number = self.next_asked(start, round_trip)?;
        let copy = self.next_copy();
        let kept = self.kept.get_mut(usize::try_from(number - self.first).ok()?)?;
        let Kept { bucket, back, shim_at, .. } = *kept;
        kept.is_asked = false;
        let frame = kept.frame.as_mut()?;
        let is_first = kept.copy.is_none();
        // Its shim grows by the number of the copy.
        let more = if is_first { AGAIN_LEN - NEW_LEN } else { 0 };
        if !frame.make_room(usize::from(shim_at) + NEW_LEN, more) {
            return None;
        }
        kept.length += more as u32;
        self.held.bytes.0 += more as u64;
        let shim = Shim { bucket, number: number as u32, epoch, back, copy: Some(copy as u32) };
        write(&shim, shim_at, frame);
        let again = frame.share()?;
        (kept.sent, kept.copy) = (start, Some(copy));
        self.copies.push_back(number);
        self.counters.sent_again += 1;
        self.lost += u64::from(is_first);
        if is_first && self.is_lossy() && self.second.len() < SECONDS {
            self.second.push_back((start + APART, number));
        }
        Some(again)
    }

    fn next_asked(&mut self, now: Nanos, round_trip: Interval) -> Option<u64> {
        while let Some((_, number)) = self.second.pop_front_if(|(due, _)| *due <= now) {
            if self.is_kept(number) {
                return Some(number);
            }
        }
        while let Some(number) = self.asked.pop_front() {
            if self.is_kept(number) {
                return Some(number);
            }
        }
        for _ in 0..LOOKED_AT {
            let number = self.looks_at.max(self.first);
            if number >= self.next {
                self.looks_at = u64::MAX;
                return None;
            }
            self.looks_at = number + 1;
            let kept = &self.kept[(number - self.first) as usize];
            if kept.frame.is_some() && kept.sent + round_trip <= now {
                return Some(number);
            }
        }
        None
    }

    fn is_kept(&self, number: u64) -> bool {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.kept.get(place)).is_some_and(|kept| kept.frame.is_some())
    }

    /// Takes a status of the far end. After `was_silent`, frames of which it does not speak may be lost, too.
    ///
    /// # Errors
    /// [`Absurd`], and nothing of it is taken.
    pub fn hear(
        &mut self,
        now: Nanos,
        status: &Message,
        was_silent: bool,
        (round_trip, period): (Interval, Interval),
    ) -> Result<(), Absurd> {
        let base = widen(self.base, status.base).ok_or(Absurd)?;
        let (from, until) = widen_span(base, status.new).ok_or(Absurd)?;
        let next_copy = self.next_copy();
        let (copies_from, copies_until) = widen_span(next_copy, status.copies).ok_or(Absurd)?;
        if !(self.base..=self.next).contains(&base) {
            return Err(Absurd);
        }
        // A forged frame may have led it further than what was sent.
        let (until, copies_until) = (until.min(self.next), copies_until.min(next_copy));
        let (from, copies_from) = (from.min(until), copies_from.min(copies_until));
        for number in self.first..base.max(self.first) {
            self.settle(number);
        }
        self.base = base;
        let gaps = Missing::new(gaps_of(&status.gaps, false, base));
        for number in from.max(self.first).max(until.saturating_sub(JUDGED))..until {
            match gaps.contains(number) {
                true => self.ask(number, |kept| kept.copy.is_none()),
                false => self.settle(number),
            }
        }
        self.judge_copies(status, (copies_from, copies_until), next_copy);
        // This mends every loss of a status.
        let long_ago = round_trip + period * 3;
        (base..base + OLDEST).for_each(|number| self.ask(number, |kept| kept.sent + long_ago <= now));
        if was_silent || until - from > JUDGED {
            self.looks_at = self.first;
        }
        self.forget();
        Ok(())
    }

    fn judge_copies(&mut self, status: &Message, (from, until): (u64, u64), next_copy: u64) {
        let gaps = Missing::new(gaps_of(&status.gaps, true, next_copy));
        for copy in from.max(self.copies_from).max(until.saturating_sub(JUDGED))..until {
            let number = self.copies[(copy - self.copies_from) as usize];
            match gaps.contains(copy) {
                true => self.ask(number, |kept| kept.copy == Some(copy)),
                false => self.settle(number),
            }
        }
        // Nobody speaks of older ones again.
        let spoken_of = from.saturating_sub(self.copies_from).min(self.copies.len() as u64);
        self.copies.drain(..spoken_of as usize);
        self.copies_from += spoken_of;
    }

    fn settle(&mut self, number: u64) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(kept) = self.kept.get_mut(place as usize) else { return };
        if let Some(frame) = kept.frame.take() {
            let length = kept.length;
            self.counters.settled += 1;
            self.put_away(frame, length);
        }
    }

    /// Lets a frame go that was kept.
    fn put_away(&mut self, frame: F, length: u32) {
        let one = Volume { frames: 1, bytes: Bytes(length.into()) };
        self.held = self.held - one;
        self.counters.dropped += one;
        self.settled.push(frame);
        if self.settled.len() == DROPPED {
            F::drop_all(&mut self.settled);
        }
    }

    /// Lets a frame be sent again that `may` be, if it is kept and does not wait for that already.
    fn ask(&mut self, number: u64, may: impl Fn(&Kept<F>) -> bool) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(kept) = self.kept.get_mut(place as usize) else { return };
        // Without room, a frame is sent again once it is the oldest.
        let has_room = self.asked.len() < self.retention.frames;
        if kept.frame.is_some() && !kept.is_asked && has_room && may(kept) {
            kept.is_asked = true;
            self.asked.push_back(number);
        }
    }

    /// Forgets the oldest frames that have arrived.
    fn forget(&mut self) {
        F::drop_all(&mut self.settled);
        while self.kept.front().is_some_and(|kept| kept.frame.is_none()) {
            self.kept.pop_front();
            self.first += 1;
        }
    }

    /// Gives up all that is kept: nothing of it is sent again, and [`Near::clear`] frees it.
    pub fn abandon(&mut self) {
        self.asked.clear();
        self.second.clear();
        (self.given_up, self.looks_at) = (self.next, u64::MAX);
    }

    /// All frames that were given up, free or not.
    pub fn abandoned(&self) -> u64 {
        self.counters.abandoned + if self.clears() { self.held.frames } else { 0 }
    }

    /// Whether frames that are given up are not free yet.
    pub fn clears(&self) -> bool {
        self.first < self.given_up
    }

    /// Frees some of the frames that are given up.
    pub fn clear(&mut self) {
        for _ in 0..LOOKED_AT.min(self.given_up.saturating_sub(self.first) as usize) {
            let kept = self.kept.pop_front();
            self.first += 1;
            if let Some(Kept { frame: Some(frame), length, .. }) = kept {
                self.counters.abandoned += 1;
                self.put_away(frame, length);
            }
        }
        F::drop_all(&mut self.settled);
    }

    pub fn next_copy(&self) -> u64 {
        self.copies_from + self.copies.len() as u64
    }

    /// Writes what it has sent into `status`.
    pub fn tell(&self, status: &mut Message) {
        status.next = self.next as u32;
        status.next_copy = self.next_copy() as u32;
        status.bytes = self.total;
        status.first = self.first as u32;
    }
}

fn write<F: Frame>(shim: &Shim, at: u8, frame: &mut F) {
    let room = frame.headers_mut().get_mut(usize::from(at)..).and_then(|rest| rest.get_mut(..shim.length()));
    if let Some(room) = room {
        room.copy_from_slice(&shim.bytes()[..shim.length()]);
    }
}
