//! Connections made and ended by the connection manager: only its messages contain both queue pairs.

use crate::flows::packet::{Hosts, Origin};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::roce::QueuePair;
use wire::roce::cm::{CommunicationId, Message};

/// The most requests that are kept, in sets of [`WAYS`].
const CAPACITY: usize = 4_096;
/// The places for a request.
const WAYS: usize = 16;
/// The time for which a request is kept.
const AGEING: Interval = Interval::from_secs(60);

/// The effect of a message on the two halves of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Packets from the first host to the second one's queue pair come from the first one's, and vice versa.
    Bind { hosts: Hosts, source: QueuePair, destination: QueuePair },
    /// The half-flow from the first host, which sent the message, to the second one's queue pair has ended, and its
    /// other half.
    End { hosts: Hosts, destination: QueuePair },
    /// Another message contradicts [`Event::Bind`].
    Contradict { hosts: Hosts, source: QueuePair, destination: QueuePair },
}

/// The time of a message, its sender and receiver, and its origin.
#[derive(Clone, Copy, Debug)]
pub(in crate::flows) struct Envelope {
    pub now: Nanos,
    pub hosts: Hosts,
    pub origin: Origin,
}

/// A REQ, and the reply to it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Request {
    /// The sender and the receiver.
    hosts: Hosts,
    origin: Origin,
    /// The sender's name for the connection.
    id: CommunicationId,
    qp: QueuePair,
    replied: Option<QueuePair>,
    /// Two messages contradict each other about it, so neither counts.
    contested: bool,
    since: Nanos,
}

impl Request {
    fn has_aged(&self, now: Nanos) -> bool {
        now.since(self.since) > AGEING
    }
}

type Set = [Option<Request>; WAYS];

/// The requests of the last minute. Answers to them must cross the port the other way to match ([`Hosts`]).
#[derive(Serialize, Deserialize)]
pub(super) struct Requests {
    sets: Vec<Set>,
}

impl Requests {
    pub fn new() -> Self {
        Self { sets: vec![[None; WAYS]; CAPACITY / WAYS] }
    }

    /// Takes a message. `hash` must be unpredictable to senders of messages.
    pub fn take(
        &mut self,
        envelope: &Envelope,
        message: &Message,
        hash: impl Fn(&Hosts) -> u64,
    ) -> Option<Event> {
        let Envelope { now, hosts, .. } = *envelope;
        match *message {
            Message::Request { local, qp, .. } => {
                let set = self.set(hash(&hosts), local);
                enter(set, envelope, local, qp)
            }
            Message::Reply { remote, qp, .. } => {
                let hosts = hosts.reversed();
                let set = self.set(hash(&hosts), remote);
                reply(find(set, now, &hosts, remote)?.as_mut()?, qp)
            }
            Message::Reject { local, remote, .. } | Message::DisconnectReply { local, remote } => {
                let request = self.forget(envelope, local, remote, hash)?;
                let replied = request.replied.filter(|_| !request.contested)?;
                let destination = if request.hosts == hosts { replied } else { request.qp };
                Some(Event::End { hosts, destination })
            }
            Message::DisconnectRequest { local, remote, remote_qp } => {
                self.forget(envelope, local, remote, hash);
                Some(Event::End { hosts, destination: remote_qp })
            }
            Message::ReadyToUse { .. } | Message::Other(_) => None,
        }
    }

    /// Forgets the connection with the two names, whichever host asked for it. A name of zero is none.
    fn forget(
        &mut self,
        envelope: &Envelope,
        local: CommunicationId,
        remote: CommunicationId,
        hash: impl Fn(&Hosts) -> u64,
    ) -> Option<Request> {
        let Envelope { now, hosts, .. } = *envelope;
        [(hosts, local), (hosts.reversed(), remote)]
            .into_iter()
            .filter(|(_, id)| id.0 != 0)
            .find_map(|(hosts, id)| find(self.set(hash(&hosts), id), now, &hosts, id).and_then(Option::take))
    }

    fn set(&mut self, hash: u64, id: CommunicationId) -> &mut Set {
        /// 2^64 over the golden ratio: the high bits of a product with it differ for consecutive numbers.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let set = (hash ^ u64::from(id.0)).wrapping_mul(SPREAD) >> 32;
        let set = set as usize % self.sets.len();
        &mut self.sets[set]
    }
}

fn find<'a>(
    set: &'a mut Set,
    now: Nanos,
    hosts: &Hosts,
    id: CommunicationId,
) -> Option<&'a mut Option<Request>> {
    let wanted = |known: &Request| known.hosts == *hosts && known.id == id && !known.has_aged(now);
    set.iter_mut().find(|known| known.as_ref().is_some_and(wanted))
}

/// Takes a REQ. A repetition changes nothing. A REQ of the same name with another queue pair is from another sender
/// or about another connection: then neither counts.
fn enter(set: &mut Set, envelope: &Envelope, id: CommunicationId, qp: QueuePair) -> Option<Event> {
    let Envelope { now, hosts, origin } = *envelope;
    if let Some(known) = find(set, now, &hosts, id).and_then(Option::as_mut) {
        return if known.qp == qp { None } else { contest(known) };
    }
    let request = Request { hosts, origin, id, qp, replied: None, contested: false, since: now };
    let room = set.iter().position(|known| known.is_none_or(|known| known.has_aged(now)));
    let way = room.unwrap_or_else(|| most_taken(set));
    set[way] = Some(request);
    None
}

/// Takes a REP: the first one counts, and its repetitions. Another queue pair in the same place contradicts both.
fn reply(request: &mut Request, qp: QueuePair) -> Option<Event> {
    if request.contested {
        return None;
    }
    if request.replied.is_some_and(|replied| replied != qp) {
        return contest(request);
    }
    request.replied = Some(qp);
    Some(Event::Bind { hosts: request.hosts, source: request.qp, destination: qp })
}

fn contest(request: &mut Request) -> Option<Event> {
    request.contested = true;
    Some(Event::Contradict { hosts: request.hosts, source: request.qp, destination: request.replied? })
}

/// The place in a full set that a newcomer gets: the oldest of the holder of the most places. Holders are compared
/// by port, which cannot be forged, then by station at the port, then by claimed address. So a sender that asks for
/// more than its share takes from itself.
fn most_taken(set: &Set) -> usize {
    let count = |same: &dyn Fn(&Request) -> bool| set.iter().flatten().filter(|other| same(other)).count();
    let taken = |request: &Request| {
        let (port, mac) = (request.origin.port(), request.origin.mac());
        let of_port = count(&|other| other.origin.port() == port);
        let of_station = count(&|other| (other.origin.port(), other.origin.mac()) == (port, mac));
        let of_host = count(&|other| {
            (other.origin.port(), other.origin.mac(), other.hosts.source) == (port, mac, request.hosts.source)
        });
        (of_port, of_station, of_host, core::cmp::Reverse(request.since))
    };
    let most = set.iter().enumerate().max_by_key(|(_, request)| request.as_ref().map(taken));
    most.map_or(0, |(way, _)| way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::packet::{Address, Way};
    use units::PortId;
    use wire::ethernet::MacAddress;
    use wire::roce::Psn;

    /// The first is behind this end of the link, the second behind the other.
    const HOSTS: Hosts = hosts(1);
    const S: QueuePair = QueuePair::from_low_bits(0x11);
    const D: QueuePair = QueuePair::from_low_bits(0x1f);
    const OTHER: QueuePair = QueuePair::from_low_bits(0x99);
    const BOUND: Option<Event> = Some(Event::Bind { hosts: HOSTS, source: S, destination: D });
    const CONTRADICTED: Option<Event> = Some(Event::Contradict { hosts: HOSTS, source: S, destination: D });

    const fn hosts(source: u64) -> Hosts {
        Hosts { source: Address::numbered(source), destination: Address::numbered(2), way: Way::Out }
    }

    fn take(requests: &mut Requests, now: Nanos, hosts: Hosts, message: &Message) -> Option<Event> {
        take_from(requests, now, hosts, (0, 1), message)
    }

    /// From a station at a port.
    fn take_from(
        requests: &mut Requests,
        now: Nanos,
        hosts: Hosts,
        (port, station): (u16, u8),
        message: &Message,
    ) -> Option<Event> {
        let origin = Origin::new(PortId(port), MacAddress([2, 0, 0, 0, 0, station]), 0);
        let hash = |hosts: &Hosts| hosts.source.number() as u64 * 77 + hosts.destination.number() as u64;
        requests.take(&Envelope { now, hosts, origin }, message, hash)
    }

    #[test]
    fn one_side_alone_cannot_make_a_connection() {
        let mut requests = Requests::new();
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        let forged = Hosts { way: Way::Out, ..HOSTS.reversed() };
        assert_eq!(take(&mut requests, Nanos::ZERO, forged, &rep(7, OTHER)), None);
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rep(7, D)), BOUND);
    }

    fn req(id: u32, qp: QueuePair) -> Message {
        let starting_psn = Psn::from_low_bits(0);
        Message::Request { local: CommunicationId(id), service_id: 0, qp, starting_psn, flow_label: 0 }
    }

    fn rep(id: u32, qp: QueuePair) -> Message {
        let (local, remote) = (CommunicationId(90), CommunicationId(id));
        Message::Reply { local, remote, qp, starting_psn: Psn::from_low_bits(0) }
    }

    fn rej(local: u32, remote: u32) -> Message {
        let (local, remote) = (CommunicationId(local), CommunicationId(remote));
        Message::Reject { local, remote, rejected: 0, reason: 0 }
    }

    #[test]
    fn a_reply_binds_what_was_requested_and_again_when_it_is_repeated() {
        let mut requests = Requests::new();
        let now = Nanos::ZERO;
        assert_eq!(take(&mut requests, now, HOSTS, &req(7, S)), None);
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(8, D)), None, "of another connection");
        assert_eq!(take(&mut requests, now, HOSTS, &rep(7, D)), None, "from the wrong side");
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(7, D)), BOUND);
        assert_eq!(take(&mut requests, now, HOSTS, &req(7, S)), None);
        assert_eq!(take(&mut requests, now, HOSTS.reversed(), &rep(7, D)), BOUND);
    }

    #[test]
    fn of_two_requests_or_replies_with_different_queue_pairs_neither_counts() {
        let (now, back) = (Nanos::ZERO, HOSTS.reversed());
        let mut requests = Requests::new();
        take(&mut requests, now, HOSTS, &req(7, OTHER));
        take(&mut requests, now, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, now, back, &rep(7, D)), None);
        let mut requests = Requests::new();
        take(&mut requests, now, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, now, back, &rep(7, D)), BOUND);
        assert_eq!(take(&mut requests, now, back, &rep(7, OTHER)), CONTRADICTED);
        assert_eq!(take(&mut requests, now, back, &rep(7, D)), None);
        // A name is free again when its connection has ended.
        take(&mut requests, now, HOSTS, &rej(7, 90));
        take(&mut requests, now, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, now, back, &rep(7, D)), BOUND);
        assert_eq!(take(&mut requests, now, HOSTS, &req(7, OTHER)), CONTRADICTED);
    }

    #[test]
    fn a_request_is_remembered_for_a_minute() {
        let mut requests = Requests::new();
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        let minute = Nanos::ZERO + AGEING;
        assert_eq!(take(&mut requests, minute, HOSTS.reversed(), &rep(7, D)), BOUND);
        assert_eq!(take(&mut requests, minute + Interval(1), HOSTS.reversed(), &rep(7, D)), None);
    }

    #[test]
    fn rejections_and_both_messages_of_a_disconnection_end_a_connection_from_either_side() {
        let disconnect = |local, remote, remote_qp| {
            let (local, remote) = (CommunicationId(local), CommunicationId(remote));
            Message::DisconnectRequest { local, remote, remote_qp }
        };
        let done = Message::DisconnectReply { local: CommunicationId(90), remote: CommunicationId(7) };
        let back = HOSTS.reversed();
        let ended = Some(Event::End { hosts: HOSTS, destination: D });
        let other_half = Some(Event::End { hosts: back, destination: S });
        for (hosts, message, event) in [
            (HOSTS, rej(7, 90), ended),
            (back, rej(90, 7), other_half),
            (back, rej(0, 7), other_half),
            (back, done, other_half),
            (HOSTS, disconnect(7, 90, D), ended),
            (back, disconnect(90, 7, S), other_half),
        ] {
            let mut requests = Requests::new();
            take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
            take(&mut requests, Nanos::ZERO, back, &rep(7, D));
            let forged = Hosts { way: hosts.way.reversed(), ..hosts };
            let known = |event| matches!(event, Some(Event::End { hosts, .. }) if hosts.way != forged.way);
            assert!(!known(take(&mut requests, Nanos::ZERO, forged, &message)), "from the wrong side");
            assert_eq!(take(&mut requests, Nanos::ZERO, hosts, &message), event);
            assert_eq!(take(&mut requests, Nanos::ZERO, back, &rep(7, D)), None, "a late copy binds nothing");
        }
    }

    #[test]
    fn what_was_never_bound_is_not_ended() {
        let mut requests = Requests::new();
        take(&mut requests, Nanos::ZERO, HOSTS, &req(7, S));
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rej(0, 7)), None);
        assert_eq!(take(&mut requests, Nanos::ZERO, HOSTS.reversed(), &rep(7, D)), None);
    }

    #[test]
    fn the_oldest_request_makes_room() {
        let mut requests = Requests::new();
        for id in 0..16_000 {
            take(&mut requests, Nanos(u64::from(id)), HOSTS, &req(id, S));
        }
        let now = Nanos(16_000);
        let known = |id: &u32| take(&mut requests, now, HOSTS.reversed(), &rep(*id, D)).is_some();
        let known: Vec<u32> = (0..16_000).filter(known).collect();
        assert!(known.len() <= CAPACITY && known.len() > CAPACITY * 9 / 10, "{}", known.len());
        assert!(known.contains(&15_999) && !known.contains(&0));
    }

    /// Hosts 1 to 400 ask for a connection each, from the same station; then a flood comes from another origin. How
    /// many are answered all the same?
    fn answered_after(flood: impl Fn(u32) -> (Hosts, (u16, u8))) -> usize {
        let mut requests = Requests::new();
        for host in 100..500 {
            take_from(&mut requests, Nanos(host), hosts(host), (0, 1), &req(host as u32, S));
        }
        for id in 0..20_000 {
            let (hosts, origin) = flood(id);
            take_from(&mut requests, Nanos(1_000 + u64::from(id)), hosts, origin, &req(id, OTHER));
        }
        let answered = |host: &u64| {
            let back = hosts(*host).reversed();
            take_from(&mut requests, Nanos(30_000), back, (1, 2), &rep(*host as u32, D)).is_some()
        };
        (100..500).filter(answered).count()
    }

    #[test]
    fn who_floods_the_table_takes_from_itself() {
        assert_eq!(answered_after(|_| (HOSTS, (0, 1))), 400, "one host at the same router");
        assert_eq!(
            answered_after(|id| (hosts(1_000 + u64::from(id)), (0, 7))),
            400,
            "a station in many names"
        );
        let stations = |id: u32| (hosts(1_000 + u64::from(id)), (5, id as u8));
        assert_eq!(answered_after(stations), 400, "a port with many stations");
        // An attacker that can choose all that the gateway sees of a host cannot be told from many hosts.
        let anybody = |id: u32| (hosts(1_000 + u64::from(id)), (0, id as u8));
        assert!(answered_after(anybody) < 400);
    }
}
