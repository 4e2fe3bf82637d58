//! The rate that the other end of the link advertises, and the proof that it comes from there.
//!
//! Without a key, any host that can send into the link is believed, but none for good. A message is refused if its
//! sequence number is further ahead of the last one than the time between them allows. After some time without an
//! accepted message, any number is accepted.
//!
//! With a key, a message must be new as well. A sender draws a *session* when it starts, and its numbers grow
//! within it. It proves its session by the answer to a *challenge*: the tag of the answer covers a nonce that was
//! never used before. So messages recorded before a restart of either end stay worthless, and a sender whose clock
//! went back is accepted again after one round trip.

use crate::program::{Feedback, Lscc};
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos};
use wire::rate_feedback::{Content, Received, VERSION_FIELD};
use wire::{ParseError, Protocol, ipv4};

/// Intervals without feedback, beyond the round trip, until the limit begins to lapse.
const GRACE_INTERVALS: u64 = 5;
/// The time for which a challenge is repeated with the same nonce: twice the longest round trip of a link.
const NONCE_LASTS: Interval = Interval::from_secs(2);
/// Domain of drawn nonces.
const NONCE: [u8; 8] = *b"nonce\0\0\0";
/// The clocks of the two ends differ by less than one part in this number.
const DRIFT: u64 = 1_000;

/// Counters of incoming feedback messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackCounters {
    /// Messages whose rate was adopted.
    pub accepted: u64,
    /// Messages with invalid lengths, checksums, fields or TTL.
    pub malformed: u64,
    /// Messages of another version of the format.
    pub other_version: u64,
    /// Messages that are not from the peer to this end.
    pub foreign: u64,
    /// Messages without a tag or with a wrong one, if a key is set; messages with a tag, if none is. An answer to
    /// an earlier challenge than the last has a wrong tag.
    pub forged: u64,
    /// Messages of a session that has answered no challenge: the peer has just started, or they are replays.
    pub unconfirmed: u64,
    /// Messages with a sequence number not above the last one: late or replayed.
    pub stale: u64,
    /// Without a key: messages with a sequence number further ahead than the time since the last one allows.
    pub ahead: u64,
    /// Challenges from the peer.
    pub challenges_received: u64,
    /// Challenges sent to the peer. They correspond to no incoming message.
    pub challenges_sent: u64,
}

/// A rate that the other end advertised, and its time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Advertised {
    rate: BitRate,
    at: Nanos,
    session: u64,
    sequence: u64,
    /// Whether the limit has lapsed for lack of messages.
    lapsed: bool,
}

/// A challenge that was sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Challenge {
    nonce: u64,
    drawn: Nanos,
    /// The time of its last transmission.
    sent: Nanos,
    /// Whether it is still unanswered.
    open: bool,
}

/// The message to send in response to one of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    Nothing,
    /// A challenge with this nonce.
    Challenge(u64),
    /// An answer to its challenge with this nonce.
    Answer(u64),
}

/// The reason to ignore the bytes of a message.
enum Refusal {
    Malformed,
    OtherVersion,
}

/// The judgement of a message that the peer has sent at some time.
enum Freshness {
    Accepted,
    Unconfirmed,
    Stale,
    Ahead,
}

/// The rate that the other end advertises, and the time for which it holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AdvertisedRate {
    feedback: Feedback,
    seed: u64,
    /// T.
    interval: Interval,
    /// The time for which the limit holds without another message, from a message or from the start of traffic.
    grace: Interval,
    last: Option<Advertised>,
    challenge: Option<Challenge>,
    /// The start of the present traffic. The other end had nothing to advertise before.
    busy_since: Nanos,
    last_arrival: Nanos,
    lapsed: u64,
    counters: FeedbackCounters,
}

impl AdvertisedRate {
    /// `seed` goes into the nonces.
    pub fn new(settings: &Lscc, seed: u64) -> Self {
        Self {
            feedback: settings.feedback,
            seed,
            interval: settings.interval,
            grace: settings.round_trip + settings.interval * GRACE_INTERVALS,
            last: None,
            challenge: None,
            busy_since: Nanos::ZERO,
            last_arrival: Nanos::ZERO,
            lapsed: 0,
            counters: FeedbackCounters::default(),
        }
    }

    /// Takes the settings of `spare`. The rate stays in force, unless the two ends have changed.
    pub fn configure(&mut self, spare: &Self) {
        if self.feedback != spare.feedback {
            (self.last, self.challenge) = (None, None);
        }
        (self.feedback, self.interval, self.grace) = (spare.feedback, spare.interval, spare.grace);
    }

    /// Takes a feedback message in the IPv4 `packet`, or counts the reason for its refusal.
    pub fn receive(&mut self, now: Nanos, packet: &[u8]) -> Response {
        let counters = &mut self.counters;
        let received = match checked(packet) {
            Ok(received) => received,
            Err(refusal) => {
                match refusal {
                    Refusal::Malformed => counters.malformed += 1,
                    Refusal::OtherVersion => counters.other_version += 1,
                }
                return Response::Nothing;
            }
        };
        if (received.source, received.destination) != (self.feedback.peer, self.feedback.local) {
            counters.foreign += 1;
            return Response::Nothing;
        }
        let nonce = self.challenge.map(|challenge| challenge.nonce);
        let genuine = match &self.feedback.key {
            Some(key) => received.verify_tag(key, nonce),
            None => !received.message.is_authenticated(),
        };
        if !genuine {
            counters.forged += 1;
            return Response::Nothing;
        }
        match received.message.message().content {
            Content::Challenge { nonce } => {
                counters.challenges_received += 1;
                Response::Answer(nonce)
            }
            Content::Rate { rate, sequence, session } => {
                let new = Advertised { rate, at: now, session, sequence, lapsed: false };
                self.hear(now, new, received.message.is_answer())
            }
        }
    }

    /// Takes `new`, which the peer has advertised at some time. An answer is for the last challenge.
    fn hear(&mut self, now: Nanos, new: Advertised, is_answer: bool) -> Response {
        let open = self.challenge.as_mut().filter(|_| is_answer).map(|challenge| &mut challenge.open);
        let verdict = match open.map(core::mem::take) {
            Some(true) => Freshness::Accepted,
            // The challenge was answered before.
            _ => self.judge(now, &new),
        };
        let counters = &mut self.counters;
        match verdict {
            Freshness::Accepted => {
                counters.accepted += 1;
                self.last = Some(new);
                return Response::Nothing;
            }
            Freshness::Unconfirmed => counters.unconfirmed += 1,
            Freshness::Stale => counters.stale += 1,
            Freshness::Ahead => counters.ahead += 1,
        }
        self.doubt(now)
    }

    fn judge(&self, now: Nanos, new: &Advertised) -> Freshness {
        let keyed = self.feedback.key.is_some();
        // Without a key, the last message may be anybody's, so it does not count for long.
        match self.last.filter(|last| keyed || now.since(last.at) <= self.grace) {
            None if keyed => Freshness::Unconfirmed,
            None => Freshness::Accepted,
            Some(last) if keyed && last.session != new.session => Freshness::Unconfirmed,
            Some(last) if new.sequence <= last.sequence => Freshness::Stale,
            // A tag says that the peer did send this number, so the message before it was late.
            Some(last) if !keyed && new.sequence - last.sequence > self.farthest_ahead(now, last) => {
                Freshness::Ahead
            }
            Some(_) => Freshness::Accepted,
        }
    }

    /// The greatest credible growth of a sequence number since `last`. It is the sender's clock in nanoseconds, and
    /// a message may be delayed less than the one before it.
    fn farthest_ahead(&self, now: Nanos, last: Advertised) -> u64 {
        let elapsed = now.since(last.at);
        (elapsed + Interval(elapsed.0 / DRIFT) + self.grace).0
    }

    /// Takes a refusal. If nothing was accepted for a while, challenges the peer, once in that time, so that
    /// replays cannot make this end send more.
    fn doubt(&mut self, now: Nanos) -> Response {
        let Some(key) = &self.feedback.key else { return Response::Nothing };
        let lately = |at: Nanos| now.since(at) <= self.grace;
        let heard = self.last.is_some_and(|last| lately(last.at));
        if heard || self.challenge.is_some_and(|challenge| lately(challenge.sent)) {
            return Response::Nothing;
        }
        let again = self.challenge.filter(|it| it.open && now.since(it.drawn) <= NONCE_LASTS);
        let challenge = match again {
            Some(challenge) => Challenge { sent: now, ..challenge },
            None => Challenge { nonce: key.draw(NONCE, self.seed, now), drawn: now, sent: now, open: true },
        };
        self.challenge = Some(challenge);
        self.counters.challenges_sent += 1;
        Response::Challenge(challenge.nonce)
    }

    /// Notes that traffic toward the other end arrives at `now`.
    #[inline]
    pub fn note_traffic(&mut self, now: Nanos) {
        if now.since(self.last_arrival) > self.grace {
            self.busy_since = now;
        }
        self.last_arrival = now;
    }

    /// The rate that holds at `now`; `None` if nothing is limited. While there is traffic and no message, the limit
    /// doubles with every interval, and lapses when it has reached `most`.
    #[inline]
    pub fn rate(&mut self, now: Nanos, most: BitRate) -> Option<BitRate> {
        let last = self.last.filter(|last| !last.lapsed)?;
        let silence = now.since(last.at.max(self.busy_since));
        if silence <= self.grace || self.last_arrival < last.at {
            return Some(last.rate);
        }
        self.dissolved(last, silence - self.grace, most)
    }

    #[cold]
    fn dissolved(&mut self, last: Advertised, beyond: Interval, most: BitRate) -> Option<BitRate> {
        let doublings = 1 + beyond.0 / self.interval.0;
        let rate = u128::from(last.rate.bits_per_second()) << doublings.min(64);
        let limit = u64::try_from(rate).ok().and_then(BitRate::new).filter(|rate| *rate < most);
        if limit.is_none() {
            // The sequence number stays, so that an old message does not restore the limit.
            self.lapsed += 1;
            self.last = Some(Advertised { lapsed: true, ..last });
        }
        limit
    }

    /// The rate that was advertised last, unless it has lapsed.
    pub fn last_rate(&self) -> Option<BitRate> {
        self.last.filter(|last| !last.lapsed).map(|last| last.rate)
    }

    /// The number of times a limit lapsed because messages failed to come.
    pub fn lapsed(&self) -> u64 {
        self.lapsed
    }

    pub fn counters(&self) -> &FeedbackCounters {
        &self.counters
    }
}

/// The message in an IPv4 packet, if packet and message are valid.
fn checked(packet: &[u8]) -> Result<Received<'_>, Refusal> {
    let received = Received::parse(packet).map_err(|error| match error {
        ParseError::Invalid { field: VERSION_FIELD, protocol: Protocol::RateFeedback, .. } => {
            Refusal::OtherVersion
        }
        _ => Refusal::Malformed,
    })?;
    let ip = ipv4::View::parse(packet).map_err(|_| Refusal::Malformed)?;
    let holds = ip.verify_checksum() && received.message.verify_checksum();
    if holds { Ok(received) } else { Err(Refusal::Malformed) }
}

#[cfg(test)]
mod tests;
