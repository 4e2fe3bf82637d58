//! Messages as kernels write them, and bytes that no kernel writes.

use super::*;
use proptest::prelude::*;

/// A message of `kind` with this body and these attributes.
pub fn message(kind: u16, flags: u16, body: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = [&[0; HEADER], body].concat();
    for (kind, value) in attributes {
        bytes.extend((4 + value.len() as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = (bytes.len() as u32).to_ne_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

fn all(bytes: &[u8]) -> Vec<Message> {
    let mut seen = Vec::new();
    read(bytes, |message| seen.push(message));
    seen
}

/// A route of the main table to 10.1.0.0/16.
fn route_of(kind: u8, more: &[(u16, &[u8])]) -> Vec<Message> {
    let body = [2, 16, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0];
    let attributes = [&[(1, &[10, 1, 0, 0][..])], more].concat();
    all(&message(NEW_ROUTE, 0, &body, &attributes))
}

fn hops(seen: &[Message]) -> &Hops {
    match seen {
        [Message::Route { prefix, hops, change: Change::First, .. }]
            if prefix.to_string() == "10.1.0.0/16" =>
        {
            hops
        }
        seen => panic!("{seen:?}"),
    }
}

#[test]
fn a_route_leads_through_links_or_objects_or_nowhere() {
    let link = 7_u32.to_ne_bytes();
    let gateway: IpAddr = [10, 0, 0, 2].into();
    assert_eq!(hops(&route_of(1, &[(4, &link)])), &Hops::Links(vec![(7, None)]));
    let through = Hops::Links(vec![(7, Some(gateway))]);
    assert_eq!(hops(&route_of(1, &[(4, &link), (5, &[10, 0, 0, 2])])), &through);
    let via = [&10_u16.to_ne_bytes()[..], &[0xfe, 0x80], &[0; 13], &[2]].concat();
    let through = Hops::Links(vec![(7, Some("fe80::2".parse().unwrap()))]);
    assert_eq!(hops(&route_of(1, &[(4, &link), (18, &via)])), &through);
    assert_eq!(hops(&route_of(1, &[(4, &link), (30, &9_u32.to_ne_bytes())])), &Hops::Objects(vec![9]));
    assert_eq!(hops(&route_of(6, &[])), &Hops::Nowhere);
    assert_eq!(route_of(2, &[(4, &link)]), [], "a local route");
    assert_eq!(route_of(1, &[(4, &link), (15, &100_u32.to_ne_bytes())]), [], "another table");
}

#[test]
fn a_route_for_some_sources_or_a_type_of_service_is_none() {
    let seen = |source, service| {
        all(&message(
            NEW_ROUTE,
            0,
            &[2, 16, source, service, 254, 3, 0, 6, 0, 0, 0, 0],
            &[(1, &[10, 1, 0, 0])],
        ))
    };
    assert_eq!((seen(0, 0).len(), seen(24, 0), seen(0, 0x10)), (1, vec![], vec![]));
}

#[test]
fn the_flags_of_a_route_say_whether_it_counts_before_others() {
    let change = |family, kind, flags| {
        let body = [family, 0, 0, 0, 254, 3, 0, 6, 0, 0, 0, 0];
        match all(&message(kind, flags, &body, &[]))[..] {
            [Message::Route { change, .. }] => change,
            ref seen => panic!("{seen:?}"),
        }
    };
    for (flags, of_v4, of_v6) in [
        (0x400, Change::First, Change::First),
        (0x100, Change::Instead, Change::Instead),
        (0xc00, Change::Behind, Change::First),
        (0x2, Change::Behind, Change::Behind),
    ] {
        assert_eq!((change(2, NEW_ROUTE, flags), change(10, NEW_ROUTE, flags)), (of_v4, of_v6), "{flags:#x}");
    }
    assert_eq!(change(2, DEL_ROUTE, 0), Change::Gone);
}

#[test]
fn a_route_of_several_paths_has_those_that_live() {
    let path = |flags: u8, link: u32, station: u8| {
        let gateway = [&8_u16.to_ne_bytes()[..], &5_u16.to_ne_bytes(), &[10, 0, 0, station]].concat();
        [&16_u16.to_ne_bytes()[..], &[flags, 0], &link.to_ne_bytes(), &gateway].concat()
    };
    let paths = [path(0, 7, 2), path(RTNH_F_DEAD, 8, 3), path(0, 9, 4)].concat();
    let live = vec![(7, Some([10, 0, 0, 2].into())), (9, Some([10, 0, 0, 4].into()))];
    assert_eq!(hops(&route_of(1, &[(9, &paths)])), &Hops::Links(live));
}

#[test]
fn links_neighbours_and_next_hop_objects_are_read_and_so_is_their_end() {
    let link = |flags: u32| [&[0, 0, 1, 0][..], &7_u32.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 4]].concat();
    let seen = |kind, flags| all(&message(kind, 0, &link(flags), &[(3, b"lh\0")]));
    for (kind, flags, is_up) in [(NEW_LINK, 1, true), (NEW_LINK, 0, false), (DEL_LINK, 1, false)] {
        assert_eq!(seen(kind, flags), [Message::Link { index: 7, name: "lh".into(), is_up }]);
    }
    let neighbour = |kind, state: u16| {
        let body = [&[2, 0, 0, 0][..], &7_u32.to_ne_bytes(), &state.to_ne_bytes(), &[0, 1]].concat();
        match &all(&message(kind, 0, &body, &[(1, &[10, 0, 0, 2]), (2, &[2, 0, 0, 0, 0, 9])]))[..] {
            [Message::Neighbour { link: 7, address, station }] if address.to_string() == "10.0.0.2" => {
                *station
            }
            seen => panic!("{seen:?}"),
        }
    };
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    for (state, station) in [
        (0x02, Some((mac, false))),
        (0x04, Some((mac, false))),
        (0x80, Some((mac, true))),
        (0x01, None),
        (0x20, None),
    ] {
        assert_eq!(neighbour(NEW_NEIGHBOUR, state), station, "{state:#x}");
    }
    assert_eq!(neighbour(DEL_NEIGHBOUR, 0x02), None);
    let object = |kind, more: &[(u16, &[u8])]| {
        let id = 9_u32.to_ne_bytes();
        let attributes = [&[(1, &id[..])], more].concat();
        all(&message(kind, 0, &[2, 0, 0, 0, 0, 0, 0, 0], &attributes))
    };
    let gateway = object(NEW_NEXT_HOP, &[(5, &7_u32.to_ne_bytes()), (6, &[10, 0, 0, 2])]);
    let hop = Some(Hops::Links(vec![(7, Some([10, 0, 0, 2].into()))]));
    assert_eq!(gateway, [Message::NextHop { id: 9, hop }]);
    let member = |id: u32| [&id.to_ne_bytes()[..], &[0; 4]].concat();
    let group = object(NEW_NEXT_HOP, &[(2, &[member(3), member(4)].concat())]);
    assert_eq!(group, [Message::NextHop { id: 9, hop: Some(Hops::Objects(vec![3, 4])) }]);
    assert_eq!(object(NEW_NEXT_HOP, &[(4, &[])]), [Message::NextHop { id: 9, hop: Some(Hops::Nowhere) }]);
    assert_eq!(object(DEL_NEXT_HOP, &[]), [Message::NextHop { id: 9, hop: None }]);
}

#[test]
fn a_datagram_has_several_messages_and_what_is_lost_is_noticed() {
    let mut done = message(DONE, 2, &[0; 4], &[]);
    done[8..12].copy_from_slice(&7_u32.to_ne_bytes());
    let interrupted = message(DONE, DUMP_INTERRUPTED, &[0; 4], &[]);
    assert_eq!(
        all(&[&done[..], &message(99, 0, &[], &[]), &interrupted].concat()),
        [Message::Done(7), Message::Lost, Message::Done(0)]
    );
    assert_eq!(all(&message(OVERRUN, 0, &[], &[])), [Message::Lost]);
    let refused = |kind, error: i32| all(&message(kind, 0, &error.to_ne_bytes(), &[]));
    assert_eq!(refused(ERROR, -95), [Message::Done(0)], "there are none of the kind");
    for (kind, error) in [(ERROR, -16), (ERROR, -105), (DONE, -95), (DONE, -90)] {
        assert_eq!(refused(kind, error), [Message::Lost], "{error}");
    }
    assert_eq!(all(&message(DONE, 2, &[], &[])), [Message::Lost]);
    assert_eq!(all(&done[..done.len() - 1]), [Message::Lost], "cut short");
}

#[test]
fn a_request_is_as_long_as_it_says() {
    for dump in Dump::ALL {
        let request = dump.request(9);
        assert_eq!(u32_at(&request, 8), Some(9));
        assert_eq!(u32_at(&request, 0), Some(request.len() as u32));
        assert_eq!(u16_at(&request, 4), Some(dump as u16));
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_much_for_the_reader(
        kind in prop_oneof![Just(16_u16), Just(24), Just(28), Just(104), 0..200_u16],
        body in proptest::collection::vec(any::<u8>(), 0..200),
        cut in 0..200_usize,
    ) {
        let mut bytes = message(kind, 0, &body, &[]);
        bytes.truncate(bytes.len().saturating_sub(cut));
        prop_assert!(all(&bytes).len() <= 1);
        all(&body);
    }
}
