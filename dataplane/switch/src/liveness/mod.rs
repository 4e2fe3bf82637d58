//! Whether a link lives, and so carries data: a session of BFD with the other end, in hellos ([`wire::grants::hello`]).
//! `docs/liveness.md` tells its states.
//!
//! A lossless link is up only if both directions are, because each carries the other's pauses. The end that hears
//! nothing says so in the direction that works.

mod balance;
mod event;
pub(crate) mod figures;
mod link;
mod session;
mod settings;

pub use event::{DownCause, LinkChange, LinkState, LivenessEvent};
pub use settings::{Hellos, Liveness, Proof};

use crate::service::{FrameRoom, Outgoing, Service};
use balance::Balance;
use link::Link;
use serde::{Deserialize, Serialize};
use session::Session;
use units::{Interval, Nanos};
use wire::bfd::State;
use wire::ethernet::MacAddress;
use wire::grants::{Message, hello};

/// The silence after which an end that is down takes hellos with lower numbers again: the clock of the other end may
/// have been set back while it was off. From then on this end has a new number in the session, which no recorded hello
/// names.
const FORGET_AFTER: Interval = Interval::from_secs(10);
/// The least time between two events of a kind that each hello can cause.
const REPEAT: Interval = Interval::from_secs(1);
/// Events that wait to be taken; one call makes three at most.
const EVENTS: usize = 4;
/// The purpose of the numbers that the key draws.
const PURPOSE: [u8; 8] = *b"liveness";

/// Totals of data frames through a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFrames {
    /// All that were sent.
    pub sent: u64,
    /// All that were received.
    pub received: u64,
}

/// The counters of liveness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivenessCounters {
    /// Hellos sent.
    pub sent: u64,
    /// Hellos taken.
    pub received: u64,
    /// Hellos with a wrong tag.
    pub forged: u64,
    /// Hellos of another link, or of this gateway.
    pub crossed: u64,
    /// Hellos whose number is not above the last one.
    pub replayed: u64,
    /// Hellos for another session, without carrier, or at an end that has no use for them.
    pub unexpected: u64,
    /// Data frames to this end that were lost while the link was up.
    pub lost: u64,
    /// Failures of the link while it was up.
    pub failures: u64,
    /// Turns in which a detection would have expired, but for the lateness of this end.
    pub deferred: u64,
}

/// Liveness of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessReport {
    /// The state of the link.
    pub state: LinkState,
    /// The state of the session; down without hellos.
    pub session: State,
    /// Why it stopped to be up the last time.
    pub cause: Option<DownCause>,
    /// The other end, with which the session was up first.
    pub peer: Option<hello::Place>,
    /// The totals in its last hello.
    pub far: DataFrames,
    /// The time without a hello after which the link has failed.
    pub detection: Interval,
    /// The time for which it had, or has, to prove itself after the last failure.
    pub wait: Interval,
    /// The counters.
    pub counters: LivenessCounters,
}

/// Watches whether a link lives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Monitor {
    settings: Liveness,
    seed: u64,
    has_carrier: bool,
    session: Session,
    link: Link,
    balance: Balance,
    here: DataFrames,
    far: DataFrames,
    /// The other end. Before the session is up, it may be a recording that speaks.
    peer: Option<hello::Place>,
    /// Whether a hello of another link came after the last one of this link.
    is_crossed: bool,
    /// The number and time of the last hello taken.
    heard: (u64, Nanos),
    /// The number of the last hello sent.
    number: u64,
    /// When this end has read again what came while it was late.
    caught_up: Nanos,
    /// Whether the delay of the link allows it to return.
    may_return: bool,
    cause: Option<DownCause>,
    /// Lost frames of which no event has told, and when the next events of their kinds may.
    untold: u64,
    next_lost: Nanos,
    next_crossed: Nanos,
    events: [Option<LivenessEvent>; EVENTS],
    counters: LivenessCounters,
}

impl Monitor {
    /// A link without carrier, with jitter and numbers by `seed`.
    pub fn new(settings: Liveness, seed: u64) -> Self {
        let mut session = Session::new(interval_of(&settings), settings.hold_off, seed);
        if settings.is_drained {
            session.hold(Nanos::ZERO, true);
        }
        Self {
            settings,
            seed,
            has_carrier: false,
            session,
            link: Link::default(),
            balance: Balance::default(),
            here: DataFrames::default(),
            far: DataFrames::default(),
            peer: None,
            is_crossed: false,
            heard: (0, Nanos::ZERO),
            number: 0,
            caught_up: Nanos::ZERO,
            may_return: true,
            cause: None,
            untold: 0,
            next_lost: Nanos::ZERO,
            next_crossed: Nanos::ZERO,
            events: [None; EVENTS],
            counters: LivenessCounters::default(),
        }
    }

    /// Applies new settings. The session begins anew if they have another key, place or proof.
    pub fn configure(&mut self, now: Nanos, settings: Liveness) {
        let old = core::mem::replace(&mut self.settings, settings);
        if old.is_drained != settings.is_drained {
            self.drain(now);
        }
        let same_session = match (old.proof, settings.proof) {
            (Proof::Hellos(old), Proof::Hellos(new)) => (old.place, old.key) == (new.place, new.key),
            (old, new) => old == new,
        };
        if same_session {
            self.session.configure(now, interval_of(&settings), settings.hold_off);
            return;
        }
        self.session = Session::new(interval_of(&settings), settings.hold_off, self.seed);
        (self.peer, self.heard) = (None, (0, now));
        if self.settings.is_drained {
            self.session.hold(now, true);
        }
        self.begin_session(now);
        // It fails for a moment even if the carrier is the new proof, so that both ends begin anew.
        self.settle(now, Some(DownCause::Reconfigured));
    }

    /// Notes whether there is a carrier. Before the first call there is none.
    pub fn carrier(&mut self, now: Nanos, is_up: bool) {
        if core::mem::replace(&mut self.has_carrier, is_up) == is_up {
            return;
        }
        match is_up {
            true => self.begin_session(now),
            false => self.session.lose_path(now),
        }
        self.settle(now, Some(DownCause::NoCarrier));
    }

    /// Notes whether the delay of the link allows it to return, before [`Monitor::turn`]. Until then it does.
    pub fn delay(&mut self, may_return: bool) {
        self.may_return = may_return;
    }

    /// Whether its delay allows it to return.
    pub fn may_return(&self) -> bool {
        self.may_return
    }

    /// Whether the delay is to be measured anew, because the link has come back. Says so once.
    pub fn measures_anew(&mut self) -> bool {
        core::mem::take(&mut self.link.measures_anew)
    }

    /// Whether there is a carrier, as it knows.
    pub fn has_carrier(&self) -> bool {
        self.has_carrier
    }

    /// Drains this end, or puts it to use again. Then the other end may be another one.
    fn drain(&mut self, now: Nanos) {
        let is_drained = self.settings.is_drained;
        self.session.hold(now, is_drained);
        self.peer = self.peer.filter(|_| is_drained);
        self.settle(now, Some(DownCause::Drained));
    }

    /// Notes the totals of data frames: before each [`Monitor::hello`] and each hello to send.
    pub fn totals(&mut self, here: DataFrames) {
        self.here = here;
    }

    /// Takes a hello that was read at `now`.
    pub fn hello(&mut self, now: Nanos, hello: &hello::Message) {
        let hellos = match self.settings.proof {
            Proof::Hellos(hellos) if self.has_carrier => hellos,
            _ => {
                self.counters.unexpected += 1;
                return;
            }
        };
        let Hellos { place, key, overtaken, .. } = hellos;
        if !hello.is_sealed_by(&key) {
            self.counters.forged += 1;
            return;
        }
        if hello.place.chassis == place.chassis || self.peer.is_some_and(|it| it != hello.place) {
            self.counters.crossed += 1;
            self.is_crossed = true;
            if self.next_crossed <= now {
                self.next_crossed = now + REPEAT;
                self.tell(now, LinkChange::Crossed { place: hello.place });
            }
            return;
        }
        if hello.number <= self.heard.0 && !self.forgets(now) {
            self.counters.replayed += 1;
            return;
        }
        let was_up = self.session.state == State::Up;
        if !self.session.hear(now, &hello.bfd) {
            self.counters.unexpected += 1;
            return;
        }
        self.counters.received += 1;
        (self.is_crossed, self.heard) = (false, (hello.number, now));
        self.far = DataFrames { sent: hello.sent, received: hello.received };
        if !was_up {
            self.balance = Balance::default();
        }
        if self.session.state == State::Up {
            self.peer = Some(hello.place);
        }
        let frames = self.balance.hear(hello.sent, self.here.received, overtaken);
        self.counters.lost = self.counters.lost.saturating_add(frames);
        self.untold = self.untold.saturating_add(frames);
        if self.untold > 0 && self.next_lost <= now {
            self.next_lost = now + REPEAT;
            self.tell(now, LinkChange::Lost { frames: self.untold });
            self.untold = 0;
        }
        let is_drained = hello.bfd.state == State::AdminDown;
        self.settle(now, Some(if is_drained { DownCause::PeerDrained } else { DownCause::PeerDown }));
    }

    /// Notes that this end took longer than promised. Hellos that came meanwhile have yet to be read.
    pub fn late(&mut self, now: Nanos) {
        self.caught_up = now + self.session.receive_interval();
    }

    /// Ends a turn, in which the hellos of the burst have been taken. `burst_was_full` says whether more may wait to be
    /// received. Then the other end may well have been in time.
    pub fn turn(&mut self, now: Nanos, burst_was_full: bool) {
        let is_silent = self.session.expires <= now;
        // Neither a ring that is full for ever nor a core that is late for ever hides a cut.
        let may_be_unread = burst_was_full && now < self.session.expires + self.session.detection();
        if is_silent && (may_be_unread || now < self.detected_at()) {
            self.counters.deferred += 1;
        } else if is_silent {
            self.session.expire(now);
        }
        let expired = if self.is_crossed { DownCause::CrossedCable } else { DownCause::DetectionExpired };
        self.settle(now, Some(expired));
    }

    /// When the other end is taken to be gone. Turns that are late again and again put it off by one detection time at
    /// most, or a busy core would never see a cut.
    fn detected_at(&self) -> Nanos {
        let Session { expires, .. } = self.session;
        expires.max(self.caught_up.min(expires + self.session.detection()))
    }

    /// When [`Monitor::turn`] is to be called at the latest. Hellos are due apart from it.
    pub fn deadline(&self) -> Nanos {
        self.detected_at().min(self.link.deadline())
    }

    /// The state of the link. What waits for one that carries no data and is not held can go elsewhere.
    pub fn state(&self) -> LinkState {
        self.link.state
    }

    /// The oldest event that has not been taken. Those for which there was no room are lost.
    pub fn take_event(&mut self) -> Option<LivenessEvent> {
        let event = self.events[0].take();
        self.events.rotate_left(1);
        event
    }

    /// Its report.
    pub fn report(&self) -> LivenessReport {
        LivenessReport {
            state: self.link.state,
            session: self.session.state,
            cause: self.cause,
            peer: self.peer,
            far: self.far,
            detection: self.session.detection(),
            wait: self.link.wait,
            counters: self.counters,
        }
    }

    /// Forgets the last number if this end is down and has heard nothing for a while. Returns whether it does.
    fn forgets(&mut self, now: Nanos) -> bool {
        let forgets = self.session.state == State::Down && now.since(self.heard.1) > FORGET_AFTER;
        if forgets {
            self.heard = (0, now);
            self.begin_session(now);
        }
        forgets
    }

    fn begin_session(&mut self, now: Nanos) {
        if let (Proof::Hellos(hellos), true) = (self.settings.proof, self.has_carrier) {
            self.session.begin(now, hellos.key.draw(PURPOSE, self.seed, now) as u32);
        }
    }

    /// Judges the link. If it does not live any more, `cause` is why.
    fn settle(&mut self, now: Nanos, cause: Option<DownCause>) {
        let from = self.link.state;
        let says = self.session.peer.map(|peer| peer.state);
        let is_drained = self.settings.is_drained || says == Some(State::AdminDown);
        let is_proved = matches!(self.settings.proof, Proof::Carrier) || self.session.state == State::Up;
        let lives = self.has_carrier && is_proved && cause != Some(DownCause::Reconfigured);
        self.link.judge(now, &self.settings, (lives, is_drained, self.may_return));
        let to = self.link.state;
        if from == to {
            return;
        }
        if from == LinkState::Up {
            self.cause = cause;
            self.counters.failures += u64::from(to != LinkState::Drained);
        }
        let cause = self.cause.filter(|_| !lives);
        self.tell(now, LinkChange::State { from, to, cause });
    }

    fn tell(&mut self, at: Nanos, change: LinkChange) {
        if let Some(place) = self.events.iter_mut().find(|place| place.is_none()) {
            *place = Some(LivenessEvent { at, change });
        }
    }
}

/// The interval of hellos; the longest one where there are none.
fn interval_of(settings: &Liveness) -> Interval {
    match settings.proof {
        Proof::Carrier => *Liveness::INTERVALS.end(),
        Proof::Hellos(hellos) => hellos.interval,
    }
}

impl Service for Monitor {
    fn frame_due(&self) -> Nanos {
        match self.settings.proof {
            Proof::Hellos(_) if self.has_carrier => self.session.due(),
            _ => Nanos::NEVER,
        }
    }

    fn next_frame(
        &mut self,
        now: Nanos,
        source: MacAddress,
        _: &Outgoing,
        frame: &mut FrameRoom,
    ) -> Option<usize> {
        let Proof::Hellos(Hellos { place, key, .. }) = self.settings.proof else { return None };
        let DataFrames { sent, received } = self.here;
        let number = now.0.max(self.number.saturating_add(1));
        let bfd = self.session.packet(now);
        let hello = hello::Message { bfd, place, number, sent, received, tag: 0 }.sealed(&key);
        self.number = number;
        Message::Hello(hello).emit(source, frame).ok()
    }

    fn sent(&mut self, start: Nanos) {
        self.counters.sent += 1;
        self.session.sent(start);
    }
}

#[cfg(test)]
mod tests;
