//! Connections as the connection manager makes and ends them: it is in its messages alone that both
//! queue pairs are written.

use crate::congestion::lscc::packet::{Hosts, Way};
use crate::hash::{HashKey, KeyedHash};
use core::hash::Hasher;
use units::{Interval, Nanos};
use wire::roce::QueuePair;
use wire::roce::cm::{CommunicationId, Message};

/// Requests that are remembered, in sets of [`WAYS`].
const CAPACITY: usize = 1_024;
/// Where a request may stand; the oldest of them makes room.
const WAYS: usize = 8;
/// How long a request is remembered.
const AGEING: Interval = Interval::from_secs(60);

/// What a message does to the two halves of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// What goes from the first host to the second one's queue pair comes from the first one's,
    /// and the other way round.
    Bind { hosts: Hosts, source: QueuePair, destination: QueuePair },
    /// What goes from the first host to the second one's queue pair has ended, and its other half.
    End { hosts: Hosts, destination: QueuePair },
}

/// A REQ, and what was replied to it.
#[derive(Clone, Copy)]
struct Request {
    /// From whom, to whom.
    hosts: Hosts,
    way: Way,
    /// The sender's name for the connection.
    id: CommunicationId,
    qp: QueuePair,
    replied: Option<QueuePair>,
    since: Nanos,
}

/// The requests of the last minute.
pub(super) struct Requests {
    sets: Vec<[Option<Request>; WAYS]>,
    keyed: KeyedHash,
}

impl Requests {
    pub fn new(key: impl Into<HashKey>) -> Self {
        Self { sets: vec![[None; WAYS]; CAPACITY / WAYS], keyed: KeyedHash::new(key.into()) }
    }

    /// Takes a message from the first of `hosts` to the second. Only the other side answers a REQ: what comes
    /// from the same side has been made up.
    pub fn take(&mut self, now: Nanos, way: Way, hosts: Hosts, message: &Message) -> Option<Event> {
        match *message {
            Message::Request { local, qp, .. } => {
                self.enter(now, way, hosts, local, qp);
                None
            }
            Message::Reply { remote, qp, .. } => {
                let hosts = hosts.reversed();
                let request = self.find(now, &hosts, remote)?.as_mut().filter(|it| it.way != way)?;
                request.replied = Some(qp);
                Some(Event::Bind { hosts, source: request.qp, destination: qp })
            }
            Message::Reject { local, remote, .. } | Message::DisconnectReply { local, remote } => {
                let request = self.forget(now, hosts, local, remote)?;
                Some(Event::End { hosts: request.hosts, destination: request.replied? })
            }
            Message::DisconnectRequest { local, remote, remote_qp } => {
                self.forget(now, hosts, local, remote);
                Some(Event::End { hosts, destination: remote_qp })
            }
            Message::ReadyToUse { .. } | Message::Other(_) => None,
        }
    }

    /// A REQ. The same one again changes nothing; one with another queue pair takes its place.
    fn enter(&mut self, now: Nanos, way: Way, hosts: Hosts, id: CommunicationId, qp: QueuePair) {
        if self.find(now, &hosts, id).is_some_and(|known| known.is_some_and(|known| known.qp == qp)) {
            return;
        }
        let request = Request { hosts, way, id, qp, replied: None, since: now };
        let set = self.set(&hosts, id);
        let same =
            |known: &Option<Request>| known.is_some_and(|known| known.hosts == hosts && known.id == id);
        let way = set.iter().position(same);
        // Empty ways are the oldest.
        let oldest = || set.iter().enumerate().min_by_key(|(_, known)| known.map(|known| known.since));
        if let Some(way) = way.or_else(|| oldest().map(|(way, _)| way)) {
            set[way] = Some(request);
        }
    }

    /// Forgets the connection that the two names are of, whichever host asked for it. A name that is zero
    /// is none.
    fn forget(
        &mut self,
        now: Nanos,
        hosts: Hosts,
        local: CommunicationId,
        remote: CommunicationId,
    ) -> Option<Request> {
        [(hosts, local), (hosts.reversed(), remote)]
            .into_iter()
            .filter(|(_, id)| id.0 != 0)
            .find_map(|(hosts, id)| self.find(now, &hosts, id).and_then(Option::take))
    }

    fn find(&mut self, now: Nanos, hosts: &Hosts, id: CommunicationId) -> Option<&mut Option<Request>> {
        let wanted =
            |known: &Request| known.hosts == *hosts && known.id == id && now.since(known.since) <= AGEING;
        self.set(hosts, id).iter_mut().find(|known| known.as_ref().is_some_and(wanted))
    }

    fn set(&mut self, hosts: &Hosts, id: CommunicationId) -> &mut [Option<Request>; WAYS] {
        let mut hasher = self.keyed.hasher();
        hasher.write_u128(hosts.source.number());
        hasher.write_u128(hosts.destination.number());
        hasher.write_u32(id.0);
        let set = hasher.finish() as usize % self.sets.len();
        &mut self.sets[set]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::lscc::packet::Address;
    use wire::roce::Psn;

    const HOSTS: Hosts = Hosts { source: Address::numbered(1), destination: Address::numbered(2) };
    const S: QueuePair = QueuePair::from_low_bits(0x11);
    const D: QueuePair = QueuePair::from_low_bits(0x1f);
    const BOUND: Option<Event> = Some(Event::Bind { hosts: HOSTS, source: S, destination: D });
    const ENDED: Option<Event> = Some(Event::End { hosts: HOSTS, destination: D });

    /// The first of [`HOSTS`] is behind this end of the link, the second behind the other.
    fn take(requests: &mut Requests, now: Nanos, hosts: Hosts, message: &Message) -> Option<Event> {
        requests.take(now, if hosts == HOSTS { Way::Out } else { Way::In }, hosts, message)
    }

    #[test]
    fn one_side_alone_cannot_make_a_connection() {
        let mut requests = Requests::new(0);
        requests.take(Nanos::ZERO, Way::Out, HOSTS, &req(7, S));
        assert_eq!(requests.take(Nanos::ZERO, Way::Out, HOSTS.reversed(), &rep(7)), None);
        assert_eq!(requests.take(Nanos::ZERO, Way::In, HOSTS.reversed(), &rep(7)), BOUND);
    }

    fn req(id: u32, qp: QueuePair) -> Message {
        let starting_psn = Psn::from_low_bits(0);
        Message::Request { local: CommunicationId(id), service_id: 0, qp, starting_psn, flow_label: 0 }
    }

    fn rep(id: u32) -> Message {
        let (local, remote) = (CommunicationId(90), CommunicationId(id));
        Message::Reply { local, remote, qp: D, starting_psn: Psn::from_low_bits(0) }
    }

    fn rej(local: u32, remote: u32) -> Message {
        let (local, remote) = (CommunicationId(local), CommunicationId(remote));
        Message::Reject { local, remote, rejected: 0, reason: 0 }
    }

    #[test]
    fn a_reply_binds_what_was_requested_and_again_when_it_is_repeated() {
        let mut requests = Requests::new(0);
        let now = Nanos::ZERO;
        assert_eq!(take(&mut requests, now, HOSTS, &req(7, S)), None);
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(8)), None, "of another connection");
        assert_eq!(take(&mut requests, now, HOSTS, &rep(7)), None, "from the wrong side");
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(7)), BOUND);
        assert_eq!(take(&mut requests, now, HOSTS, &req(7, S)), None);
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(7)), BOUND);
    }

    #[test]
    fn a_request_with_another_queue_pair_takes_the_place_of_the_first() {
        let mut requests = Requests::new(0);
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, QueuePair::from_low_bits(0x99)));
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rep(7)), BOUND);
    }

    #[test]
    fn a_request_is_remembered_for_a_minute() {
        let mut requests = Requests::new(0);
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        let minute = Nanos::ZERO + AGEING;
        assert_eq!(take(&mut requests, minute, HOSTS.reversed(), &rep(7)), BOUND);
        assert_eq!(take(&mut requests, minute + Interval(1), HOSTS.reversed(), &rep(7)), None);
    }

    #[test]
    fn rejections_and_both_messages_of_a_disconnection_end_a_connection_from_either_side() {
        let disconnect = |local, remote, remote_qp| {
            let (local, remote) = (CommunicationId(local), CommunicationId(remote));
            Message::DisconnectRequest { local, remote, remote_qp }
        };
        let done = Message::DisconnectReply { local: CommunicationId(90), remote: CommunicationId(7) };
        let back = HOSTS.reversed();
        let other_half = Some(Event::End { hosts: back, destination: S });
        for (hosts, message, event) in [
            (HOSTS, rej(7, 90), ENDED),
            (back, rej(90, 7), ENDED),
            (back, rej(0, 7), ENDED),
            (back, done, ENDED),
            (HOSTS, disconnect(7, 90, D), ENDED),
            (back, disconnect(90, 7, S), other_half),
        ] {
            let mut requests = Requests::new(0);
            take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
            take(&mut requests, Nanos::ZERO, back, &rep(7));
            assert_eq!(take(&mut requests, Nanos::ZERO, hosts, &message), event);
            assert_eq!(take(&mut requests, Nanos::ZERO, back, &rep(7)), None, "a late copy binds nothing");
        }
    }

    #[test]
    fn what_was_never_bound_is_not_ended() {
        let mut requests = Requests::new(0);
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rej(0, 7)), None);
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rep(7)), None);
    }

    #[test]
    fn the_oldest_request_makes_room() {
        let mut requests = Requests::new(0);
        for id in 0..4_000 {
            take(&mut requests, Nanos(u64::from(id)), HOSTS, &req(id, S));
        }
        let now = Nanos(4_000);
        let known = |id: &u32| take(&mut requests, now, HOSTS.reversed(), &rep(*id)).is_some();
        let known: Vec<u32> = (0..4_000).filter(known).collect();
        assert!(known.len() <= CAPACITY && known.len() > CAPACITY * 9 / 10, "{}", known.len());
        assert!(known.contains(&3_999) && !known.contains(&0));
    }
}
