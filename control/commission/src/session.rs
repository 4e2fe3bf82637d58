//! The session with the other end.

use crate::step::{Counts, Phase};
use serde::Serialize;
use units::{Interval, Nanos};
use wire::ethernet::{self, MacAddress};
use wire::grants::session::Message;
use wire::grants::{self};
use wire::rate_feedback::Key;

/// The time between two messages.
const INTERVAL: Interval = Interval::from_millis(50);
/// Without a message and a test frame for this long the other end is gone.
pub const SILENCE: Interval = Interval::from_millis(500);
/// Without a message for this long it is gone, whatever else arrives: frames may circulate in a loop.
const MUTE: Interval = Interval::from_secs(5);

/// Messages that changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Those with a wrong tag.
    pub forged: u64,
    /// Messages that had come before.
    pub replayed: u64,
    /// Those of other sessions.
    pub strange: u64,
}

/// One end of a session.
#[derive(Clone, Debug)]
pub struct Session {
    key: Key,
    mine: u64,
    number: u64,
    /// The number of the other end. Until `is_proven`, a guess.
    pub yours: u64,
    /// Whether the other end has named the number of this one, which no recorded message can.
    pub is_proven: bool,
    /// The number of its last message.
    last: u64,
    /// When that came.
    pub heard_at: Nanos,
    /// When the last test frame of the other end came.
    pub frame_at: Nanos,
    /// Its address.
    pub address: Option<MacAddress>,
    /// Where it is.
    pub step: u8,
    pub phase: Phase,
    pub counts: Counts,
    pub ignored: Ignored,
    due: Nanos,
}

impl Session {
    /// A session of the end that has drawn `mine`, not zero, and has heard no one.
    pub fn new(key: Key, mine: u64) -> Self {
        Self {
            key,
            mine,
            number: 0,
            yours: 0,
            is_proven: false,
            last: 0,
            heard_at: Nanos::ZERO,
            frame_at: Nanos::ZERO,
            address: None,
            step: 0,
            phase: Phase::Ready,
            counts: Counts::default(),
            ignored: Ignored::default(),
            due: Nanos::ZERO,
        }
    }

    /// The number of this end.
    pub fn mine(&self) -> u64 {
        self.mine
    }

    /// Takes a frame. Returns whether it is a message of some session.
    pub fn hear(&mut self, now: Nanos, frame: &[u8]) -> bool {
        if !grants::is_frame(frame) {
            return false;
        }
        let message = grants::Message::parse(&frame[ethernet::HEADER_LEN..]);
        let (Ok(grants::Message::Session(message)), Ok(view)) = (message, ethernet::View::parse(frame))
        else {
            return false;
        };
        self.judge(now, &message, view.source());
        true
    }

    fn judge(&mut self, now: Nanos, message: &Message, from: MacAddress) {
        let is_mine = message.yours == self.mine;
        let is_of_this = match self.is_proven {
            true => is_mine && message.mine == self.yours,
            false => is_mine || message.yours == 0,
        };
        if !message.is_sealed_by(&self.key) {
            self.ignored.forged += 1;
        } else if message.mine == self.mine || !is_of_this {
            self.ignored.strange += 1;
        } else if message.mine == self.yours && message.number <= self.last {
            self.ignored.replayed += 1;
        } else {
            // Before a proof, one recorded message may take the place of another: that delays the meeting, and no
            // more.
            (self.yours, self.last, self.heard_at) = (message.mine, message.number, now);
            (self.is_proven, self.address) = (is_mine, Some(from));
            self.step = message.step;
            self.phase = Phase::numbered(message.phase).unwrap_or(self.phase);
            self.counts = message.figures;
        }
    }

    /// Whether the other end was there and is gone.
    pub fn is_silent(&self, now: Nanos) -> bool {
        let last = self.heard_at.max(self.frame_at);
        self.is_proven && (now.since(last) > SILENCE || now.since(self.heard_at) > MUTE)
    }

    /// Makes the next message due at once.
    pub fn hurry(&mut self) {
        self.due = Nanos::ZERO;
    }

    /// The message that is due, if one is.
    pub fn message(
        &mut self,
        now: Nanos,
        step: u8,
        phase: Phase,
        counts: &Counts,
    ) -> Option<grants::Message> {
        if now < self.due {
            return None;
        }
        self.due = now + INTERVAL;
        self.number += 1;
        let (mine, yours, number) = (self.mine, self.yours, self.number);
        let message = Message { mine, yours, number, step, phase: phase as u8, figures: *counts, tag: 0 };
        Some(grants::Message::Session(message.sealed(&self.key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key([7; 16]);
    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const NOW: Nanos = Nanos(1_000_000_000);

    fn frame(message: grants::Message) -> Vec<u8> {
        let mut out = vec![0; 200];
        let length = message.emit(MAC, &mut out).unwrap();
        out.truncate(length);
        out
    }

    fn say(session: &mut Session) -> Vec<u8> {
        session.hurry();
        frame(session.message(NOW, 1, Phase::Ready, &Counts::default()).unwrap())
    }

    /// Two ends that have proved themselves to each other.
    fn met() -> (Session, Session) {
        let (mut a, mut b) = (Session::new(KEY, 1), Session::new(KEY, 2));
        for _ in 0..2 {
            let said = say(&mut a);
            b.hear(NOW, &said);
            let said = say(&mut b);
            a.hear(NOW, &said);
        }
        (a, b)
    }

    #[test]
    fn two_ends_prove_themselves_and_a_message_comes_every_interval() {
        let (mut a, b) = met();
        assert!(a.is_proven && b.is_proven);
        assert!(a.message(NOW + Interval::from_millis(49), 1, Phase::Ready, &Counts::default()).is_none());
        assert!(a.message(NOW + INTERVAL, 1, Phase::Ready, &Counts::default()).is_some());
        assert!(!a.is_silent(NOW + SILENCE) && a.is_silent(NOW + SILENCE + Interval(1)));
    }

    #[test]
    fn a_stranger_with_another_key_proves_nothing() {
        let (mut a, mut b) = (Session::new(KEY, 1), Session::new(Key([8; 16]), 2));
        for _ in 0..3 {
            let said = say(&mut b);
            assert!(a.hear(NOW, &said), "it ends here all the same");
        }
        assert!(!a.is_proven && a.yours == 0);
        assert_eq!(a.ignored.forged, 3);
    }

    #[test]
    fn a_recorded_message_changes_nothing_once_the_ends_have_met() {
        let (mut a, mut b) = met();
        let recorded = say(&mut b);
        a.hear(NOW, &recorded);
        let before = (a.last, a.heard_at);
        a.hear(NOW + SILENCE, &recorded);
        assert_eq!((a.last, a.heard_at, a.ignored.replayed), (before.0, before.1, 1));
        // One of an earlier run of the other end, which names no one or an earlier run of this one.
        let (mut old, mut named) = (Session::new(KEY, 9), Session::new(KEY, 9));
        named.yours = 77;
        a.hear(NOW, &say(&mut old));
        a.hear(NOW, &say(&mut named));
        assert_eq!((a.yours, a.ignored.strange), (2, 2));
    }

    #[test]
    fn a_recorded_message_cannot_keep_the_ends_apart() {
        let (mut a, mut b, mut old) = (Session::new(KEY, 1), Session::new(KEY, 2), Session::new(KEY, 9));
        a.hear(NOW, &say(&mut old));
        for _ in 0..2 {
            a.hear(NOW, &say(&mut b));
            b.hear(NOW, &say(&mut a));
        }
        a.hear(NOW, &say(&mut b));
        assert!(a.is_proven && a.yours == 2);
    }

    #[test]
    fn an_end_does_not_take_itself_for_the_other_one() {
        let mut a = Session::new(KEY, 1);
        let said = say(&mut a);
        a.hear(NOW, &said);
        assert_eq!((a.is_proven, a.ignored.strange), (false, 1));
    }
}
