//! Two soft-RoCE hosts. The truth is written down below. A test reads from REQ and REP, without the resolver,
//! what the connection manager agreed on; two pairs that did without it are held to their PSNs.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use units::Bytes;

static CAPTURE: &[u8] = include_bytes!("../../../../../tests/data/captures/rxe-cm-multiqp.pcap");

/// In the capture: the half-flows that carry data, by the last byte of the sender's address, and the queue pair
/// that they go to and come from.
const DATA: [(u8, u32, u32); 15] = [
    (1, 0x1f, 0x11),
    (1, 0x20, 0x12),
    (1, 0x21, 0x13),
    (1, 0x22, 0x14),
    (1, 0x23, 0x15),
    (1, 0x24, 0x16),
    (1, 0x25, 0x17),
    (1, 0x26, 0x18),
    (1, 0x27, 0x19),
    (1, 0x29, 0x1b),
    (2, 0x11, 0x1f),
    (2, 0x15, 0x23),
    (2, 0x19, 0x27),
    (2, 0x1a, 0x28),
    (2, 0x1b, 0x29),
];

/// Instants and frames of a capture: little endian, microseconds.
fn frames() -> impl Iterator<Item = (Nanos, &'static [u8])> {
    let mut rest = &CAPTURE[24..];
    core::iter::from_fn(move || {
        let field = |at: usize| Some(u64::from(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?)));
        let (seconds, micros, length) = (field(0)?, field(4)?, field(8)?);
        let frame = &rest[16..16 + length as usize];
        rest = &rest[16 + length as usize..];
        Some((Nanos(seconds * 1_000_000_000 + micros * 1_000), frame))
    })
}

fn packets() -> impl Iterator<Item = (Nanos, Packet<'static>)> {
    frames().filter_map(move |(now, frame)| {
        let descriptor = Descriptor::parse(frame, Bytes(frame.len() as u64))?;
        // The host with the lower address is behind this end.
        let packet = Packet::find(Way::Out, PortId(0), &descriptor, frame)?;
        let Hosts { source, destination, .. } = packet.key.hosts;
        let way = if source.number() < destination.number() { Way::Out } else { Way::In };
        Some((now, Packet::find(way, PortId(0), &descriptor, frame)?))
    })
}

fn last_byte(packet: &Packet) -> u8 {
    packet.key.hosts.source.number() as u8
}

/// Both halves of every connection that the connection manager made, by the sender's last byte and the receiver's
/// queue pair.
fn managed() -> BTreeMap<(u8, u32), u32> {
    let mut requests = BTreeMap::new();
    let mut managed = BTreeMap::new();
    for (_, packet) in packets() {
        match management::View::in_packet(&packet.bth).map(|datagram| datagram.message()) {
            Some(management::Message::Request { local, qp, .. }) => {
                requests.insert(local, (last_byte(&packet), qp.number()));
            }
            Some(management::Message::Reply { remote, qp, .. }) => {
                let (host, source) = requests[&remote];
                managed.insert((host, qp.number()), source);
                managed.insert((last_byte(&packet), source), qp.number());
            }
            _ => {}
        }
    }
    managed
}

/// The PSNs of requests, or of acknowledgements, that went to each queue pair.
fn psns_of(wanted: impl Fn(Opcode) -> bool) -> BTreeMap<(u8, u32), BTreeSet<u32>> {
    let mut psns: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (_, packet) in packets().filter(|(_, packet)| wanted(packet.bth.opcode())) {
        let half = (last_byte(&packet), packet.key.qp.number());
        psns.entry(half).or_default().insert(packet.bth.psn().number());
    }
    psns
}

/// The queue pair that sends each half-flow: [`DATA`], and the same read the other way.
fn truth() -> BTreeMap<(u8, u32), u32> {
    let both = |(host, qp, source)| [((host, qp), source), ((3 - host, source), qp)];
    DATA.into_iter().flat_map(both).collect()
}

/// The half-flows that carry data, in order, and the queue pair that each was found to come from. Fails where
/// one is wrong at any time.
fn resolve(skip: impl Fn(&Packet) -> bool) -> BTreeMap<(u8, u32), Option<u32>> {
    let truth = truth();
    let mut port = Port::new();
    let mut found = BTreeMap::new();
    let mut shown = BTreeMap::new();
    for (now, packet) in packets().filter(|(_, packet)| !skip(packet)) {
        let Sighting::Of(slot) = port.flows.observe(now, &packet, WireBytes(0)) else { continue };
        assert_eq!(port.slot(packet.key.hosts, packet.key.qp.number()), Some(slot));
        shown.insert((last_byte(&packet), packet.key.qp.number()), packet.key.hosts);
        for (half, hosts) in &shown {
            // Some have aged.
            let Some(slot) = port.slot(*hosts, half.1) else { continue };
            let source = port.flows.source_of(slot).map(QueuePair::number);
            assert!(source.is_none_or(|source| source == truth[half]), "{half:x?} from {source:x?}");
            if port.flows.hot(slot).progress.has_data() {
                let ever: &mut Option<u32> = found.entry(*half).or_default();
                *ever = ever.or(source);
            }
        }
    }
    found
}

#[test]
fn the_truth_of_the_capture_is_as_written_down() {
    assert_eq!(packets().count(), 643);
    let (managed, truth) = (managed(), truth());
    let unmanaged: Vec<_> = truth.keys().filter(|half| !managed.contains_key(half)).copied().collect();
    assert_eq!(unmanaged, [(1, 0x25), (1, 0x26), (2, 0x17), (2, 0x18)]);
    assert!(managed.iter().all(|(half, source)| truth[half] == *source));
    // Those exchanged their queue pairs over TCP. Each acknowledgement repeats a PSN that was sent to the other
    // one, and to no other.
    let requests = psns_of(|opcode| !opcode.is_response() && opcode != Opcode::UD_SEND_ONLY);
    let acknowledgements = psns_of(|opcode| opcode == Opcode::RC_ACKNOWLEDGE);
    for (destination, source) in [(0x25, 0x17), (0x26, 0x18)] {
        for psn in &acknowledgements[&(2, source)] {
            let sent: Vec<_> =
                requests.iter().filter(|(_, psns)| psns.contains(psn)).map(|(half, _)| *half).collect();
            assert_eq!(sent, [(1, destination)]);
        }
    }
}

#[test]
fn all_flows_of_the_capture_are_resolved_and_none_wrongly() {
    let found: Vec<_> =
        resolve(|_| false).into_iter().map(|((host, qp), source)| (host, qp, source)).collect();
    assert_eq!(found, DATA.map(|(host, qp, source)| (host, qp, Some(source))));
}

#[test]
fn without_the_connection_manager_the_psns_resolve_them_all_a_little_later() {
    let found: Vec<_> = resolve(|packet| packet.bth.opcode() == Opcode::UD_SEND_ONLY)
        .into_iter()
        .map(|((host, qp), source)| (host, qp, source))
        .collect();
    assert_eq!(found, DATA.map(|(host, qp, source)| (host, qp, Some(source))));
}

#[test]
fn without_responses_nothing_is_resolved() {
    let found = resolve(|packet| packet.bth.opcode().is_response() || packet.key.qp.number() == 1);
    assert!(found.len() == 14 && found.values().all(Option::is_none), "{found:x?}");
}
