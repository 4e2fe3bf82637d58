//! LLDPDUs at the ports of a gateway: where they end, and that no neighbour takes more of the gateway than its place.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::patched;
use conformance::{A, B, TestFrame, Testbench};
use switch::link_agent::LinkAgent;
use switch::{Consumed, DropReason, ForwardingSettings};
use units::{Interval, PortId};
use wire::ethernet::MacAddress;
use wire::lldp::{Id, LONGEST_EMITTED, Message};

/// A gateway of this forwarding whose port A has a link agent.
fn bench(forwarding: ForwardingSettings) -> Testbench {
    let mut settings = patched(2);
    settings.forwarding = forwarding;
    let message =
        Message { chassis: Id::of_chassis(MacAddress([2; 6])), port: Id::of_port("a"), ..Message::default() };
    let agent = LinkAgent { interval: Interval::from_secs(30), message };
    settings.ports[A.index()].link_agent = Some(Box::new(agent));
    Testbench::new(settings)
}

/// An announcement of the neighbour with this port.
fn announcement(port: &str) -> Vec<u8> {
    let source = MacAddress([2, 0, 0, 0, 9, 9]);
    let (chassis, port) = (Id::of_chassis(source), Id::of_port(port));
    let mut bytes = vec![0; LONGEST_EMITTED];
    let message = Message { chassis, port, ttl_seconds: u16::MAX, ..Message::default() };
    let length = message.emit(source, &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

fn dropped(bench: &Testbench, port: PortId, reason: DropReason) -> u64 {
    bench.dropped(port, bench.shard.program().port(port).classification.default, reason).frames
}

fn consumed(bench: &Testbench, port: PortId) -> u64 {
    bench.shard.ingress_counters(port).consumed[Consumed::Lldp.index()].frames
}

fn neighbours(bench: &Testbench) -> usize {
    bench.shard.link_agent(bench.now(), A).unwrap().neighbours.iter().count()
}

#[test]
fn an_lldpdu_ends_at_a_port_with_an_agent_and_goes_the_way_of_its_address_at_any_other() {
    for (forwarding, passed, refused) in
        [(patched(2).forwarding, 1, 0), (ForwardingSettings::Bridge(Default::default()), 0, 1)]
    {
        let mut bench = bench(forwarding);
        let tagged = [&announcement("x")[..12], &[0x81, 0, 0xa0, 7], &announcement("x")[12..]].concat();
        let mut cut = announcement("x");
        cut.truncate(20);
        for bytes in [announcement("x"), tagged, cut] {
            bench.inject(A, [TestFrame::new(bytes)]);
        }
        bench.inject(B, [TestFrame::new(announcement("x"))]);
        bench.run_for(Interval::from_millis(10));
        assert_eq!((consumed(&bench, A), neighbours(&bench)), (1, 1));
        assert_eq!(dropped(&bench, A, DropReason::MalformedControl), 2, "a tagged one, and one cut off");
        assert_eq!(bench.data(B).count(), 0, "none of them is forwarded");
        assert_eq!(bench.data(A).count(), passed, "a patch without an agent is a wire");
        assert_eq!(dropped(&bench, B, DropReason::LinkLocal), refused);
        bench.assert_conserved();
    }
}

#[test]
fn a_flood_of_neighbours_takes_four_places_and_causes_no_flood_of_announcements() {
    let mut bench = bench(patched(2).forwarding);
    for number in 0..10_000 {
        bench.inject(A, [TestFrame::new(announcement(&number.to_string()))]);
    }
    assert_eq!((consumed(&bench, A), neighbours(&bench)), (10_000, 4));
    let report = bench.shard.link_agent(bench.now(), A).unwrap();
    assert!(report.unread > 9_900, "{report:?}");
    assert!(report.sent <= 1, "no two leave within a second");
}
