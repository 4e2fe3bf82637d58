//! The session of a link: BFD in asynchronous mode (RFC 5880 sections 6.8.1 to 6.8.7), without echoes, demand mode and
//! authentication. Both ends are active.

use super::settings::Liveness;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::bfd::{Diagnostic, Packet, State};

/// The least interval of packets while the session is not up (section 6.8.3).
const SLOW: Interval = Interval::from_secs(1);
/// The most that jitter takes off an interval, in percent (section 6.8.7).
const JITTER: u64 = 25;

/// A session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Session {
    /// `bfd.SessionState`.
    pub state: State,
    diagnostic: Diagnostic,
    /// `bfd.DesiredMinTxInterval` while it is up, and `bfd.RequiredMinRxInterval`.
    interval: Interval,
    /// The one before, until the other end has confirmed that it knows `interval`.
    before: Option<Interval>,
    /// The time after a failure during which it does not slow down, so that it can be up again soon.
    haste: Interval,
    hasty_until: Nanos,
    /// `bfd.LocalDiscr`.
    mine: u32,
    /// The last packet of the other end, for the detection time: `bfd.RemoteDiscr`, `bfd.RemoteMinRxInterval`, and so
    /// on.
    pub peer: Option<Packet>,
    /// When the detection time has passed; never without a peer.
    pub expires: Nanos,
    sent: Nanos,
    due: Nanos,
    /// Whether its packets poll.
    polls: bool,
    /// Whether the other end polls, and has no answer yet.
    finishes: bool,
    jitter: Pcg32,
}

impl Session {
    /// A session that is down, with jitter by `seed`.
    pub fn new(interval: Interval, haste: Interval, seed: u64) -> Self {
        Self {
            state: State::Down,
            diagnostic: Diagnostic::NONE,
            interval,
            before: None,
            haste,
            hasty_until: Nanos::ZERO,
            mine: 0,
            peer: None,
            expires: Nanos::NEVER,
            sent: Nanos::ZERO,
            due: Nanos::NEVER,
            polls: false,
            finishes: false,
            jitter: Pcg32::seed_from_u64(seed),
        }
    }

    /// Begins to send, under the number `mine` (section 6.3 permits that it changes), and forgets the other end.
    pub fn begin(&mut self, now: Nanos, mine: u32) {
        (self.mine, self.due) = (mine.max(1), now);
        self.forget_peer();
    }

    /// Applies new intervals. The other end is told, and until it confirms the safer one of old and new holds.
    pub fn configure(&mut self, now: Nanos, interval: Interval, haste: Interval) {
        self.haste = haste;
        if interval != self.interval {
            self.before = (self.state == State::Up).then_some(self.interval);
            self.interval = interval;
            (self.polls, self.due) = (true, self.due.min(now));
        }
    }

    /// Takes a packet (section 6.8.6). Returns `false` if it is for another session.
    pub fn hear(&mut self, now: Nanos, packet: &Packet) -> bool {
        if packet.yours != 0 && packet.yours != self.mine {
            return false;
        }
        self.peer = Some(*packet);
        if packet.finishes {
            (self.polls, self.before) = (false, None);
        }
        self.finishes |= packet.polls;
        self.expires = now + self.detection();
        self.due = self.due.min(self.sent + self.transmit_interval(now));
        match (self.state, packet.state) {
            (State::Down, State::Down) => self.enter(now, State::Init, Diagnostic::NONE),
            (State::Down | State::Init, State::Init) | (State::Init, State::Up) => {
                self.enter(now, State::Up, Diagnostic::NONE);
            }
            (State::Init | State::Up, State::AdminDown) | (State::Up, State::Down) => {
                self.enter(now, State::Down, Diagnostic::NEIGHBOR_DOWN);
            }
            _ => {}
        }
        true
    }

    /// Takes the other end to be gone, because its detection time has passed (section 6.8.4).
    pub fn expire(&mut self, now: Nanos) {
        self.forget_peer();
        if matches!(self.state, State::Init | State::Up) {
            self.enter(now, State::Down, Diagnostic::DETECTION_EXPIRED);
        }
    }

    /// Takes the path to be down.
    pub fn lose_path(&mut self, now: Nanos) {
        self.forget_peer();
        if self.state != State::AdminDown {
            self.enter(now, State::Down, Diagnostic::PATH_DOWN);
        }
    }

    /// Holds the session down, or releases it (section 6.8.16).
    pub fn hold(&mut self, now: Nanos, is_held: bool) {
        match is_held {
            true => self.enter(now, State::AdminDown, Diagnostic::ADMIN_DOWN),
            false => self.enter(now, State::Down, Diagnostic::NONE),
        }
    }

    fn forget_peer(&mut self) {
        (self.peer, self.expires) = (None, Nanos::NEVER);
    }

    /// Changes the state, and lets the other end know at once. The interval changes with it, so packets poll (section
    /// 6.8.3).
    fn enter(&mut self, now: Nanos, state: State, diagnostic: Diagnostic) {
        if self.state == State::Up {
            self.hasty_until = now + self.haste;
        }
        (self.state, self.diagnostic, self.before) = (state, diagnostic, None);
        (self.polls, self.due) = (true, now);
    }

    /// `bfd.DesiredMinTxInterval`. RFC 5880 has a session slow down at once; here `haste` precedes.
    fn desired_tx(&self, now: Nanos) -> Interval {
        match self.state == State::Up || now < self.hasty_until {
            true => self.interval,
            false => self.interval.max(SLOW),
        }
    }

    /// The agreed interval of the packets that this end sends (section 6.8.2).
    fn transmit_interval(&self, now: Nanos) -> Interval {
        let required = match self.peer.map(|peer| peer.required_rx) {
            // It wants none.
            Some(Interval::ZERO) => Interval(u64::MAX),
            required => required.unwrap_or_default(),
        };
        let desired = self.desired_tx(now);
        self.before.map_or(desired, |before| desired.min(before)).max(required)
    }

    /// The agreed interval of the packets that it receives.
    pub fn receive_interval(&self) -> Interval {
        let desired = self.peer.map_or(Interval::ZERO, |peer| peer.desired_tx);
        self.interval.max(self.before.unwrap_or_default()).max(desired)
    }

    /// The detection time (section 6.8.4).
    pub fn detection(&self) -> Interval {
        self.receive_interval() * self.peer.map_or(Liveness::MULTIPLIER, |peer| peer.multiplier).into()
    }

    /// When the next packet is due.
    pub fn due(&self) -> Nanos {
        if self.finishes { Nanos::ZERO } else { self.due }
    }

    /// The packet that is due at `now`.
    pub fn packet(&self, now: Nanos) -> Packet {
        Packet {
            state: self.state,
            diagnostic: self.diagnostic,
            polls: self.polls && !self.finishes,
            finishes: self.finishes,
            is_independent: true,
            multiplier: Liveness::MULTIPLIER,
            mine: self.mine,
            yours: self.peer.map_or(0, |peer| peer.mine),
            desired_tx: self.desired_tx(now),
            required_rx: self.interval,
            required_echo_rx: Interval::ZERO,
        }
    }

    /// Notes that a packet left at `start`.
    pub fn sent(&mut self, start: Nanos) {
        let interval = self.transmit_interval(start).0;
        let early = interval / 100 * (u64::from(self.jitter.next_u32()) % (JITTER + 1));
        (self.sent, self.due, self.finishes) = (start, start + Interval(interval - early), false);
    }
}
