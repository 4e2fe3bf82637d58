//! What one forged frame can cost whoever is on the long link: time, frames in answer, notifications.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{host_mac, supplement, two_ports};
use conformance::two_gateways::{ONE_WAY, slots, with_long_link};
use conformance::{A, B, Connection, Flow, P1, P3, TestFrame, Testbench};
use switch::flow_control::cbfc::settings::{Cbfc, Counter};
use switch::flow_control::port_grants::settings::PortGrants;
use switch::program::{FlowControl, MarkAt, Red, Settings};
use units::{Bytes, Interval, Nanos, PrioritySet, WireBytes};
use wire::grants::slot::{Head, Kind};
use wire::grants::{Message, behind, credit, far_port, slot};
use wire::ip::Ecn;

/// The time after which what a silent peer has said is over: a second, 10 ms and the round trip.
const SILENT: Interval = Interval(1_010_000_000 + 2 * ONE_WAY.0 + 3_000);
/// A longer time.
const LATER: Interval = Interval::from_millis(1_200);
/// More frames than a port says in answer to one message: it hears its peer for a second.
const ANSWERS: usize = 40;

fn x() -> FlowControl {
    FlowControl::BifrostX(slots())
}

fn port_grants() -> FlowControl {
    FlowControl::PortGrants(PortGrants { slots: slots(), far_ports: 2 })
}

fn credits() -> FlowControl {
    FlowControl::Cbfc(Cbfc { buffer: WireBytes(1 << 24), interval: Interval(10_000), counter: Counter::Wide })
}

/// A data center behind A, and this flow control on the long link behind B.
fn gateway(flow_control: FlowControl) -> Settings {
    let mut settings = with_long_link(two_ports(), B, flow_control);
    let port = &mut settings.ports[B.index()];
    if let FlowControl::PortGrants(it) = flow_control {
        let added: Vec<_> = it.queues(port.lossless()).map(|it| port.queues[it.index()]).collect();
        port.queues.extend(added);
    }
    settings
}

fn frame(message: Message) -> TestFrame {
    let mut bytes = vec![0; message.frame_len()];
    message.emit(host_mac(A), &mut bytes).unwrap();
    TestFrame::new(bytes)
}

/// Every combination of the extremes of the fields of a head.
fn heads() -> Vec<Head> {
    let mut heads = Vec::new();
    for kind in [Kind::Pauses, Kind::Grant, Kind::Free] {
        for bits in 0..64_u32 {
            let extreme = |bit: u32| if bits >> bit & 1 == 0 { 0 } else { u32::MAX };
            heads.push(Head {
                kind,
                follows: extreme(0) > 0,
                priorities: PrioritySet::from_bits(if extreme(1) > 0 { 0xff } else { 1 << P3.number() }),
                sequence: [0, 64, 1 << 31, u32::MAX][(bits >> 2 & 3) as usize],
                slot: Interval(extreme(4).into()),
                total: WireBytes(extreme(5).into()),
            });
        }
    }
    heads
}

/// The messages with the fields at their extremes that a port with this flow control may hear.
fn messages(flow_control: FlowControl) -> Vec<Message> {
    let extremes = [WireBytes(0), WireBytes(u32::MAX.into())];
    let heads = heads().into_iter();
    match flow_control {
        FlowControl::BifrostX(_) => heads
            .flat_map(|head| extremes.map(|each| Message::Slot(slot::Message { head, each: [each; 8] })))
            .collect(),
        FlowControl::PortGrants(_) => heads
            .flat_map(|head| {
                extremes.map(|each| {
                    let (count, each) = (far_port::MOST as u8, [each; far_port::MOST]);
                    Message::FarPort(far_port::Message { head, count, each })
                })
            })
            .chain([0, 14].map(|port| {
                let all = behind::Destination { address: [0, 0, 0, 0].into(), length: 0, port };
                Message::Behind(behind::Message::new(u32::MAX, 0, 1, &[all]))
            }))
            .collect(),
        _ => (0..64_u32)
            .map(|bits| {
                let extreme = |bit: u32| if bits >> bit & 1 == 0 { 0 } else { u32::MAX };
                Message::Credit(credit::Message {
                    counter: Counter::Wide,
                    priorities: PrioritySet::from_bits(extreme(0) as u8),
                    sequence: extreme(1),
                    session: extreme(2).max(1),
                    echo: extreme(3),
                    sent: [WireBytes(u64::from(extreme(4)) << 32); 8],
                    limit: [extreme(5); 8],
                })
            })
            .collect(),
    }
}

/// The control frames that have left through the long link, pauses excepted.
fn said(bench: &Testbench) -> usize {
    bench.sent(B).iter().filter(|sent| sent.control && sent.pfc().is_none()).count()
}

/// Bytes of the lossy and of the lossless frames.
const LENGTHS: [usize; 2] = [500, 1_000];

/// The times at which the last lossy and the last lossless frame have left through the long link.
fn left_at(bench: &Testbench) -> [Option<Nanos>; 2] {
    let of = |length| bench.data(B).filter(move |sent| sent.frame.bytes.len() == length);
    LENGTHS.map(|length| of(length).map(|sent| sent.start).max())
}

/// The bench after `forged` and some data, some time later. A driver that gets no further fails in the bench.
fn after(flow_control: FlowControl, forged: Option<TestFrame>) -> Testbench {
    let mut bench = Testbench::new(gateway(flow_control));
    bench.inject_singly(B, forged);
    for (priority, length) in [P1, P3].into_iter().zip(LENGTHS) {
        bench.inject(A, Flow::new(A, B).at(priority).udps(3, length));
    }
    bench.run_for(LATER);
    bench.assert_conserved();
    bench
}

/// A grant of nothing for a slot of 4.29 s, on a link on which no one else speaks: its replay never ended.
#[test]
fn a_forged_grant_with_a_long_slot_holds_a_port_until_its_far_end_counts_as_silent() {
    let mut bytes = vec![1, 0x80, 0xc2, 0, 0, 3, 0x52, 0x54, 0, 0, 0, 3, 0x88, 0xb5, 1, 0x81, 8, 0];
    bytes.extend([0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(62, 0xff);
    let mut short = bytes.clone();
    short[22..26].copy_from_slice(&10_000_u32.to_be_bytes());
    for frame in [short, bytes] {
        let bench = after(x(), Some(TestFrame::new(frame)));
        let left = left_at(&bench)[1].unwrap();
        assert!(left.since(Nanos(0)) >= SILENT && left.since(Nanos(0)) < SILENT + Interval(1_000), "{left}");
    }
}

#[test]
fn one_forged_message_holds_no_port_beyond_silence_and_no_lossy_frame_at_all() {
    for flow_control in [x(), port_grants()] {
        let spoken = said(&after(flow_control, None));
        for message in messages(flow_control) {
            let bench = after(flow_control, Some(frame(message)));
            let [lossy, lossless] = left_at(&bench).map(Option::unwrap);
            assert!(lossy < Nanos(1_000), "{lossy} {message:?}");
            assert!(lossless < Nanos(0) + SILENT + Interval(1_000), "{lossless} {message:?}");
            assert!(said(&bench) <= spoken + ANSWERS, "{} of {spoken} {message:?}", said(&bench));
        }
    }
}

#[test]
fn one_forged_message_opens_and_costs_a_port_with_credits_nothing_that_the_next_true_one_does_not_end() {
    let spoken = said(&after(credits(), None));
    for message in messages(credits()) {
        let bench = after(credits(), Some(frame(message)));
        assert!(left_at(&bench)[0].unwrap() < Nanos(1_000), "{message:?}");
        assert!(said(&bench) <= spoken + 2, "{} of {spoken} {message:?}", said(&bench));
        let report = *bench.shard.flow_control(B).cbfc().unwrap();
        assert_eq!(report.repaired, WireBytes(0), "{message:?}");
    }
}

/// The pauses that a port sends in some slots while a neighbour that knows no grants fills it.
fn pauses_to_a_neighbour(flow_control: FlowControl, forged: Option<TestFrame>) -> usize {
    let mut bench = Testbench::new(gateway(flow_control));
    bench.run_for(Interval(1_000));
    bench.inject_singly(B, forged);
    bench.block(A, P3);
    for _ in 0..40 {
        bench.inject(B, Flow::new(B, A).at(P3).udps(125, 1_000));
        bench.run_for(slots().slot);
    }
    bench.pauses(B, P3).len()
}

#[test]
fn one_forged_message_spares_a_neighbour_that_knows_no_grants_no_pause() {
    for flow_control in [x(), port_grants()] {
        let control = pauses_to_a_neighbour(flow_control, None);
        assert!(control > 20, "{control}");
        for message in messages(flow_control) {
            let pauses = pauses_to_a_neighbour(flow_control, Some(frame(message)));
            assert!(pauses >= control, "{pauses} of {control} {message:?}");
        }
    }
}

/// Supplemental CNPs for what leaves through the long link, from a queue that marks beyond a few frames.
fn supplemental(mut settings: Settings) -> Settings {
    let port = &mut settings.ports[B.index()];
    port.notifiers.supplement = Some(supplement());
    let red = Red { kmin: Bytes(1), kmax: Bytes(4_000), pmax: 1.0, mark_at: MarkAt::Dequeue, adaptive: None };
    port.queues[P3.index()].red = Some(red);
    settings
}

/// The notifications that reach the sender of a flow, a packet of which comes every 2 us: of 4 ms after `forged` came. `bursts`
/// packets come at once.
fn notified(settings: Settings, forged: Option<TestFrame>, bursts: u32) -> usize {
    let connection = Connection::new(Flow::new(A, B).v6().at(P3).ecn(Ecn::Ect0), 5);
    let mut bench = Testbench::new(settings);
    bench.inject_singly(A, [connection.request()]);
    bench.inject_singly(B, [connection.reply()]);
    bench.run_for(Interval::from_micros(500));
    bench.inject_singly(A, [connection.data(0, 1_000)]);
    bench.run_for(Interval::from_micros(500));
    bench.newly_sent(A);
    bench.inject_singly(B, forged);
    for number in 0..2_000 / bursts {
        let psns = 1 + number * bursts..1 + (number + 1) * bursts;
        bench.inject(A, psns.map(|psn| connection.data(psn, 1_000)));
        bench.run_for(Interval(2_000) * u64::from(bursts));
    }
    bench.run_for(LATER);
    bench.newly_sent(A).iter().filter(|sent| sent.control && sent.pfc().is_none()).count()
}

/// A forged message makes a queue grow, and its packets are marked when they leave. A sender is told so once for each timer,
/// as after any other congestion.
#[test]
fn one_forged_message_brings_a_sender_no_more_notifications_than_congestion_does() {
    let quiet = notified(supplemental(two_ports()), None, 1);
    let congested = notified(supplemental(two_ports()), None, 50);
    assert!(quiet == 0 && congested >= 2, "{quiet} and {congested}: in the control they flow");
    for flow_control in [x(), port_grants()] {
        let some = messages(flow_control).into_iter().step_by(7);
        let settings = || supplemental(gateway(flow_control));
        let told = some.map(|message| notified(settings(), Some(frame(message)), 1)).max();
        assert!(told > Some(0) && told <= Some(congested), "{told:?} of {congested}");
    }
}
