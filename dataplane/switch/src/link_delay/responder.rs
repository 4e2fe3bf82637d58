//! The end that answers (MDPdelayResp, IEEE 802.1AS-2020 clause 11.2.20).

use crate::allowance::Allowance;
use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::ptp::{Body, Message, PortIdentity, Timestamp};

/// The counters of the end that answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderCounters {
    /// Requests answered.
    pub answered: u64,
}

/// A request that is being answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Answer {
    requester: PortIdentity,
    sequence: u16,
    /// t2.
    received: Nanos,
    /// t3, once the response has left.
    sent: Option<Nanos>,
}

/// The end that answers, one request at a time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Responder {
    answer: Option<Answer>,
    may_answer: Allowance,
    pub counters: ResponderCounters,
}

impl Responder {
    /// Takes a request that came at `received` by the clock of the switch, read at `now`. Returns whether it is going to
    /// be answered: not if another one is being answered, or there were too many.
    pub fn hear(&mut self, now: Nanos, received: Nanos, request: &Message) -> bool {
        if self.answer.is_some() || !self.may_answer.take(now) {
            return false;
        }
        let Message { source: requester, sequence, .. } = *request;
        self.answer = Some(Answer { requester, sequence, received, sent: None });
        true
    }

    /// Whether a message is to be sent now.
    pub fn is_answering(&self) -> bool {
        self.answer.is_some()
    }

    /// The message that is to be sent now: a response, or its follow-up.
    pub fn message(&self, source: PortIdentity) -> Option<Message> {
        let Answer { requester, sequence, received, sent } = self.answer?;
        let body = match sent {
            None => Body::Response { received: Timestamp::from(received), requester },
            Some(sent) => Body::FollowUp { sent: Timestamp::from(sent), requester },
        };
        Some(Message { source, sequence, correction: 0, body })
    }

    /// Notes that the first bit of that message left at `start`.
    pub fn sent(&mut self, start: Nanos) {
        match &mut self.answer {
            Some(answer) if answer.sent.is_none() => answer.sent = Some(start),
            _ => {
                self.answer = None;
                self.counters.answered += 1;
            }
        }
    }
}
