//! A host of a plan at one port.

use crate::plan::Part;
use crate::report::{CompletionReport, CountersReport, FlowsReport, HostReport};
use core::cmp::Reverse;
use core::net::IpAddr;
use endpoint::{End, Event, FlowId, Host, Transmit};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use units::{Bytes, Interval, Nanos};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::IpProtocol;
use wire::roce::{UDP_PORT, icrc};
use wire::{ipv4, ipv6, udp};

/// Significant digits of completion times.
const DIGITS: u8 = 3;
/// The longest completion time that is told from longer ones.
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
}

impl Player {
    /// A host that begins to play its part at `begin`. Receivers are open from then on.
    pub fn new(part: &Part, settings: PlayerSettings, begin: Nanos) -> Self {
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
        self.groups.entry(number).or_insert_with(|| Group {
            flows: FlowsReport::default(),
            completion: Histogram::new_with_max(LONGEST.0, DIGITS)
                .expect("an hour fits, with up to five digits"),
        })
    }

    /// Takes a frame, without FCS. Counts packets of RoCEv2 that were damaged on the way.
    pub fn arrive(&mut self, now: Nanos, frame: &[u8]) {
        if let Ok(view) = ethernet::View::parse(frame) {
            let (ether_type, packet) = (view.ether_type(), view.into_payload());
            if ether_type == EtherType::MAC_CONTROL && self.settings.pfc_delay > Interval::ZERO {
                self.pauses.push_back((now + self.settings.pfc_delay, frame.to_vec()));
                return;
            }
            if is_roce(ether_type, packet) && !icrc::verify(packet).unwrap_or(false) {
                self.wrong_icrc += 1;
                return;
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
        let Self { host, settings, frame, .. } = self;
        host.egress(now, &mut Outlet { settings, frame, out });
        self.take_events(now);
    }

    fn start_and_stop(&mut self, now: Nanos) {
        let begin = self.begin;
        while let Some(end) = self.starts.pop_front_if(|end| begin + end.start <= now) {
            let (flow, bytes) = (end.connection.flow, end.connection.length);
            self.group(end.group).flows.started += 1;
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
            let completion = (!group.completion.is_empty()).then(|| CompletionReport::of(&group.completion));
            (name, FlowsReport { completion, ..group.flows })
        });
        HostReport {
            name: self.name.clone(),
            groups: flows.collect(),
            counters: CountersReport::new(self.host.counters(), self.wrong_icrc),
        }
    }
}

/// Completes the frames of a host: destination, payload and ICRC.
struct Outlet<'a, F> {
    settings: &'a PlayerSettings,
    frame: &'a mut Vec<u8>,
    out: &'a mut F,
}

impl<F: FnMut(&[u8])> Transmit for Outlet<'_, F> {
    fn frame(&mut self, _start: Nanos, headers: &[u8], length: Bytes, _flow: Option<FlowId>) {
        self.frame.clear();
        self.frame.extend_from_slice(headers);
        self.frame.resize(usize::try_from(length.0).unwrap_or(headers.len()).max(headers.len()), 0);
        let Ok(view) = ethernet::View::parse(self.frame.as_slice()) else { return };
        let (ether_type, packet) = (view.ether_type(), view.into_payload());
        let station = destination(ether_type, packet).and_then(|it| self.settings.stations.get(&it));
        if let Some(mac) = self.settings.router.as_ref().or(station) {
            self.frame[..6].copy_from_slice(&mac.0);
        }
        if icrc::fill(&mut self.frame[ethernet::HEADER_LEN..]).is_ok() {
            (self.out)(self.frame);
        }
    }
}

/// Where a packet goes.
fn destination(ether_type: EtherType, packet: &[u8]) -> Option<IpAddr> {
    match ether_type {
        EtherType::IPV4 => Some(ipv4::View::parse(packet).ok()?.destination().into()),
        EtherType::IPV6 => Some(ipv6::View::parse(packet).ok()?.destination().into()),
        _ => None,
    }
}

/// Whether a packet is one of RoCEv2.
fn is_roce(ether_type: EtherType, packet: &[u8]) -> bool {
    let datagram = match ether_type {
        EtherType::IPV4 => ipv4::View::parse(packet)
            .ok()
            .filter(|it| it.protocol() == IpProtocol::UDP)
            .map(ipv4::View::into_payload),
        EtherType::IPV6 => ipv6::View::parse(packet)
            .ok()
            .filter(|it| it.next_header() == IpProtocol::UDP)
            .map(ipv6::View::into_payload),
        _ => None,
    };
    datagram.and_then(|it| udp::View::parse(it).ok()).is_some_and(|it| it.destination_port() == UDP_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let plan = crate::Plan::new(&scenario(PAIRS), &NAMES.map(str::to_owned)).unwrap();
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
        let plan = crate::Plan::new(&scenario(PAIRS), &["left0".to_owned()]).unwrap();
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
