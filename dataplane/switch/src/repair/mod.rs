//! Repair of what a link loses: both of its ends keep what they have sent, tell each other what has arrived, and send
//! again what has not. `docs/repair.md` tells what it is for.

mod change;
mod far;
pub(crate) mod figures;
mod near;
mod number;
mod settings;

pub(crate) use change::Standing;
pub use change::{RepairChange, RepairLoss};
pub(crate) use far::Arrival;
pub use far::FarCounters;
pub use near::NearCounters;
pub use settings::{Repair, RepairError};

use crate::frame::Frame;
use crate::ledger::Volume;
use crate::queue::Queued;
use crate::service::{FrameRoom, Outgoing, Service};
use far::Far;
use near::{Near, Retention};
use serde::{Deserialize, Serialize};
use units::{Bytes, Interval, Nanos, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::grants;
use wire::grants::repair::Message;
use wire::repair::Shim;

/// Own statuses whose times are remembered, to measure the round trip: those of 400 ms.
const TIMES: usize = 1 << 12;

/// A handle to a frame: an mbuf has the size of a pointer.
type Handle = core::ptr::NonNull<u8>;

impl Repair {
    /// Memory of an end for each of [`Repair::frames`], besides the frames themselves.
    pub const NUMBER: Bytes = Bytes((Near::<Handle>::NUMBER + Far::<Queued<Handle>>::NUMBER) as u64);
}

/// The counters of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairCounters {
    /// Statuses sent.
    pub sent: u64,
    /// Statuses taken.
    pub received: u64,
    /// Statuses with a wrong tag, of another session, or that no true peer sends.
    pub refused: u64,
    /// Sessions of the other end.
    pub sessions: u64,
    /// Times at which the other end was silent for too long.
    pub outages: u64,
}

/// One end of a repaired link, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Whether the other end repairs as well, so that frames are numbered.
    pub is_up: bool,
    /// Frames that are kept until the other end has them, with their shims.
    pub kept: Volume,
    /// Frames that came in and wait for lost ones, by the priority of their group.
    pub held: [Volume; Priority::COUNT],
    /// Frames that the other end has sent and that have not come.
    pub missing: u64,
    /// From a status to one that speaks of it.
    pub round_trip: Interval,
    /// Statuses.
    pub counters: RepairCounters,
    /// Frames that leave.
    pub near: NearCounters,
    /// Frames that come in.
    pub far: FarCounters,
}

/// A session that may be one of the other end, but has not answered yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Candidate {
    session: u32,
    /// The number of its last status.
    number: u32,
    /// The first own status that speaks to it.
    asked_by: u32,
}

/// One end of a repaired link: it keeps frames `F` that have left, and holds frames `H` that came in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct End<F, H> {
    settings: Repair,
    /// Its session; 0 before its first status.
    session: u32,
    /// The session of the other end; 0 as long as it is unknown.
    peer: u32,
    candidate: Option<Candidate>,
    /// The first own status since it speaks to the other end, and whether that has heard it, or a later one.
    echoes_from: u32,
    is_heard: bool,
    /// Whether the other end said that it is up.
    peer_is_up: bool,
    near: Near<F>,
    far: Far<H>,
    /// The number of the last status of the other end, and when it came.
    heard: (u32, Nanos),
    /// The number of the next own status, and when the last one left.
    number: u32,
    last_sent: Nanos,
    sent_at: Box<[Nanos]>,
    /// From a status to the one that speaks of it.
    round_trip: Interval,
    pub counters: RepairCounters,
}

impl<F: Frame, H> End<F, H> {
    /// An end that has heard nothing yet.
    pub fn new(settings: Repair) -> Self {
        let retention = Retention { bytes: settings.retention, frames: settings.frames as usize };
        Self {
            settings,
            session: 0,
            peer: 0,
            candidate: None,
            echoes_from: 0,
            is_heard: false,
            peer_is_up: false,
            near: Near::new(retention),
            far: Far::new(settings.frames as usize),
            heard: (0, Nanos::ZERO),
            // Zero means that none was heard.
            number: 1,
            last_sent: Nanos::ZERO,
            sent_at: vec![Nanos::ZERO; TIMES].into(),
            round_trip: settings.round_trip,
            counters: RepairCounters::default(),
        }
    }

    fn epoch(&self) -> u8 {
        self.session as u8
    }

    /// Whether both ends have met, so that frames may have shims.
    pub fn is_up(&self) -> bool {
        self.peer != 0 && self.is_heard
    }

    /// From when on the other end is silent: it owes a status since a frame can have arrived there.
    fn silent_from(&self) -> Nanos {
        let Some(oldest) = self.near.oldest() else { return Nanos::NEVER };
        self.heard.1.max(oldest + self.round_trip) + self.settings.period * Repair::SILENT_AFTER
    }

    /// Whether a new frame may leave at `now`, numbered or, where the other end does not repair, as it is.
    pub fn takes(&self, now: Nanos) -> bool {
        !self.is_up() || (now < self.silent_from() && self.near.has_room())
    }

    /// Whether there is room to keep one more.
    pub fn has_room(&self) -> bool {
        self.near.has_room()
    }

    /// Numbers a new frame of `bucket`, which has room for a shim at `shim_at`, and keeps it. The end must be [up](End::is_up)
    /// and [take](End::takes) it.
    pub fn send(&mut self, start: Nanos, bucket: u16, shim_at: u8, frame: &mut F) {
        let epoch = self.epoch();
        self.near.send(start, epoch, bucket, shim_at, frame);
    }

    /// When the next frame is to be sent again.
    pub fn again_due(&self) -> Nanos {
        if self.is_up() { self.near.again_due() } else { Nanos::NEVER }
    }

    /// The next frame to send again, with its first bit at `start`.
    pub fn send_again(&mut self, start: Nanos) -> Option<F> {
        let (epoch, round_trip) = (self.epoch(), self.round_trip);
        self.near.send_again(start, epoch, round_trip)
    }

    /// Judges a frame that came in with a shim.
    pub fn receive(&mut self, shim: &Shim) -> Arrival {
        if self.peer == 0 || shim.epoch != self.peer as u8 {
            // Its numbers mean nothing here. A new frame may go on; one that is sent again may have come before.
            return if shim.copy.is_none() { Arrival::Passes } else { Arrival::Duplicate };
        }
        match self.far.receive(shim) {
            Arrival::Waits if !self.settings.keeps_order => {
                self.far.let_go(shim);
                Arrival::Passes
            }
            arrival => arrival,
        }
    }

    /// Holds the frame that was just judged to wait.
    pub fn hold(&mut self, shim: &Shim, frame: H) {
        self.far.hold(shim, frame);
    }

    /// Notes that the frame which was just judged to wait goes on, or is dropped.
    pub fn let_go(&mut self, shim: &Shim) {
        self.far.let_go(shim);
    }

    /// Whether [`End::take_released`] may give a frame.
    pub fn may_release(&self) -> bool {
        self.far.may_release()
    }

    /// The next frame that waited and may go on: to be called after each frame and each status, and in each turn while
    /// [there may be one](End::may_release).
    pub fn take_released(&mut self) -> Option<H> {
        self.far.take_released()
    }

    /// Frames that the other end has sent and that have not come.
    pub fn missing(&self) -> u64 {
        self.far.missing()
    }

    /// From when on this end cannot know how many frames are missing: never while none is on its way.
    pub fn blind_from(&self) -> Nanos {
        if self.peer == 0 || self.far.peer_rests() {
            return Nanos::NEVER;
        }
        self.heard.1 + self.settings.period * Repair::SILENT_AFTER
    }

    /// Gives up all that is missing, so that everything that is held is [released](End::take_released).
    pub fn give_up(&mut self) {
        self.far.give_up();
    }

    /// Its settings.
    pub fn settings(&self) -> Repair {
        self.settings
    }

    /// Takes a status that came at `now`. Returns whether it did.
    pub fn hear(&mut self, now: Nanos, status: &Message) -> bool {
        let is_sealed = self.settings.key.is_none_or(|key| status.is_sealed_by(&key));
        let is_ours = is_sealed && ![0, self.session].contains(&status.session);
        if is_ours && status.session != self.peer && !self.meet(now, status) {
            return false;
        }
        let is_taken = is_ours && self.hear_peer(now, status);
        self.counters.received += u64::from(is_taken);
        self.counters.refused += u64::from(!is_taken);
        is_taken
    }

    /// Takes a status of the session that it knows. A recorded one has an old number, or speaks of an old session of this end.
    fn hear_peer(&mut self, now: Nanos, status: &Message) -> bool {
        let is_ahead = status.number.wrapping_sub(self.heard.0).cast_signed() > 0;
        if !is_ahead || status.echo != self.session {
            return false;
        }
        let was_silent = now >= self.silent_from();
        self.note_round_trip(now, status.heard);
        let spans = (self.round_trip, self.settings.period);
        let is_taken =
            self.near.hear(now, status, was_silent, spans).is_ok() && self.far.hear(status).is_ok();
        if is_taken {
            self.is_heard = status.heard.wrapping_sub(self.echoes_from).cast_signed() >= 0;
            self.heard = (status.number, now);
            self.peer_is_up = !status.priorities.is_empty();
            // It speaks, so nobody else does.
            self.candidate = None;
        }
        is_taken
    }

    /// Meets a new session of the other end, once it has answered to what this end told it: a recorded status cannot have. Nothing
    /// of another session counts while the one that it knows speaks. Returns whether its numbers are to be taken.
    fn meet(&mut self, now: Nanos, status: &Message) -> bool {
        let is_silent = now >= self.heard.1 + Repair::REST * Repair::SILENT_AFTER;
        if self.peer != 0 && !is_silent {
            return false;
        }
        let before = self.candidate.filter(|it| it.session == status.session);
        let asked_by = before.map_or(self.number, |it| it.asked_by);
        self.candidate = Some(Candidate { session: status.session, number: status.number, asked_by });
        let has_heard = status.heard.wrapping_sub(asked_by).cast_signed() >= 0;
        if self.session == 0 || status.echo != self.session || !has_heard {
            return false;
        }
        // It has nothing of what was sent before. That goes first, a part of it in each turn.
        if !self.near.is_empty() || self.far.held() > 0 {
            self.near.abandon();
            self.far.give_up();
            return false;
        }
        self.counters.sessions += 1;
        (self.peer, self.candidate) = (status.session, None);
        (self.echoes_from, self.is_heard, self.peer_is_up) = (self.number, false, false);
        self.heard = (status.number.wrapping_sub(1), now);
        self.far.begin();
        true
    }

    fn note_round_trip(&mut self, now: Nanos, number: u32) {
        let age = self.number.wrapping_sub(number);
        if (1..=TIMES as u32).contains(&age) {
            self.round_trip = now.since(self.sent_at[number as usize % TIMES]);
        }
    }

    /// When the next status is due.
    fn status_due(&self) -> Nanos {
        let period = self.settings.period;
        let is_at_rest = self.near.is_empty() && self.far.is_at_rest() && self.far.peer_rests();
        let after = match (self.far.has_news, is_at_rest) {
            (true, _) => Interval(period.0 / 8),
            (false, true) if self.is_up() && self.peer_is_up => Repair::REST,
            (false, _) => period,
        };
        self.last_sent + after
    }

    /// The status that leaves at `now`, from the port with address `mac`.
    fn status(&mut self, now: Nanos, mac: MacAddress) -> Message {
        if self.session == 0 {
            let MacAddress([.., a, b, c, d]) = mac;
            // Two ends that begin at the same time must not have the same one.
            self.session = (now.0 as u32 ^ u32::from_be_bytes([d, c, b, a])).max(1);
        }
        let number = self.number;
        self.sent_at[number as usize % TIMES] = now;
        self.number = number.wrapping_add(1);
        self.last_sent = now;
        self.counters.sent += 1;
        let (echo, heard) = self.candidate.map_or((self.peer, self.heard.0), |it| (it.session, it.number));
        // None as long as frames leave as they are.
        let priorities = if self.is_up() { self.settings.priorities } else { PrioritySet::EMPTY };
        let session = self.session;
        let mut status = Message { priorities, number, session, echo, heard, ..Message::default() };
        self.near.tell(&mut status);
        self.far.tell(&mut status);
        match &self.settings.key {
            Some(key) => status.sealed(key),
            None => status,
        }
    }

    /// Gives up what it keeps, and what it waits for, if the other end has been silent for too long. Both begin anew then.
    pub fn turn(&mut self, now: Nanos) {
        self.near.clear();
        if now >= self.outage_at() {
            self.near.abandon();
            self.far.give_up();
            (self.session, self.peer, self.candidate) = (0, 0, None);
            self.counters.outages += 1;
        }
    }

    /// When it gives up if it hears nothing.
    fn outage_at(&self) -> Nanos {
        if self.peer != 0 { self.heard.1 + self.settings.outage + self.round_trip * 2 } else { Nanos::NEVER }
    }

    /// When it has something to do if nothing comes in, on a link that is free from `free_at` on.
    pub fn deadline(&self, free_at: Nanos) -> Nanos {
        if self.near.clears() || self.far.may_release() {
            return Nanos::ZERO;
        }
        self.status_due().min(self.again_due()).max(free_at).min(self.outage_at())
    }

    /// What events tell of it.
    pub fn standing(&self) -> Standing {
        let RepairCounters { sessions, outages, .. } = self.counters;
        Standing { is_up: self.is_up(), sessions, outages, abandoned: self.near.abandoned() }
    }

    /// Its report.
    pub fn report(&self) -> RepairReport {
        RepairReport {
            is_up: self.is_up(),
            kept: self.near.held(),
            // The port knows their priorities.
            held: Default::default(),
            missing: self.far.missing(),
            round_trip: self.round_trip,
            counters: self.counters,
            near: self.near.counters,
            far: self.far.counters,
        }
    }
}

/// Its statuses.
impl<F: Frame, H> Service for End<F, H> {
    fn frame_due(&self) -> Nanos {
        self.status_due()
    }

    fn next_frame(
        &mut self,
        now: Nanos,
        source: MacAddress,
        _: &Outgoing,
        frame: &mut FrameRoom,
    ) -> Option<usize> {
        grants::Message::Repair(self.status(now, source)).emit(source, frame).ok()
    }

    fn sent(&mut self, _: Nanos) {}
}

#[cfg(test)]
mod tests;
