//! A host of a plan at one port.

use crate::expected::Expected;
use crate::packet::{self, NotRead, Packet};
use crate::plan::Part;
use crate::report::{CountersReport, FlowsReport, HostReport, TimesReport};
use crate::round_trips::RoundTrips;
use core::cmp::Reverse;
use core::net::IpAddr;
use endpoint::{End, Event, FlowId, Host, Transmit};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use units::{Bytes, Interval, Nanos};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::roce::icrc;

/// Significant digits of times.
const DIGITS: u8 = 3;
/// The longest time that is told from longer ones.
const LONGEST: Interval = Interval(3_600_000_000_000);

/// How a host is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerSettings {
    /// The station of each address. A frame to any other address keeps the next hop of the scenario.
    pub stations: BTreeMap<IpAddr, MacAddress>,
    /// The router to which all frames go instead.
    pub router: Option<MacAddress>,
    /// The time after which it obeys a PFC frame.
    pub pfc_delay: Interval,
}

/// A flow that this host has started to send.
#[derive(Clone, Copy, Debug)]
struct Sending {
    started: Nanos,
    group: u16,
    bytes: Option<u64>,
}

/// The flows of one group.
#[derive(Debug)]
struct Group {
    flows: FlowsReport,
    /// Nanoseconds from the start of each flow to its last acknowledgement.
    completion: Histogram<u64>,
    /// Nanoseconds from packets of data to their acknowledgements.
    round_trip: Histogram<u64>,
}

impl Group {
    fn new() -> Self {
        let times = Histogram::new_with_max(LONGEST.0, DIGITS).expect("an hour fits, with up to five digits");
        Self { flows: FlowsReport::default(), completion: times.clone(), round_trip: times }
    }
}

/// A host at one port. Its frames have the addresses of the scenario, and zeros for payload.
#[derive(Debug)]
pub struct Player {
    name: String,
    host: Host,
    settings: PlayerSettings,
    begin: Nanos,
    /// The planned senders that have not started, soonest first.
    starts: VecDeque<crate::PlannedEnd>,
    /// Flows without end, by the instant at which they stop.
    stops: BinaryHeap<Reverse<(Nanos, FlowId)>>,
    sending: BTreeMap<FlowId, Sending>,
    /// Flows that have not arrived completely.
    receiving: BTreeMap<FlowId, u16>,
    groups: BTreeMap<u16, Group>,
    /// PFC frames that are not obeyed yet.
    pauses: VecDeque<(Nanos, Vec<u8>)>,
    /// The frame that is being completed.
    frame: Vec<u8>,
    wrong_icrc: u64,
    expected: Expected,
    misfits: u64,
    round_trips: RoundTrips,
}

impl Player {
    /// A host that begins to play its part at `begin`. Receivers are open from then on.
    pub fn new(part: &Part, settings: PlayerSettings, begin: Nanos) -> Self {
        let (address, hosts) = (part.settings.station.address, settings.stations.keys().copied());
        let expected = Expected::new(address, hosts, &part.ends);
        let mut player = Self {
            name: part.name.clone(),
            host: Host::new(part.settings.clone()),
            settings,
            begin,
            starts: VecDeque::new(),
            stops: BinaryHeap::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            groups: BTreeMap::new(),
            pauses: VecDeque::new(),
            frame: Vec::new(),
            wrong_icrc: 0,
            expected,
            misfits: 0,
            round_trips: RoundTrips::default(),
        };
        for end in &part.ends {
            let reserved = player.host.reserve();
            debug_assert_eq!(
                reserved,
                Some(end.connection.local),
                "the plan counted queue pairs as hosts do"
            );
            let group = player.group(end.group);
            match end.connection.end {
                End::Sender => {
                    group.flows.to_send += 1;
                    player.starts.push_back(*end);
                }
                End::Receiver => {
                    group.flows.to_receive += 1;
                    player.receiving.insert(end.connection.flow, end.group);
                    player.host.connect(begin, &end.connection);
                }
            }
        }
        player
    }

    fn group(&mut self, number: u16) -> &mut Group {
        self.groups.entry(number).or_insert_with(Group::new)
    }

    /// Takes a frame, without FCS. Counts packets of RoCEv2 that were damaged on the way, and data that is not what the
    /// plan says. Neither reaches the host.
    pub fn arrive(&mut self, now: Nanos, frame: &[u8]) {
        if let Ok(view) = ethernet::View::parse(frame) {
            let (ether_type, packet) = (view.ether_type(), view.into_payload());
            if ether_type == EtherType::MAC_CONTROL && self.settings.pfc_delay > Interval::ZERO {
                self.pauses.push_back((now + self.settings.pfc_delay, frame.to_vec()));
                return;
            }
            match Packet::read(ether_type, packet) {
                Err(NotRead::WrongIcrc) => {
                    self.wrong_icrc += 1;
                    return;
                }
                Ok(packet) if self.expected.is_misfit(&packet) => {
                    self.misfits += 1;
                    return;
                }
                Ok(packet) => {
                    if let Some((group, time)) = self.round_trips.on_arrived(now, &packet) {
                        self.group(group).round_trip.saturating_record(time.0);
                    }
                }
                Err(NotRead::Other) => {}
            }
        }
        self.host.ingress(now, frame, Bytes(frame.len() as u64));
        self.take_events(now);
    }

    /// Gives `out` the complete frames that are due, and starts and stops flows.
    pub fn send(&mut self, now: Nanos, out: &mut impl FnMut(&[u8])) {
        while let Some((_, frame)) = self.pauses.pop_front_if(|(due, _)| *due <= now) {
            self.host.ingress(now, &frame, Bytes(frame.len() as u64));
        }
        self.start_and_stop(now);
        let Self { host, settings, frame, round_trips, .. } = self;
        host.egress(now, &mut Outlet { now, settings, frame, round_trips, out });
        self.take_events(now);
    }

    fn start_and_stop(&mut self, now: Nanos) {
        let begin = self.begin;
        while let Some(end) = self.starts.pop_front_if(|end| begin + end.start <= now) {
            let (flow, bytes) = (end.connection.flow, end.connection.length);
            self.group(end.group).flows.started += 1;
            self.round_trips.open(&end);
            self.sending.insert(flow, Sending { started: now, group: end.group, bytes });
            self.stops.extend(end.stop.map(|stop| Reverse((begin + stop, flow))));
            self.host.connect(now, &end.connection);
        }
        while let Some(Reverse((at, flow))) = self.stops.peek().copied() {
            if at > now {
                break;
            }
            self.stops.pop();
            self.host.stop(now, flow);
        }
    }

    fn take_events(&mut self, now: Nanos) {
        while let Some(event) = self.host.take_event() {
            match event {
                Event::Acknowledged { flow, .. } => {
                    let Some(sent) = self.sending.remove(&flow) else { continue };
                    self.round_trips.close(flow);
                    let group = self.group(sent.group);
                    group.flows.completed += 1;
                    group.flows.acknowledged_bytes += sent.bytes.unwrap_or(0);
                    group.completion.saturating_record(now.since(sent.started).0);
                }
                // The queue pair stays open: the last acknowledgement may be lost.
                Event::Received { flow } => {
                    if let Some(group) = self.receiving.remove(&flow) {
                        self.group(group).flows.received += 1;
                    }
                }
                Event::Delivered { .. } | Event::Sent { .. } => {}
            }
        }
    }

    /// When to call [`Player::send`] if nothing arrives.
    pub fn next_deadline(&self) -> Nanos {
        let start = self.starts.front().map_or(Nanos::NEVER, |end| self.begin + end.start);
        let stop = self.stops.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        let pause = self.pauses.front().map_or(Nanos::NEVER, |(due, _)| *due);
        self.host.next_deadline().min(start).min(stop).min(pause)
    }

    /// Whether all of its flows have ended, as far as it can know: those that it sends are acknowledged, and those that
    /// it receives have arrived.
    pub fn is_done(&self) -> bool {
        self.starts.is_empty() && self.sending.is_empty() && self.receiving.is_empty()
    }

    /// Its figures. `groups` are the names of the plan.
    pub fn report(&self, groups: &[String]) -> HostReport {
        let flows = self.groups.iter().map(|(number, group)| {
            let name = groups.get(usize::from(*number)).cloned().unwrap_or_default();
            let completion = TimesReport::of(&group.completion);
            let round_trip = TimesReport::of(&group.round_trip);
            (name, FlowsReport { completion, round_trip, ..group.flows.clone() })
        });
        HostReport {
            name: self.name.clone(),
            groups: flows.collect(),
            counters: CountersReport {
                wrong_icrc: self.wrong_icrc,
                misfits: self.misfits,
                answers_received: self.round_trips.answers,
                ..CountersReport::of(self.host.counters())
            },
        }
    }
}

/// Completes the frames of a host: destination, payload and ICRC.
struct Outlet<'a, F> {
    now: Nanos,
    settings: &'a PlayerSettings,
    frame: &'a mut Vec<u8>,
    round_trips: &'a mut RoundTrips,
    out: &'a mut F,
}

impl<F: FnMut(&[u8])> Transmit for Outlet<'_, F> {
    fn frame(&mut self, _start: Nanos, headers: &[u8], length: Bytes, flow: Option<FlowId>) {
        self.frame.clear();
        self.frame.extend_from_slice(headers);
        self.frame.resize(usize::try_from(length.0).unwrap_or(headers.len()).max(headers.len()), 0);
        let Ok(view) = ethernet::View::parse(self.frame.as_slice()) else { return };
        let (ether_type, packet) = (view.ether_type(), view.into_payload());
        let station = packet::addresses(ether_type, packet)
            .and_then(|(_, destination)| self.settings.stations.get(&destination));
        if let Some(mac) = self.settings.router.as_ref().or(station) {
            self.frame[..6].copy_from_slice(&mac.0);
        }
        if icrc::fill(&mut self.frame[ethernet::HEADER_LEN..]).is_err() {
            return;
        }
        if let (Some(flow), Some(bth)) =
            (flow, packet::transport(ether_type, &self.frame[ethernet::HEADER_LEN..]))
        {
            self.round_trips.on_sent(self.now, flow, bth.psn(), bth.ack_requested());
        }
        (self.out)(self.frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Doubt, PlayReport, Unfinished};
    use crate::testing::{Bench, DELAY, PAIRS, scenario};
    use units::{PauseQuanta, Priority, PrioritySet};
    use wire::pfc;

    const LATE: Nanos = Nanos(1_000_000_000);
    const NAMES: [&str; 2] = ["left0", "right0"];

    fn bench() -> Bench {
        Bench::new(&scenario(PAIRS), NAMES, Interval::ZERO)
    }

    #[test]
    fn all_flows_end_and_both_ends_count_the_same() {
        let mut bench = bench();
        bench.run(LATE);
        let [sender, receiver] = [0, 1].map(|player| bench.flows(player));
        assert_eq!((sender.to_send, sender.completed, sender.acknowledged_bytes), (2, 2, 200_000));
        assert_eq!((receiver.to_receive, receiver.received), (2, 2));
        assert!(bench.players.iter().all(Player::is_done));
        let completion = sender.completion.unwrap();
        // A hundred kilobytes at 10G, and the wire both ways.
        let least = 80_000 + 2 * DELAY.0;
        assert!(completion.min_ns >= least && completion.p50_ns <= completion.p99_ns);
    }

    #[test]
    fn every_frame_has_a_valid_icrc_and_goes_to_the_station_of_its_address() {
        let mut bench = bench();
        bench.run(LATE);
        let plan = crate::HostPlan::new(&scenario(PAIRS), &NAMES.map(str::to_owned)).unwrap();
        for (player, frames) in bench.sent.iter().enumerate() {
            assert!(frames.len() > 100);
            let to = plan.parts[1 - player].settings.station;
            for (_, frame) in frames {
                assert_eq!(ethernet::View::parse(frame.as_slice()).unwrap().destination(), to.mac);
                assert_eq!(icrc::verify(&frame[ethernet::HEADER_LEN..]), Ok(true));
            }
        }
    }

    #[test]
    fn a_router_gets_all_frames_if_there_is_one() {
        let plan = crate::HostPlan::new(&scenario(PAIRS), &["left0".to_owned()]).unwrap();
        let router = MacAddress([2, 9, 9, 9, 9, 9]);
        let settings =
            PlayerSettings { stations: plan.stations, router: Some(router), pfc_delay: Interval::ZERO };
        let mut player = Player::new(&plan.parts[0], settings, Nanos(0));
        let mut frames = 0;
        player.send(Nanos(0), &mut |frame: &[u8]| {
            assert_eq!(ethernet::View::parse(frame).unwrap().destination(), router);
            frames += 1;
        });
        assert!(frames > 0);
    }

    /// A run whose machines plan `traffic` and `other`, with `more` in the scenario of the second.
    fn planned_apart(other: &str, more: &str) -> [HostReport; 2] {
        let scenarios = [scenario(PAIRS), scenario(&format!("{other}{more}"))];
        let mut bench = Bench::planned_apart([&scenarios[0], &scenarios[1]], NAMES, Interval::ZERO);
        bench.run(Nanos(20_000_000));
        bench.players.each_ref().map(|player| player.report(&["pairs".into()]))
    }

    #[test]
    fn data_of_another_plan_is_counted_and_ends_no_flow() {
        let larger = PAIRS.replace("100kB", "200kB");
        let smaller = PAIRS.replace("100kB", "50kB");
        let longer_packets = "[host]\nmtu = 2048\n";
        for (other, more) in [(&*larger, ""), (&*smaller, ""), (PAIRS, longer_packets)] {
            let [sender, receiver] = planned_apart(other, more);
            assert!(receiver.counters.misfits > 0 && sender.counters.misfits == 0);
            assert_eq!((sender.groups["pairs"].completed, receiver.groups["pairs"].received), (0, 0));
            let report = PlayReport { duration_ns: 0, complete: false, hosts: vec![sender, receiver] };
            let doubts = report.doubts();
            assert!(doubts.iter().any(|it| matches!(it, Doubt::Misfits { host, .. } if host == "right0")));
            assert_eq!(report.outcome(), Err(Unfinished::Flows { flows: 4 }));
        }
        let [_, same] = planned_apart(PAIRS, "");
        assert_eq!((same.counters.misfits, same.counters.strays), (0, 0));
    }

    #[test]
    fn sequence_numbers_of_another_seed_do_not_fit_and_the_sender_learns_that_nothing_was_acknowledged() {
        let mut other = scenario(PAIRS);
        other.seed += 1;
        let mut bench = Bench::planned_apart([&scenario(PAIRS), &other], NAMES, Interval::ZERO);
        bench.run(Nanos(20_000_000));
        let hosts: Vec<_> = bench.players.iter().map(|player| player.report(&["pairs".into()])).collect();
        let (sent, misfits) = (hosts[0].counters.data_sent, hosts[1].counters.misfits);
        assert!(misfits > 100 && sent >= misfits);
        assert_eq!(hosts[1].counters.data_received, 0);
        let report = PlayReport { duration_ns: 0, complete: false, hosts };
        let (left, right) = ("left0".to_owned(), "right0".to_owned());
        let expected = [Doubt::Unanswered { host: left }, Doubt::Misfits { host: right, packets: misfits }];
        assert_eq!(report.doubts(), expected);
    }

    #[test]
    fn timers_shorter_than_the_real_path_are_told_with_the_key_for_it() {
        let doubts = |host: &str| {
            let mut bench = Bench::new(&scenario(&format!("{PAIRS}[host]\n{host}")), NAMES, Interval::ZERO);
            bench.run(LATE);
            let hosts = vec![bench.players[0].report(&["pairs".into()])];
            PlayReport { duration_ns: 0, complete: true, hosts }.doubts()
        };
        assert_eq!(doubts(""), []);
        let hasty = doubts("go_back_n.retransmission_timeout = \"10us\"");
        assert!(matches!(&hasty[..], [Doubt::TimedOut { host, .. }] if host == "left0"), "{hasty:?}");
        assert!(hasty[0].to_string().contains("--set host.round_trip="), "{}", hasty[0]);
    }

    #[test]
    fn each_acknowledged_packet_has_a_round_trip_and_the_buckets_count_them_all() {
        let mut bench = bench();
        bench.run(LATE);
        let round_trip = bench.flows(0).round_trip.unwrap();
        let counters = bench.players[0].report(&[]).counters;
        assert_eq!((round_trip.count, round_trip.count), (counters.data_sent, counters.answers_received));
        assert_eq!(round_trip.buckets_ns.values().sum::<u64>(), round_trip.count);
        // The wire both ways, and acknowledgements that wait for each other for less than a packet takes.
        assert!(round_trip.min_ns >= 2 * DELAY.0 - DELAY.0 / 1_000, "{}", round_trip.min_ns);
        assert!(round_trip.max_ns < 2 * DELAY.0 + 2_000, "{}", round_trip.max_ns);
        assert_eq!(bench.flows(1).round_trip, None, "the receiver sends no data");
    }

    #[test]
    fn what_is_sent_twice_has_no_round_trip() {
        let mut bench = bench();
        let mut number = 0;
        bench.wire = Box::new(move |frame| {
            number += 1;
            (number != 5).then(|| frame.to_vec())
        });
        bench.run(LATE);
        let (flows, counters) = (bench.flows(0), bench.players[0].report(&[]).counters);
        let round_trip = flows.round_trip.unwrap();
        assert!(
            counters.retransmitted > 0 && round_trip.count <= counters.data_sent - 2 * counters.retransmitted
        );
        assert!(round_trip.max_ns < 2 * DELAY.0 + 2_000, "{}", round_trip.max_ns);
    }

    #[test]
    fn a_damaged_packet_is_counted_and_sent_again() {
        let mut bench = bench();
        let mut number = 0;
        bench.wire = Box::new(move |frame| {
            number += 1;
            let mut frame = frame.to_vec();
            if number == 5 {
                *frame.last_mut().unwrap() ^= 1;
            }
            Some(frame)
        });
        bench.run(LATE);
        assert_eq!(bench.flows(0).completed, 2);
        let counters = [0, 1].map(|player| bench.players[player].report(&[]).counters);
        assert_eq!(counters[0].wrong_icrc + counters[1].wrong_icrc, 1);
        assert!(counters[0].retransmitted > 0);
    }

    fn paused(pfc_delay: Interval) -> Nanos {
        let mut bench = Bench::new(&scenario(PAIRS), NAMES, pfc_delay);
        let mut frame = vec![0; 60];
        let all = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        let pause = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 0, 9]), all, PauseQuanta::MAX);
        pause.emit(&mut frame).unwrap();
        bench.give(0, frame);
        bench.run(LATE);
        let sent = &bench.sent[0];
        let gap = sent.windows(2).max_by_key(|pair| pair[1].0.since(pair[0].0)).unwrap();
        // All quanta of a pause at 10G.
        assert!(gap[1].0.since(gap[0].0) > Interval(3_000_000), "it obeyed");
        gap[0].0
    }

    #[test]
    fn a_pause_is_obeyed_after_the_delay_of_pfc() {
        let (at_once, later) = (paused(Interval::ZERO), paused(Interval::from_micros(20)));
        let between = later.since(at_once);
        assert!(between > Interval::from_micros(15) && between < Interval::from_micros(25), "{between}");
    }

    proptest::proptest! {
        #[test]
        fn no_frame_makes_a_player_panic(frame: Vec<u8>, at in 0_u64..10_000_000) {
            let mut bench = bench();
            bench.players[1].arrive(Nanos(at), &frame);
            bench.players[1].send(Nanos(at), &mut |_: &[u8]| {});
        }
    }
}
