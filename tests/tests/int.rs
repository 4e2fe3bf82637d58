//! In-band telemetry of HPCC: what a port writes into the packets that ask for it, and into no others.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{host_mac, host_v4, port_mac, two_ports};
use conformance::{A, B, Flow, P3, TestFrame, Testbench};
use endpoint::{
    CongestionControl, Connection, End, FlowId, GoBackN, Host, HostSettings, Hpcc, Station, Transmit,
    Transport,
};
use std::sync::Arc;
use switch::program::{PortError, ProgramError, Settings};
use switch::{Frame, Program};
use units::{BitRate, Bytes, Interval, Nanos, PortId, PrioritySet, WireBytes};
use wire::int::{self, Format, Header, HopNumber};
use wire::ip::{Dscp, Ecn};
use wire::roce::bth::{self, Telemetry};
use wire::roce::{Opcode, Psn, QueuePair, icrc, source_port_of_queue_pairs};
use wire::vlan::{Tag, VlanId};

const FIVE: Format = Format::Five;

fn telling() -> Settings {
    let mut settings = two_ports();
    settings.ports[1].int = true;
    settings
}

/// A packet with `payload` bytes behind a BTH that says `telemetry`.
fn packet(flow: &Flow, telemetry: Telemetry, payload: usize) -> TestFrame {
    let opcode = if matches!(telemetry, Telemetry::Returned(_)) {
        Opcode::RC_ACKNOWLEDGE
    } else {
        Opcode::RC_SEND_ONLY
    };
    let header = bth::Header { telemetry, ..bth::Header::new(opcode, QueuePair::from_low_bits(7)) };
    flow.roce(&header, &vec![0; payload])
}

fn collecting(flow: &Flow, payload: usize) -> TestFrame {
    packet(flow, Telemetry::Collected(FIVE), FIVE.bytes() + payload)
}

fn telemetry(frame: &TestFrame, flow: &Flow) -> Header {
    int::View::parse(&frame.bytes[flow.header_len() + bth::HEADER_LEN..], FIVE).unwrap().header()
}

/// A flow in every form in which a RoCEv2 packet can come.
fn forms() -> [Flow; 4] {
    let tag = Tag { priority: P3, drop_eligible: false, id: VlanId::new(7).unwrap() };
    let flow = Flow::new(A, B).at(P3);
    [flow, flow.v6(), flow.tagged(tag), flow.v6().tagged(tag).ecn(Ecn::Ect0)]
}

#[test]
fn packets_that_leave_back_to_back_show_a_full_link_and_the_queue_behind_them() {
    // One frame to a turn, and as many as the window lets ahead of the link.
    for tx_window in [Interval::ZERO, Interval(5_000)] {
        let mut settings = telling();
        settings.ports[1].tx_window = tx_window;
        let mut bench = Testbench::new(settings);
        let flow = Flow::new(A, B).at(P3);
        let frame = collecting(&flow, 4_000);
        let (length, count) = (frame.length, 32);
        bench.run_until(Nanos(5_000));
        bench.inject(A, vec![frame; count]);
        bench.run_dry();
        let sent: Vec<_> = bench.data(B).cloned().collect();
        let headers: Vec<_> = sent.iter().map(|sent| telemetry(&sent.frame, &flow)).collect();
        let on_wire = WireBytes::of_frame(Bytes(length)).0;
        let rate = BitRate::gigabits(100);
        for (index, (header, sent)) in headers.iter().zip(&sent).enumerate() {
            let hop = header.hops[0].unwrap();
            assert_eq!((header.passed, header.path), (1, HopNumber::of(port_mac(B))));
            assert_eq!((hop.rate.rate(), u64::from(hop.timestamp)), (rate, sent.start.0));
            assert_eq!(u64::from(hop.sent), index as u64 * on_wire / 256);
            assert_eq!(u64::from(hop.queue), (count - 1 - index) as u64 * length / 1_024);
        }
        let (first, last) = (headers[0].hops[0].unwrap(), headers[count - 1].hops[0].unwrap());
        let carried = rate.bytes_in(Interval(last.nanos_since(&first)));
        assert!(carried.abs_diff(last.bytes_since(&first)) < 512, "the link was full");
    }
}

#[test]
fn every_form_of_packet_is_stamped_and_its_icrc_stays_right() {
    let mut bench = Testbench::new(telling());
    let frames = forms().map(|flow| collecting(&flow, 100));
    bench.inject(A, frames.clone());
    bench.run_dry();
    for ((flow, before), sent) in forms().iter().zip(&frames).zip(bench.data(B)) {
        let frame = &sent.frame;
        assert_eq!(telemetry(frame, flow).passed, 1);
        let offset = flow.header_len() + bth::HEADER_LEN;
        assert_eq!(frame.bytes[..offset], before.bytes[..offset]);
        assert_eq!(frame.bytes[offset + FIVE.bytes()..], before.bytes[offset + FIVE.bytes()..]);
        let ip = if flow.tag.is_some() { 18 } else { 14 };
        assert_eq!(icrc::verify(&frame.bytes[ip..]), Ok(true));
    }
}

#[test]
fn a_second_hop_adds_to_the_first() {
    let (mut first, mut second) = (Testbench::new(telling()), Testbench::new(telling()));
    let flow = Flow::new(A, B).at(P3);
    first.inject(A, [collecting(&flow, 100)]);
    first.run_dry();
    let passed: Vec<_> = first.data(B).map(|sent| sent.frame.clone()).collect();
    second.run_until(Nanos(70_000));
    second.inject(A, passed);
    second.run_dry();
    let header = telemetry(&second.data(B).next().unwrap().frame, &flow);
    assert_eq!(header.hops.map(|hop| hop.map(|hop| hop.timestamp))[..3], [Some(0), Some(70_000), None]);
    assert_eq!(header.path, HopNumber::default(), "the same number twice is none");
}

#[test]
fn what_does_not_ask_passes_unchanged() {
    let mut bench = Testbench::new(telling());
    let flow = Flow::new(A, B).at(P3);
    let mut other_port = collecting(&flow, 100);
    other_port.bytes[36..38].copy_from_slice(&4_792_u16.to_be_bytes());
    let mut fragment = collecting(&flow, 100);
    fragment.bytes[21] = 3;
    let mut frames = vec![
        packet(&flow, Telemetry::None, 200),
        packet(&flow, Telemetry::Returned(FIVE), 200),
        packet(&flow, Telemetry::Collected(FIVE), FIVE.bytes() - icrc::LEN - 4),
        flow.udp(200),
        other_port,
        fragment,
    ];
    // The headers end within the telemetry: there is nothing to write to.
    frames.push(collecting(&flow, 100).cut_to(flow.header_len() + bth::HEADER_LEN + FIVE.bytes() - 1));
    bench.inject(A, frames.clone());
    bench.run_dry();
    assert_eq!(bench.data(B).map(|sent| sent.frame.clone()).collect::<Vec<_>>(), frames);
}

#[test]
fn a_port_where_it_is_off_stamps_nothing_and_a_new_program_turns_it_on() {
    let mut bench = Testbench::new(two_ports());
    let flow = Flow::new(A, B).at(P3);
    bench.inject(A, [collecting(&flow, 100)]);
    bench.run_dry();
    bench.shard.install(bench.now(), Program::new(telling()).unwrap().into()).unwrap();
    bench.inject(A, [collecting(&flow, 100)]);
    bench.run_dry();
    let passed: Vec<_> = bench.data(B).map(|sent| telemetry(&sent.frame, &flow).passed).collect();
    assert_eq!(passed, [0, 1]);
    let hop = telemetry(&bench.data(B).nth(1).unwrap().frame, &flow).hops[0].unwrap();
    let first = bench.data(B).next().unwrap().frame.length();
    assert_eq!(u64::from(hop.sent), WireBytes::of_frame(first).0 / 256, "what went before counts");
}

/// The frames that a host gives out at its deadlines, until it has none.
#[derive(Default)]
struct Emitted(Vec<TestFrame>);

impl Transmit for Emitted {
    fn frame(&mut self, _start: Nanos, headers: &[u8], length: Bytes, _flow: Option<FlowId>) {
        let mut frame = TestFrame::new(headers.to_vec());
        frame.length = length.0;
        self.0.push(frame);
    }
}

fn host(port: PortId) -> Host {
    Host::new(Arc::new(HostSettings {
        station: Station { mac: host_mac(port), address: host_v4(port).into() },
        next_hop: port_mac(port),
        rate: BitRate::gigabits(100),
        mtu: 1_024,
        lossless: PrioritySet::EMPTY.with(P3),
        dscp: core::array::from_fn(|priority| Dscp::from_low_bits(8 * priority as u8)),
        control_priority: None,
        transport: Transport::GoBackN(GoBackN::default()),
        congestion_control: CongestionControl::Hpcc(Hpcc::default()),
        cnp_interval: None,
        connection_management: None,
    }))
}

#[test]
fn a_host_with_hpcc_gets_back_what_the_switch_wrote() {
    let mut hosts = [host(A), host(B)];
    let pairs = [0, 1].map(|host: usize| hosts[host].reserve().expect("no queue pair is taken yet"));
    for (index, end) in [(1, End::Receiver), (0, End::Sender)] {
        hosts[index].connect(
            Nanos::ZERO,
            &Connection {
                flow: FlowId(0),
                end,
                local: pairs[index],
                remote: pairs[1 - index],
                source_port: source_port_of_queue_pairs(pairs[index], pairs[1 - index]),
                peer: host_v4([A, B][1 - index]).into(),
                priority: P3,
                first_psn: Psn::from_low_bits(9),
                length: Some(1_024),
            },
        );
    }
    let mut data = Emitted::default();
    hosts[0].egress(Nanos::ZERO, &mut data);
    let mut bench = Testbench::new(telling());
    bench.inject(A, data.0);
    bench.run_dry();
    let mut frame = bench.data(B).next().unwrap().frame.clone();
    let flow = Flow::new(A, B);
    let written = telemetry(&frame, &flow);
    assert_eq!(written.passed, 1);
    frame.bytes[..6].copy_from_slice(&host_mac(B).0);
    hosts[1].ingress(Nanos(1_000), &frame.bytes, Bytes(frame.length));
    let mut answers = Emitted::default();
    hosts[1].egress(Nanos(1_000), &mut answers);
    let answer = &answers.0[0];
    let bth = bth::View::parse(&answer.bytes[flow.header_len()..]).unwrap();
    assert_eq!(bth.telemetry(), Telemetry::Returned(FIVE));
    assert_eq!(int::View::parse(&bth.payload()[4..], FIVE).unwrap().header(), written);
    assert_eq!(icrc::verify(&answer.bytes[14..]), Ok(true));
    // A switch leaves it alone.
    bench.inject(A, [answer.clone()]);
    bench.run_dry();
    assert_eq!(bench.data(B).nth(1).unwrap().frame.bytes, answer.bytes);
}

#[test]
fn a_rate_that_cannot_be_said_is_refused() {
    let mut settings = telling();
    settings.ports[1].rate = BitRate::gigabits(30);
    let Err(error) = Program::new(settings) else { panic!("it was taken") };
    let (port, error_of_port) = ("port1".into(), PortError::TelemetryRate { rate: BitRate::gigabits(30) });
    assert_eq!(error, ProgramError::Port { port, error: error_of_port });
    assert!(error.to_string().contains("100G, 200G"));
}
