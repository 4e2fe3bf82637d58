//! Priorities that a neighbour turns off, and why headroom moves.

use super::link_delay::wait_until;
use super::*;
use units::Interval;
use wire::ethernet::MacAddress;
use wire::lldp::{Id, LONGEST_EMITTED, Message, Pfc};

/// A file whose first port lets a neighbour turn off its only lossless priority.
fn willing() -> String {
    let lossless =
        "rate = \"10G\"\ndistance = \"10m\"\nlossless = [{ priorities = [3] }]\nlldp = { willing = [3] }";
    FILE.replacen("rate = \"10G\"", lossless, 1)
}

/// The announcement of a neighbour without PFC.
fn announcement() -> Vec<u8> {
    let source = MacAddress([2, 0, 0, 0, 9, 9]);
    let (chassis, port) = (Id::of_chassis(source), Id::of_port("a"));
    let pfc = Some(Pfc { capability: 8, ..Pfc::default() });
    let mut bytes = vec![0; LONGEST_EMITTED];
    let message = Message { chassis, port, ttl_seconds: 120, pfc, ..Message::default() };
    let length = message.emit(source, &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// What a control thread knows that heard it for a minute.
fn long_known(gateway: &Gateway) -> LinkAgents {
    let (mut shard, now) = (Shard::single(gateway.program.clone()), Nanos(0) + Interval::from_secs(9));
    shard.ingress(now, PortId(0), &mut vec![announcement()], &mut ());
    let heard = [shard.link_agent(now, PortId(0)), None];
    let mut agents = LinkAgents::new(2);
    assert!(!agents.see(&heard, gateway, Instant::now() - Duration::from_secs(60)), "it must last first");
    agents
}

#[test]
fn a_neighbour_that_turns_a_priority_off_is_an_event_of_its_port_and_the_reason_of_the_headroom() {
    let file = willing();
    let agents = long_known(&config::parse(&file, "gw.toml").unwrap());
    let gateway = Running::start_knowing(&file, true, None, announcement(), agents);
    let is_off = |it: &Snapshot| it.ports[0].negotiated.as_ref().is_some_and(|it| it.turned_off(3));
    let shown = wait_until(&gateway, is_off);
    assert_eq!(shown.ports[0].negotiated.as_ref().unwrap().applied, 1);
    let follower = gateway.events_of(&["negotiated", "headroom_moved"], 100);
    gateway.end();
    let events: Vec<_> = follower.batches.iter().flatten().collect();
    let neighbour = Some("02:00:00:00:09:09 (port a)".to_owned());
    let told = What::Negotiated { enabled: vec![], configured: vec![3], neighbour };
    assert!(events.iter().any(|it| it.port == Some(PortId(0)) && it.what == told), "{events:?}");
    // A busy machine may have moved it before, for a late worker.
    let is_dcbx = |it: &What| matches!(it, What::HeadroomMoved { reason: "dcbx", to_bytes: 0, .. });
    assert!(events.iter().any(|it| is_dcbx(&it.what)), "{events:?}");
}

#[test]
fn headroom_moves_for_a_neighbour_where_no_worker_was_late_and_no_link_was_measured() {
    let reason = |is_late, is_measured| Reason::of(is_late, is_measured).name();
    assert_eq!(reason(false, false), "dcbx");
    assert_eq!(reason(false, true), "link_delay");
    assert_eq!([reason(true, false), reason(true, true)], ["lateness"; 2]);
    // What waits for room keeps its reason if a lesser one joins it.
    assert_eq!(Reason::Dcbx.max(Reason::LinkDelay).max(Reason::Dcbx), Reason::LinkDelay);
}
