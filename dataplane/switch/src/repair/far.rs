//! The far end of a repaired link: it drops what came twice, and holds what would overtake a lost frame of its bucket.

use super::number::{Absurd, widen};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wire::grants::repair::{GAPS, Gap, Message, Span};
use wire::repair::{BUCKETS, Shim};

/// Gaps of copies in a status, at most: the others are for new frames.
const GAPS_OF_COPIES: usize = GAPS / 2;
/// The most frames at which one call looks for one that may go on.
const LOOKED_AT: usize = 256;
/// Statuses in a row that speak of the same frames. So two of them may be lost.
const TOLD: usize = 3;

/// What becomes of a frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It goes on now. Then frames may be [free](Far::take_released) that waited for it.
    Passes,
    /// It is to be [held](Far::hold), or [let go](Far::let_go).
    Waits,
    /// It came before.
    Duplicate,
    /// No link can have carried so many frames that are missing.
    Beyond,
}

#[derive(Debug, Default, Serialize, Deserialize)]
enum State<F> {
    #[default]
    Missing,
    /// It waits for an earlier one of its bucket.
    Held(F),
    /// It went on.
    Released,
}

#[derive(Debug, Serialize, Deserialize)]
struct Slot<F> {
    state: State<F>,
    /// The distance to the frame that waits for this one; 0 if none does.
    follower: u32,
}

impl<F> Default for Slot<F> {
    fn default() -> Self {
        Self { state: State::Missing, follower: 0 }
    }
}

/// The counters of a far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarCounters {
    /// Frames that have arrived for the first time.
    pub arrived: u64,
    /// Of those, the ones that were held.
    pub held: u64,
    /// Frames that came again.
    pub duplicates: u64,
    /// Frames that are lost for good, because the near end gave them up.
    pub skipped: u64,
}

/// Which copies have arrived, from one that the other end has been told of often enough.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Copies {
    from: u64,
    arrived: VecDeque<bool>,
    told: [u64; TOLD],
}

impl Copies {
    fn until(&self) -> u64 {
        self.from + self.arrived.len() as u64
    }

    fn note(&mut self, low: u32, capacity: usize) {
        let Some(copy) = widen(self.until(), low) else { return };
        let Some(place) = copy.checked_sub(self.from).filter(|place| *place < capacity as u64) else {
            return;
        };
        self.extend(copy + 1, capacity);
        self.arrived[place as usize] = true;
    }

    /// Notes that all copies below `until` were sent.
    fn extend(&mut self, until: u64, capacity: usize) {
        let length = until.saturating_sub(self.from).min(capacity as u64) as usize;
        if length > self.arrived.len() {
            self.arrived.resize(length, false);
        }
    }

    fn forget_until(&mut self, from: u64) {
        let old = from.saturating_sub(self.from).min(self.arrived.len() as u64);
        self.arrived.drain(..old as usize);
        self.from += old;
    }
}

/// The far end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Far<F> {
    /// How many numbers it looks at.
    capacity: usize,
    /// All before it have arrived or are skipped.
    base: u64,
    /// From `base` on.
    slots: VecDeque<Slot<F>>,
    /// All numbers below it that have not arrived are lost for good.
    skipped_until: u64,
    /// Frames that may go on, at most one of each bucket.
    free: VecDeque<u64>,
    told: [u64; TOLD],
    copies: Copies,
    /// The numbers that the near end had reached at its last status: all below are lost if they have not come by the next one.
    reached: Option<(u64, u64)>,
    held: usize,
    missing: u64,
    /// Whether a gap was found of which no status has told.
    pub has_news: bool,
    /// Statuses that have yet to tell of what came last.
    untold: usize,
    /// Whether nothing of the session has come yet, so that a status may say where it begins.
    is_fresh: bool,
    /// Whether the near end waits for nothing, as it said last.
    peer_rests: bool,
    pub counters: FarCounters,
}

impl<F> Far<F> {
    /// Memory for each number that it looks at, and for a copy.
    pub const NUMBER: usize = size_of::<Slot<F>>() + size_of::<bool>();

    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            base: 0,
            slots: VecDeque::with_capacity(capacity),
            skipped_until: 0,
            free: VecDeque::with_capacity(capacity.min(BUCKETS.into())),
            told: [0; TOLD],
            copies: Copies { arrived: VecDeque::with_capacity(capacity), ..Copies::default() },
            reached: None,
            held: 0,
            missing: 0,
            has_news: false,
            untold: 0,
            is_fresh: true,
            peer_rests: true,
            counters: FarCounters::default(),
        }
    }

    fn until(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Frames that are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Frames that were sent, as far as it knows, and have not arrived.
    pub fn missing(&self) -> u64 {
        let Some((next, _)) = self.reached else { return self.missing };
        // A number that was never sent makes nothing missing.
        self.missing.min(next.saturating_sub(self.base)) + next.saturating_sub(self.until())
    }

    /// Judges a frame by its shim, and notes that it has arrived.
    pub fn receive(&mut self, shim: &Shim) -> Arrival {
        let Some(number) = widen(self.until(), shim.number) else { return Arrival::Beyond };
        let place = number.checked_sub(self.base).map(|place| place as usize);
        if place.is_some_and(|place| place >= self.capacity) {
            return Arrival::Beyond;
        }
        if let Some(copy) = shim.copy {
            self.copies.note(copy, self.capacity);
        }
        // The near end may not know yet that it came before.
        (self.untold, self.is_fresh, self.peer_rests) = (TOLD, false, false);
        let is_missing =
            |place: &usize| matches!(self.slots.get(*place), None | Some(Slot { state: State::Missing, .. }));
        let Some(place) = place.filter(is_missing) else {
            self.counters.duplicates += 1;
            return Arrival::Duplicate;
        };
        self.extend(number);
        if place == self.slots.len() {
            self.slots.push_back(Slot::default());
        } else {
            self.missing -= 1;
        }
        self.counters.arrived += 1;
        if self.has_to_wait(number, shim.back) {
            return Arrival::Waits;
        }
        self.pass(number);
        Arrival::Passes
    }

    /// Notes that all frames below `until` were sent.
    fn extend(&mut self, until: u64) {
        let length = until.saturating_sub(self.base).min(self.capacity as u64) as usize;
        if length > self.slots.len() {
            self.missing += (length - self.slots.len()) as u64;
            self.slots.resize_with(length, Slot::default);
            self.has_news = true;
        }
    }

    /// Whether an earlier frame of its bucket has to go on first. If so, that one knows who follows.
    fn has_to_wait(&mut self, number: u64, back: u32) -> bool {
        let before = number.checked_sub(u64::from(back)).and_then(|it| it.checked_sub(self.base));
        let Some(slot) = before.and_then(|place| self.slots.get_mut(place as usize)) else { return false };
        // Two that follow the same frame are none of a true peer's.
        let waits = back > 0 && slot.follower == 0 && !matches!(slot.state, State::Released);
        if waits {
            slot.follower = back;
        }
        waits
    }

    fn pass(&mut self, number: u64) {
        let slot = &mut self.slots[(number - self.base) as usize];
        slot.state = State::Released;
        if slot.follower > 0 {
            self.free.push_back(number + u64::from(slot.follower));
        }
        self.advance();
    }

    /// Keeps the frame that [`Far::receive`] has just told to wait.
    pub fn hold(&mut self, shim: &Shim, frame: F) {
        let number = widen(self.until(), shim.number);
        let place = number.and_then(|number| number.checked_sub(self.base));
        if let Some(slot) = place.and_then(|place| self.slots.get_mut(place as usize)) {
            slot.state = State::Held(frame);
            self.held += 1;
            self.counters.held += 1;
        }
    }

    /// Notes that the frame which [`Far::receive`] has just told to wait is not held.
    pub fn let_go(&mut self, shim: &Shim) {
        let number = widen(self.until(), shim.number);
        if let Some(number) = number.filter(|number| (self.base..self.until()).contains(number)) {
            self.pass(number);
        }
    }

    /// Whether [`Far::take_released`] may give a frame.
    pub fn may_release(&self) -> bool {
        !self.free.is_empty() || self.base < self.skipped_until
    }

    /// The next frame that may go on, after one that it waited for has, or was given up; `None` if a look at some frames finds
    /// none.
    pub fn take_released(&mut self) -> Option<F> {
        for _ in 0..LOOKED_AT {
            let frame = match self.free.pop_front() {
                Some(number) => self.release(number),
                None if self.base < self.skipped_until => self.skip(),
                None => return None,
            };
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    /// Lets the frame of this `number` go on, if it is held.
    fn release(&mut self, number: u64) -> Option<F> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let slot = self.slots.get_mut(place).filter(|slot| matches!(slot.state, State::Held(_)))?;
        let State::Held(frame) = core::mem::take(&mut slot.state) else { return None };
        self.held -= 1;
        self.pass(number);
        Some(frame)
    }

    /// Begins with the numbers of a new session, once nothing is held.
    pub fn begin(&mut self) {
        self.slots.clear();
        (self.base, self.skipped_until, self.told, self.reached) = (0, 0, [0; TOLD], None);
        (self.is_fresh, self.peer_rests) = (true, true);
        self.free.clear();
        (self.missing, self.has_news, self.untold) = (0, false, 0);
        self.copies.arrived.clear();
        (self.copies.from, self.copies.told) = (0, [0; TOLD]);
    }

    /// Gives up the first missing frame. Returns the first frame if that is held.
    fn skip(&mut self) -> Option<F> {
        match self.slots.front().map(|slot| &slot.state) {
            None => {
                self.counters.skipped += self.skipped_until - self.base;
                self.base = self.skipped_until;
                None
            }
            Some(State::Missing) => {
                (self.counters.skipped, self.missing) = (self.counters.skipped + 1, self.missing - 1);
                self.pass(self.base);
                None
            }
            Some(State::Held(_) | State::Released) => self.release(self.base),
        }
    }

    /// Forgets the first frames once they have gone on.
    fn advance(&mut self) {
        while matches!(self.slots.front(), Some(Slot { state: State::Released, .. })) {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// Takes a status of the near end. What that had sent at the one before this one and has not arrived is lost, though
    /// nothing came behind it.
    ///
    /// # Errors
    /// [`Absurd`], and nothing of it is taken.
    pub fn hear(&mut self, status: &Message) -> Result<(), Absurd> {
        let under_way = status.next.wrapping_sub(status.first);
        if u64::from(under_way) > self.capacity as u64 {
            return Err(Absurd);
        }
        if self.is_fresh {
            self.base = status.first.into();
            (self.skipped_until, self.told) = (self.base, [self.base; TOLD]);
            self.copies.from = status.next_copy.into();
            self.copies.told = [self.copies.from; TOLD];
        }
        let (first, next) = (widen(self.until(), status.first), widen(self.until(), status.next));
        let (first, next) = first.zip(next).ok_or(Absurd)?;
        let next_copy = widen(self.copies.until(), status.next_copy).ok_or(Absurd)?;
        // What it skips makes room for what follows.
        if first > self.until() + self.capacity as u64 || next > self.base.max(first) + self.capacity as u64 {
            return Err(Absurd);
        }
        (self.is_fresh, self.peer_rests) = (false, first == next && next <= self.base);
        if let Some((next, next_copy)) = self.reached {
            self.extend(next);
            self.copies.extend(next_copy, self.capacity);
        }
        self.reached = Some((next, next_copy));
        self.skipped_until = self.skipped_until.max(first);
        Ok(())
    }

    /// Gives up all that is missing. What is held goes on.
    pub fn give_up(&mut self) {
        self.skipped_until = self.until();
    }

    /// Whether the near end waits for nothing, as far as it has said.
    pub fn peer_rests(&self) -> bool {
        self.peer_rests
    }

    /// Whether nothing is missing or held, and the near end was told of all that has arrived, though statuses were lost.
    pub fn is_at_rest(&self) -> bool {
        self.slots.is_empty() && self.untold == 0
    }

    /// Writes what has arrived into `status`.
    pub fn tell(&mut self, status: &mut Message) {
        let [_, _, oldest] = self.told;
        let from = oldest.max(self.base);
        let of_copies = self.copies.told[TOLD - 1];
        self.copies.forget_until(of_copies);
        let copies = (self.copies.from..self.copies.until()).zip(self.copies.arrived.iter().map(|it| !it));
        let copies_until =
            note_gaps(status, true, GAPS_OF_COPIES, copies).unwrap_or_else(|| self.copies.until());
        let slots = self.slots.range((from - self.base) as usize..);
        let missing = (from..).zip(slots.map(|slot| matches!(slot.state, State::Missing)));
        let until = note_gaps(status, false, GAPS, missing).unwrap_or_else(|| self.until());
        status.base = self.base as u32;
        status.new = Span { from: from as u32, until: until as u32 };
        status.copies = Span { from: self.copies.from as u32, until: copies_until as u32 };
        self.told = [until, self.told[0], self.told[1]];
        self.copies.told = [copies_until, self.copies.told[0], self.copies.told[1]];
        (self.has_news, self.untold) = (false, self.untold.saturating_sub(1));
    }
}

/// Writes the gaps of `numbers`, each with whether it is missing, into `status`, until that has `most` in all. Returns where the
/// first one begins that finds no room.
fn note_gaps(
    status: &mut Message,
    is_of_copies: bool,
    most: usize,
    numbers: impl Iterator<Item = (u64, bool)>,
) -> Option<u64> {
    let mut open: Option<(u64, u16)> = None;
    let close = |open: &mut Option<(u64, u16)>, status: &mut Message| {
        let (start, length) = open.take()?;
        let has_room = status.gaps.iter().count() < most;
        let is_told = has_room && status.gaps.push(Gap { is_of_copies, start: start as u32, length });
        (!is_told).then_some(start)
    };
    for (number, is_missing) in numbers {
        open = match open {
            Some((start, length)) if is_missing && length < u16::MAX => Some((start, length + 1)),
            mut before => {
                if let Some(start) = close(&mut before, status) {
                    return Some(start);
                }
                is_missing.then_some((number, 1))
            }
        };
    }
    close(&mut open, status)
}
