use super::*;
use crate::NodeId;
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::{BitRate, Interval, PortId};

fn settings() -> LinkSettings {
    LinkSettings::new(BitRate::gigabits(100), Interval::from_micros(1))
}

fn long() -> LinkSettings {
    LinkSettings { long: true, ..LinkSettings::new(BitRate::gigabits(400), Interval::from_millis(3)) }
}

fn tree(k: usize) -> FatTree {
    FatTree { k, hosts: k / 2, link: settings(), uplink: settings() }
}

fn leaf_spine() -> LeafSpine {
    LeafSpine { leaves: 4, spines: 2, hosts: 4, link: settings(), uplink: settings() }
}

fn two_data_centers() -> TwoDataCenters {
    let site = DataCenter::FatTree(tree(4));
    TwoDataCenters {
        sites: [site; 2],
        gateway_link: settings(),
        long_links: 1,
        long_link: long(),
        relays: false,
    }
}

/// Follows every path that the routes allow; returns its number of links, if all paths have the same.
fn follow(topology: &Topology, source: NodeId, destination: NodeId) -> Option<usize> {
    let mut front = BTreeSet::from([source]);
    for links in 0..64 {
        if front.contains(&destination) {
            return (front.len() == 1).then_some(links);
        }
        let mut next = BTreeSet::new();
        for &node in &front {
            let ports: Vec<PortId> = match topology.node(node).role {
                Role::Host => vec![PortId(0)],
                Role::Switch => {
                    let behind =
                        topology.node(node).ports.iter().position(|port| {
                            topology.links[port.link].ends[1 - port.end].node == destination
                        });
                    behind.map_or_else(
                        || topology.ports_toward(node, destination),
                        |it| vec![PortId(it as u16)],
                    )
                }
            };
            for port in ports {
                let port = &topology.node(node).ports[port.index()];
                next.insert(topology.links[port.link].ends[1 - port.end].node);
            }
        }
        front = next;
    }
    None
}

#[test]
fn a_fat_tree_of_k_has_k_cubed_over_four_hosts_and_all_equal_paths() {
    let topology = tree(4).plan().unwrap().finish().unwrap();
    assert_eq!((topology.hosts().count(), topology.nodes.len(), topology.links.len()), (16, 36, 48));
    let [edge, h0, h1, h2, h4] = ["edge0", "h0", "h1", "h2", "h4"].map(|name| topology.find(name).unwrap());
    assert_eq!(topology.ports_toward(edge, h4).len(), 2, "another pod: both aggregation switches");
    let hops = [h1, h2, h4].map(|host| follow(&topology, h0, host));
    assert_eq!(hops, [Some(2), Some(4), Some(6)], "the same edge, the same pod, another pod");
}

#[test]
fn addresses_say_where_a_host_is() {
    let topology = two_data_centers().plan().unwrap().finish().unwrap();
    let address = |name: &str| topology.node(topology.find(name).unwrap()).ports[0].address.to_string();
    assert_eq!(address("east-h0"), "10.1.0.1");
    assert_eq!(address("east-h5"), "10.1.2.2");
    assert_eq!(address("west-h15"), "10.2.7.2");
    let macs: BTreeSet<_> =
        topology.nodes.iter().flat_map(|node| &node.ports).map(|port| port.mac.0).collect();
    assert_eq!(macs.len(), 2 * topology.links.len(), "each port has its own MAC address");
}

#[test]
fn between_data_centers_everything_passes_the_gateways() {
    let topology = two_data_centers().plan().unwrap().finish().unwrap();
    let find = |name: &str| topology.find(name).unwrap();
    assert_eq!(follow(&topology, find("east-h0"), find("west-h0")), Some(9));
    assert_eq!(topology.node(find("east-h0")).site, 0);
    assert_eq!(topology.node(find("gw-west")).site, 1);
    let long: Vec<&str> =
        topology.links.iter().filter(|it| it.settings.long).map(|it| it.name.as_str()).collect();
    assert_eq!(long, ["long"]);
}

#[test]
fn a_relay_stands_at_each_end_of_each_long_link() {
    let with = |long_links| {
        let plan = TwoDataCenters { relays: true, long_links, ..two_data_centers() };
        plan.plan().unwrap().finish().unwrap()
    };
    let ports = |topology: &Topology, name| {
        let node = topology.node(topology.find(name).unwrap());
        let names: Vec<_> = node.ports.iter().map(|port| port.name.clone()).collect();
        (node.relay, names)
    };
    let one = with(1);
    assert_eq!(follow(&one, one.find("east-h0").unwrap(), one.find("west-h0").unwrap()), Some(11));
    assert_eq!(ports(&one, "relay-east"), (true, vec!["gw-east".into(), "relay-west".into()]));
    let (is_relay, of_gateway) = ports(&one, "gw-west");
    assert!(!is_relay && of_gateway.last().is_some_and(|it| it == "relay-west"), "{of_gateway:?}");
    let settings = |name: &str| one.links.iter().find(|link| link.name == name).unwrap().settings;
    assert_eq!(settings("long"), long());
    let short = settings("gw-east/relay-east");
    assert_eq!((short.rate, short.delay, short.long), (long().rate, self::settings().delay, false));

    let two = with(2);
    assert_eq!(ports(&two, "relay-west1"), (true, vec!["gw-west".into(), "relay-east1".into()]));
}

#[test]
fn parallel_links_are_told_apart_and_share_the_flows() {
    let site = DataCenter::Hosts { hosts: 2, link: settings() };
    let plan = TwoDataCenters { sites: [site; 2], long_links: 2, ..two_data_centers() };
    let topology = plan.plan().unwrap().finish().unwrap();
    let gateway = topology.find("gw-east").unwrap();
    let names: Vec<&str> = topology.node(gateway).ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["east-h0", "east-h1", "gw-west:0", "gw-west:1"]);
    assert_eq!(topology.ports_toward(gateway, topology.find("west-h1").unwrap()), [PortId(2), PortId(3)]);
}

#[test]
fn routes_that_are_given_go_before_the_shortest_ones() {
    let mut plan = leaf_spine().plan().unwrap();
    let find = |plan: &NetworkPlan, name: &str| plan.nodes.iter().position(|node| node.name == name).unwrap();
    let [leaf, spine, host, rack] = ["leaf0", "spine1", "h4", "leaf2"].map(|name| find(&plan, name));
    plan.routes.push(PlannedRoute { node: leaf, to: host, via: vec![spine] });
    plan.routes.push(PlannedRoute { node: leaf, to: rack, via: vec![spine] });
    let topology = plan.finish().unwrap();
    let toward = |name: &str| {
        let ports = topology.ports_toward(topology.find("leaf0").unwrap(), topology.find(name).unwrap());
        ports.len()
    };
    assert_eq!([toward("h4"), toward("h5"), toward("h8"), toward("h12")], [1, 2, 1, 2]);
}

#[test]
fn routes_that_lead_round_or_nowhere_are_refused() {
    let with = |routes: &[(&str, &str, &str)]| {
        let mut plan = leaf_spine().plan().unwrap();
        let find =
            |plan: &NetworkPlan, name: &str| plan.nodes.iter().position(|node| node.name == name).unwrap();
        for (node, to, via) in routes {
            let [node, to, via] = [node, to, via].map(|name| find(&plan, name));
            plan.routes.push(PlannedRoute { node, to, via: vec![via] });
        }
        plan.finish().unwrap_err()
    };
    assert!(matches!(with(&[("spine0", "h0", "leaf1")]), PlanError::RouteLoop { .. }));
    assert!(matches!(with(&[("leaf0", "h4", "leaf1")]), PlanError::NotNeighbour { .. }));
    assert!(matches!(with(&[("h0", "h4", "leaf0")]), PlanError::RouteAtHost { .. }));
    assert!(matches!(with(&[("leaf0", "spine0", "spine1")]), PlanError::RouteToNobody { .. }));
    let twice = with(&[("leaf0", "h4", "spine0"), ("leaf0", "h4", "spine1")]);
    assert!(matches!(twice, PlanError::RouteTwice { .. }));
}

#[test]
fn what_is_no_network_is_refused() {
    let mut alone = NetworkPlan::default();
    let host = alone.add("h0", Role::Host);
    let switch = alone.add("s0", Role::Switch);
    alone.join(host, switch, settings());
    assert_eq!(alone.clone().finish(), Err(PlanError::Hosts { count: 1 }));

    let mut apart = alone.clone();
    let (other, behind) = (apart.add("h1", Role::Host), apart.add("s1", Role::Switch));
    assert_eq!(apart.clone().finish(), Err(PlanError::HostLinks { host: "h1".into(), count: 0 }));
    apart.join(other, behind, settings());
    assert!(matches!(apart.clone().finish(), Err(PlanError::Unreachable { .. })));
    apart.join(switch, behind, settings());
    assert!(apart.clone().finish().is_ok());
    apart.join(switch, switch, settings());
    assert!(matches!(apart.clone().finish(), Err(PlanError::SelfLink { .. })));
    apart.links.pop();
    apart.add("h1", Role::Host);
    assert!(matches!(apart.finish(), Err(PlanError::DuplicateName { .. })));

    let incast =
        |senders, receivers| Incast { senders, receivers, link: settings(), receiver_link: settings() };
    assert!(matches!(incast(0, 1).plan(), Err(PlanError::Count { key: "senders", .. })));
    let full = incast(128, 1).plan().unwrap().finish();
    assert_eq!(full, Err(PlanError::Ports { switch: "sw0".into(), count: 129 }));
    assert!(incast(127, 1).plan().unwrap().finish().is_ok());
    assert!(matches!(tree(3).plan(), Err(PlanError::Count { key: "k", got: 3, .. })));
}

#[test]
fn two_hosts_can_be_joined_without_a_switch() {
    let mut plan = NetworkPlan::default();
    let (one, other) = (plan.add("a", Role::Host), plan.add("b", Role::Host));
    plan.join(one, other, settings());
    let topology = plan.finish().unwrap();
    let ports: Vec<_> = topology.nodes.iter().map(|node| node.ports[0].address).collect();
    assert_ne!(ports[0], ports[1]);
}

#[test]
fn hosts_forward_nothing() {
    // Only a host could join the two switches, but it has one port, so there is no path.
    let mut plan = NetworkPlan::default();
    let [one, other] = ["s0", "s1"].map(|name| plan.add(name, Role::Switch));
    for (name, switch) in [("h0", one), ("h1", other)] {
        let host = plan.add(name, Role::Host);
        plan.join(host, switch, settings());
    }
    assert!(matches!(plan.finish(), Err(PlanError::Unreachable { .. })));
}

proptest! {
    #[test]
    fn in_any_connected_network_every_route_leads_to_its_host_by_the_fewest_links(
        switches in 1_usize..12,
        hosts in 2_usize..20,
        links in prop::collection::vec((0_usize..12, 0_usize..12), 0..24),
        seats in prop::collection::vec(0_usize..12, 20),
    ) {
        let mut plan = NetworkPlan::default();
        for number in 0..switches {
            plan.add(format!("s{number}"), Role::Switch);
        }
        // A tree joins all of them, and any links beside it.
        for number in 1..switches {
            plan.join(number, seats[number % seats.len()] % number, settings());
        }
        for (one, other) in links.iter().map(|(one, other)| (one % switches, other % switches)) {
            if one != other {
                plan.join(one, other, settings());
            }
        }
        for (number, seat) in seats.iter().enumerate().take(hosts) {
            let host = plan.add(format!("h{number}"), Role::Host);
            plan.join(host, seat % switches, settings());
        }
        let topology = plan.finish().unwrap();
        let all: Vec<_> = topology.hosts().collect();
        for &one in &all {
            for &other in &all {
                if one != other {
                    let there = follow(&topology, one, other);
                    prop_assert!(there.is_some(), "{one:?} to {other:?}");
                    prop_assert_eq!(there, follow(&topology, other, one), "as far back");
                }
            }
        }
    }

    #[test]
    fn without_some_links_every_route_leads_to_its_host_as_if_there_had_been_none_of_them(
        switches in 2_usize..9,
        links in prop::collection::vec((0_usize..9, 0_usize..9, any::<bool>()), 1..24),
        seats in prop::collection::vec(0_usize..9, 6),
    ) {
        let mut plan = NetworkPlan::default();
        for number in 0..switches {
            plan.add(format!("s{number}"), Role::Switch);
        }
        let mut out = BTreeSet::new();
        for (one, other, is_out) in links {
            if one % switches != other % switches {
                out.extend(is_out.then_some(plan.links.len()));
                plan.join(one % switches, other % switches, settings());
            }
        }
        for (number, seat) in seats.iter().enumerate() {
            let host = plan.add(format!("h{number}"), Role::Host);
            plan.join(host, seat % switches, settings());
        }
        let mut rest = plan.clone();
        let mut numbers = 0..;
        rest.links.retain(|_| !out.contains(&numbers.next().unwrap()));
        // Otherwise some hosts do not reach each other.
        if let (Ok(mut topology), Ok(rest)) = (plan.clone().finish(), rest.finish()) {
            topology.routes = plan.routes_without(&topology, &out).unwrap();
            let all: Vec<_> = topology.hosts().collect();
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))) {
                if one != other {
                    prop_assert_eq!(follow(&topology, one, other), follow(&rest, one, other));
                }
            }
        }
    }
}

/// Switches 0 to 2 in a triangle, with hosts h0 on the first and h1 on the second.
fn triangle() -> NetworkPlan {
    let mut plan = NetworkPlan::default();
    let switches = [0, 1, 2].map(|number| plan.add(format!("s{number}"), Role::Switch));
    let hosts = [0, 1].map(|number| plan.add(format!("h{number}"), Role::Host));
    for (one, other) in [(0, 1), (0, 2), (2, 1)] {
        plan.join(switches[one], switches[other], settings());
    }
    (0..2).for_each(|number| plan.join(hosts[number], switches[number], settings()));
    plan
}

#[test]
fn routes_go_round_a_link_that_is_out_and_stay_where_there_is_no_way_round() {
    let plan = triangle();
    let topology = plan.clone().finish().unwrap();
    let next = |out: &[usize]| {
        let routes = plan.routes_without(&topology, &out.iter().copied().collect()).unwrap();
        [0, 1].map(|node: usize| routes[node].iter().map(|entry| entry.ports.clone()).collect::<Vec<_>>())
    };
    let ports = |ports: [u16; 2]| ports.map(|port| vec![vec![PortId(port)]]);
    assert_eq!(next(&[]), ports([0, 0]), "straight on");
    assert_eq!(next(&[0]), ports([1, 1]), "by the third switch");
    assert_eq!(next(&[1]), ports([0, 0]));
    assert_eq!(next(&[0, 1]), ports([0, 0]), "as before");
}

#[test]
fn a_given_route_keeps_the_neighbours_that_are_left_and_gives_way_if_none_is() {
    let mut plan = triangle();
    plan.routes.push(PlannedRoute { node: 0, to: 1, via: vec![1, 2] });
    let topology = plan.clone().finish().unwrap();
    let next = |out: &[usize]| {
        let routes = plan.routes_without(&topology, &out.iter().copied().collect()).unwrap();
        routes[0][0].ports.clone()
    };
    assert_eq!(next(&[]), [PortId(0), PortId(1)]);
    assert_eq!(next(&[0]), [PortId(1)]);
    assert_eq!(next(&[1]), [PortId(0)]);
    plan.routes[0].via = vec![2];
    let topology = plan.clone().finish().unwrap();
    let routes = plan.routes_without(&topology, &BTreeSet::from([1])).unwrap();
    assert_eq!(routes[0][0].ports, [PortId(0)], "the shortest path");
}
