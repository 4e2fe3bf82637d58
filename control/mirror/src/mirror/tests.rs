//! The routes that follow from what a kernel says.

use super::*;
use proptest::prelude::*;

const DC: u32 = 3;
const LH: u32 = 4;
const OTHER: u32 = 9;

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// A mirror that has seen the links of ports "dc" and "lh", and no network of them. Only the first takes neighbours that
/// the kernel has found.
fn bare_mirror() -> Mirror {
    let tap = |name: &str, port, learns| Tap { name: name.into(), port: PortId(port), learns };
    let mut mirror = Mirror::new(vec![tap("dc", 0, true), tap("lh", 1, false)]);
    mirror.clear();
    for (index, name) in [(DC, "dc"), (LH, "lh"), (OTHER, "eth0")] {
        mirror.see(Message::Link { index, name: name.into(), is_up: true });
    }
    mirror.complete();
    assert!(!mirror.is_stale());
    mirror
}

/// The same, with the network 10.0.0.0/28 on "dc" and 10.0.0.16/28 on "lh".
fn mirror() -> Mirror {
    let mut mirror = bare_mirror();
    mirror.see(route("10.0.0.0/28", 0, Hops::Links(vec![(DC, None)])));
    mirror.see(route("10.0.0.16/28", 0, Hops::Links(vec![(LH, None)])));
    mirror
}

fn neighbour(link: u32, last: u8, is_permanent: bool) -> Message {
    Message::Neighbour { link, address: address(last), station: Some((mac(last), is_permanent)) }
}

fn route(prefix: &str, metric: u32, hops: Hops) -> Message {
    Message::Route { prefix: prefix.parse().unwrap(), metric, hops, change: Change::Instead }
}

fn through(hops: &[(u32, u8)]) -> Hops {
    Hops::Links(hops.iter().map(|(link, last)| (*link, Some(address(*last)))).collect())
}

/// The prefixes of the table but those of networks of ports, each with the last bytes of its stations.
fn table(mirror: &Mirror) -> Vec<(String, Vec<u8>)> {
    let last = |hop: &Neighbour| hop.mac.0[5];
    let row = |route: LearnedRoute| (route.prefix.to_string(), route.hops.iter().map(last).collect());
    mirror.table().unwrap().into_iter().filter(|it| it.prefix.prefix_len() != 28).map(row).collect()
}

fn row(prefix: &str, stations: &[u8]) -> (String, Vec<u8>) {
    (prefix.into(), stations.into())
}

#[test]
fn a_route_leads_to_the_neighbours_that_are_known_and_through_interfaces_of_the_gateway() {
    let mut mirror = mirror();
    mirror.see(route("10.1.0.0/16", 20, through(&[(DC, 2), (DC, 3), (OTHER, 4)])));
    mirror.see(route("0.0.0.0/0", 0, through(&[(OTHER, 4)])));
    assert_eq!(table(&mirror), [row("10.1.0.0/16", &[])]);
    mirror.see(neighbour(DC, 3, false));
    mirror.see(neighbour(OTHER, 4, true));
    assert_eq!(table(&mirror), [row("10.0.0.3/32", &[3]), row("10.1.0.0/16", &[3])]);
    mirror.see(route("10.1.0.0/16", 10, Hops::Nowhere));
    assert_eq!(table(&mirror)[1], row("10.1.0.0/16", &[]), "the lowest metric wins");
    let Message::Route { prefix, .. } = route("10.1.0.0/16", 10, Hops::Nowhere) else { unreachable!() };
    mirror.see(Message::Route { prefix, metric: 10, hops: Hops::Nowhere, change: Change::Gone });
    assert_eq!(table(&mirror)[1], row("10.1.0.0/16", &[3]));
}

#[test]
fn a_long_port_takes_permanent_neighbours_only() {
    let mut mirror = mirror();
    mirror.see(neighbour(LH, 18, false));
    assert_eq!(table(&mirror), []);
    mirror.see(neighbour(LH, 18, true));
    assert_eq!(table(&mirror), [row("10.0.0.18/32", &[18])]);
}

#[test]
fn a_neighbour_is_a_destination_only_where_the_kernel_looks_for_it() {
    let claim = |mirror: &mut Mirror, address: &str| {
        let address = address.parse().unwrap();
        mirror.see(Message::Neighbour { link: DC, address, station: Some((mac(66), false)) });
    };
    let mut mirror = mirror();
    mirror.see(neighbour(LH, 18, true));
    mirror.see(route("10.9.0.0/16", 0, through(&[(LH, 18)])));
    mirror.see(route("10.9.9.9/32", 0, through(&[(LH, 18)])));
    mirror.see(route("fd01::/64", 0, Hops::Links(vec![(LH, None)])));
    let before = table(&mirror);
    // On the network of another link, behind a gateway, without route.
    for address in ["10.0.0.18", "10.0.0.19", "10.9.0.1", "10.9.9.9", "10.8.0.1", "fd01::2"] {
        claim(&mut mirror, address);
        assert_eq!(table(&mirror), before, "{address}");
    }
    mirror.see(route("0.0.0.0/0", 0, through(&[(DC, 2)])));
    assert_eq!(table(&mirror)[1..], before);
    claim(&mut mirror, "10.0.0.2");
    assert!(table(&mirror).contains(&row("10.0.0.2/32", &[66])), "its own network");
    assert_eq!(table(&mirror)[0], row("0.0.0.0/0", &[66]), "a next hop");
}

#[test]
fn a_permanent_neighbour_wins_over_one_that_was_found_on_another_link_of_its_network() {
    let mut mirror = bare_mirror();
    mirror.see(route("10.0.0.0/24", 0, Hops::Links(vec![(DC, None), (LH, None)])));
    let station = |link, last, is_permanent| Message::Neighbour {
        link,
        address: address(2),
        station: Some((mac(last), is_permanent)),
    };
    mirror.see(station(DC, 66, false));
    assert_eq!(table(&mirror)[1], row("10.0.0.2/32", &[66]));
    mirror.see(station(LH, 2, true));
    assert_eq!(table(&mirror)[1], row("10.0.0.2/32", &[2]));
}

#[test]
fn a_route_to_one_address_without_gateway_leads_to_its_neighbour() {
    let mut mirror = bare_mirror();
    mirror.see(route("10.0.0.2/32", 0, Hops::Links(vec![(DC, None)])));
    assert_eq!(table(&mirror), [row("10.0.0.2/32", &[])]);
    mirror.see(neighbour(DC, 2, false));
    assert_eq!(table(&mirror), [row("10.0.0.2/32", &[2])]);
}

#[test]
fn objects_and_groups_of_them_stand_for_their_hops() {
    let mut mirror = mirror();
    (2..4).for_each(|last| mirror.see(neighbour(DC, last, false)));
    mirror.see(route("10.1.0.0/16", 0, Hops::Objects(vec![1])));
    mirror.see(route("10.2.0.0/16", 0, Hops::Objects(vec![7])));
    assert_eq!(table(&mirror).len(), 2, "the objects are unknown");
    mirror.see(Message::NextHop { id: 1, hop: Some(through(&[(DC, 2)])) });
    mirror.see(Message::NextHop { id: 2, hop: Some(through(&[(DC, 3)])) });
    mirror.see(Message::NextHop { id: 7, hop: Some(Hops::Objects(vec![1, 2, 7])) });
    assert_eq!(table(&mirror)[2..], [row("10.1.0.0/16", &[2]), row("10.2.0.0/16", &[2, 3])]);
    mirror.see(Message::NextHop { id: 2, hop: None });
    assert_eq!(table(&mirror)[3], row("10.2.0.0/16", &[2]));
}

#[test]
fn a_link_that_goes_down_takes_its_routes_along_and_wants_a_dump() {
    let mut mirror = mirror();
    mirror.see(neighbour(DC, 2, false));
    mirror.see(route("10.1.0.0/16", 0, through(&[(DC, 2)])));
    assert_eq!(table(&mirror).len(), 2);
    mirror.see(neighbour(LH, 18, true));
    mirror.see(Message::Link { index: DC, name: "dc".into(), is_up: false });
    assert_eq!(table(&mirror), [row("10.0.0.18/32", &[18])]);
    assert!(mirror.is_stale());
    mirror.clear();
    assert!(!mirror.is_stale() && table(&mirror).is_empty());
    mirror.see(Message::Lost);
    assert!(mirror.is_stale());
}

#[test]
fn of_an_ipv6_route_one_hop_may_go_and_of_an_ipv4_route_all_do() {
    let hop = |last: u8| (DC, Some(IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, last.into()])));
    for (prefix, left) in [("fd01::/64", 1), ("10.1.0.0/16", 0)] {
        let mut mirror = bare_mirror();
        mirror.see(route(prefix, 0, Hops::Links(vec![hop(2), hop(3)])));
        let (prefix, hops) = (prefix.parse().unwrap(), Hops::Links(vec![hop(3)]));
        mirror.see(Message::Route { prefix, metric: 0, hops, change: Change::Gone });
        assert_eq!(mirror.routes.len(), left, "{prefix}");
    }
}

#[test]
fn of_several_routes_with_one_metric_the_first_counts_and_a_dump_finds_the_next_one() {
    let change = |last, change| Message::Route {
        prefix: "10.1.0.0/16".parse().unwrap(),
        metric: 0,
        hops: through(&[(DC, last)]),
        change,
    };
    let mut mirror = mirror();
    (2..4).for_each(|last| mirror.see(neighbour(DC, last, false)));
    mirror.see(change(2, Change::Instead));
    mirror.see(change(3, Change::Behind));
    assert!(table(&mirror).contains(&row("10.1.0.0/16", &[2])));
    mirror.see(change(3, Change::Gone));
    assert!(
        mirror.is_stale() && table(&mirror).contains(&row("10.1.0.0/16", &[2])),
        "the second one is gone"
    );
    for (last, is_stale) in [(2, false), (3, true)] {
        let mut mirror = self::mirror();
        (2..4).for_each(|last| mirror.see(neighbour(DC, last, false)));
        mirror.see(change(2, Change::Behind));
        mirror.see(change(last, Change::First));
        assert!(table(&mirror).contains(&row("10.1.0.0/16", &[last])));
        mirror.see(change(last, Change::Gone));
        assert_eq!(mirror.is_stale(), is_stale);
    }
}

#[test]
fn a_local_address_of_a_link_is_a_next_hop_and_no_destination() {
    let mut mirror = mirror();
    let local: IpAddr = "fe80::2".parse().unwrap();
    mirror.see(Message::Neighbour { link: DC, address: local, station: Some((mac(2), false)) });
    mirror.see(route("fd01::/64", 0, Hops::Links(vec![(DC, Some(local))])));
    assert_eq!(table(&mirror), [row("fd01::/64", &[2])]);
}

#[test]
fn what_changes_nothing_is_no_change() {
    let mut mirror = mirror();
    assert!(mirror.take_changed() && !mirror.take_changed());
    for change in [neighbour(DC, 2, false), route("10.1.0.0/16", 0, through(&[(DC, 2)]))] {
        mirror.see(change.clone());
        assert!(mirror.take_changed());
        mirror.see(change);
        assert!(!mirror.take_changed());
    }
}

#[test]
fn beyond_its_bounds_it_has_no_table_until_all_is_dumped_again() {
    let mut mirror = bare_mirror();
    let nth = |number: u32| {
        let prefix = IpNet::from(IpAddr::from((0x0a00_0000 + number).to_be_bytes()));
        Message::Route { prefix, metric: 0, hops: through(&[(DC, 2)]), change: Change::Behind }
    };
    (0..ROUTES_MAX as u32).for_each(|number| mirror.see(nth(number)));
    assert_eq!(mirror.table().unwrap().len(), ROUTES_MAX);
    mirror.see(nth(0));
    assert!(!mirror.is_stale(), "it is known");
    mirror.see(nth(ROUTES_MAX as u32));
    assert_eq!((mirror.table(), mirror.is_stale()), (Err(Beyond::Routes), true));
    assert_eq!(mirror.routes.len(), ROUTES_MAX);
    mirror.clear();
    assert!(mirror.table().unwrap().is_empty());
}

fn any_message() -> impl Strategy<Value = Message> {
    let link = prop_oneof![Just(DC), Just(LH), Just(OTHER)];
    let hop =
        (link.clone(), proptest::option::of(0..4_u8)).prop_map(|(link, last)| (link, last.map(address)));
    let hops = prop_oneof![
        proptest::collection::vec(hop, 0..4).prop_map(Hops::Links),
        proptest::collection::vec(0..4_u32, 0..4).prop_map(Hops::Objects),
        Just(Hops::Nowhere),
    ];
    let is_there = any::<bool>();
    let change =
        prop_oneof![Just(Change::First), Just(Change::Instead), Just(Change::Behind), Just(Change::Gone),];
    prop_oneof![
        (link.clone(), is_there).prop_map(|(index, is_up)| {
            let name = if index == DC { "dc" } else { "lh" };
            Message::Link { index, name: name.into(), is_up }
        }),
        (link, 0..4_u8, any::<bool>(), any::<bool>()).prop_map(|(link, last, is_there, is_permanent)| {
            let station = is_there.then_some((mac(told(link, last, is_permanent)), is_permanent));
            Message::Neighbour { link, address: address(last), station }
        }),
        (0..4_u32, proptest::option::of(hops.clone())).prop_map(|(id, hop)| Message::NextHop { id, hop }),
        (0..4_u8, 0..2_u32, hops, change).prop_map(|(net, metric, hops, change)| {
            let prefix = ["10.0.0.0/30", "10.0.0.0/16", "10.1.0.0/16", "10.0.0.2/32"][usize::from(net)];
            Message::Route { prefix: prefix.parse().unwrap(), metric, hops, change }
        }),
    ]
}

/// The last byte of the MAC address that [`any_message`] gives the neighbour, so that hops can be checked.
fn told(link: u32, last: u8, is_permanent: bool) -> u8 {
    last + 8 * u8::from(is_permanent) + 16 * link as u8
}

proptest! {
    #[test]
    fn each_prefix_is_in_the_table_once_and_each_hop_is_a_neighbour_that_was_told_on_its_port(
        messages in proptest::collection::vec(any_message(), 0..60),
    ) {
        let mut mirror = mirror();
        messages.into_iter().for_each(|message| mirror.see(message));
        let table = mirror.table().unwrap();
        prop_assert!(table.windows(2).all(|pair| pair[0].prefix < pair[1].prefix));
        for hop in table.iter().flat_map(|it| &it.hops) {
            // "dc" or, as a link changes its name, "lh", which takes permanent ones only.
            let IpAddr::V4(address) = hop.address else { panic!("{hop:?}") };
            let told = |link, is_permanent| told(link, address.octets()[3], is_permanent) == hop.mac.0[5];
            let links = [DC, LH, OTHER].into_iter().filter(|link| {
                told(*link, true) || hop.port == PortId(0) && told(*link, false)
            });
            let on_its_port = |link: u32| mirror.taps[mirror.links[&link]].port == hop.port;
            prop_assert!(links.clone().count() == 1 && links.into_iter().all(on_its_port), "{hop:?}");
        }
    }
}
