//! The destinations behind the ports of a gateway, by its routes.

use super::Behind;
use crate::program::{ForwardingSettings, RouteSettings, Settings};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use units::PortId;

/// The destinations that the other end of the link at `long` may know, by the routes. A port without port grants tells
/// nothing, and neither does a bridge or a patch.
pub(crate) fn behind(settings: &Settings, long: PortId) -> Behind {
    match (settings.ports[long.index()].flow_control.port_grants(), &settings.forwarding) {
        (Some(port_grants), ForwardingSettings::Route(routes)) => {
            let rate = |port: PortId| settings.ports[port.index()].rate;
            Behind::new(port_grants.far_ports, long, &reached(routes), rate)
        }
        _ => Behind::default(),
    }
}

/// The ports through which each prefix is reached.
fn reached(routes: &RouteSettings) -> BTreeMap<IpNet, BTreeSet<PortId>> {
    let stations = routes.neighbours.iter().map(|it| (IpNet::from(it.address), BTreeSet::from([it.port])));
    let routes = routes.routes.iter().map(|route| {
        let hops = route.next_hops.iter().filter_map(|hop| routes.neighbour(*hop));
        (route.prefix, hops.map(|it| it.port).collect())
    });
    stations.chain(routes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_control::FlowControl;
    use crate::flow_control::port_grants::settings::PortGrants;
    use crate::program::{BridgeSettings, BufferSettings, Neighbour, PortSettings, Route};
    use core::net::{IpAddr, Ipv4Addr};
    use units::{BitRate, Bytes};
    use wire::ethernet::MacAddress;
    use wire::grants::behind::PER_PAGE;

    const LONG: PortId = PortId(0);

    /// A gateway with this many ports, the first of which is long, and a neighbour 10.0.0.n behind port n.
    fn settings(ports: u16, far_ports: u8, routes: &[(&str, &[u8])]) -> Settings {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let port = |number: u16| {
            let rate = BitRate::gigabits(u64::from(number) + 1);
            PortSettings::lossy(format!("port{number}"), mac, rate)
        };
        let address = |number: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, number));
        let neighbour = |port: u16| Neighbour { address: address(port as u8), mac, port: PortId(port) };
        let route = |(prefix, hops): &(&str, &[u8])| Route {
            prefix: prefix.parse().unwrap(),
            next_hops: hops.iter().map(|hop| address(*hop)).collect(),
        };
        let routes = RouteSettings {
            routes: routes.iter().map(route).collect(),
            neighbours: (0..ports).map(neighbour).collect(),
            kernel: None,
            sprays: false,
        };
        let pool = Bytes(0);
        let mut ports: Vec<_> = (0..ports).map(port).collect();
        ports[0].flow_control = FlowControl::PortGrants(PortGrants::without_slots(far_ports));
        let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
        Settings { ports, buffer, forwarding: ForwardingSettings::Route(routes), seed: 0 }
    }

    fn told(behind: &Behind) -> Vec<(String, u8)> {
        let pages = (0..).map_while(|page| behind.page(page));
        let all: Vec<_> = pages.flat_map(|page| page.destinations().to_vec()).collect();
        all.iter().map(|it| (format!("{}/{}", it.address, it.length), it.port)).collect()
    }

    fn expected(list: &[(&str, u8)]) -> Vec<(String, u8)> {
        list.iter().map(|(prefix, port)| (String::from(*prefix), *port)).collect()
    }

    #[test]
    fn each_port_that_alone_reaches_something_is_a_far_port_and_the_way_back_is_none() {
        let told_of = behind(&settings(3, 14, &[("10.2.0.0/16", &[2]), ("10.9.0.0/16", &[0])]), LONG);
        assert_eq!(told_of.ports, [(PortId(1), BitRate::gigabits(2)), (PortId(2), BitRate::gigabits(3))]);
        assert_eq!(told(&told_of), expected(&[("10.2.0.0/16", 2), ("10.0.0.1/32", 1), ("10.0.0.2/32", 2)]));
    }

    #[test]
    fn a_part_of_a_told_prefix_that_several_ports_reach_is_told_without_a_port() {
        let routes: [(&str, &[u8]); 3] =
            [("10.1.0.0/16", &[1]), ("10.1.7.0/24", &[1, 2]), ("10.3.0.0/16", &[1, 2])];
        let told_of = behind(&settings(3, 14, &routes), LONG);
        let list = [("10.1.0.0/16", 1), ("10.1.7.0/24", 0), ("10.0.0.1/32", 1), ("10.0.0.2/32", 2)];
        assert_eq!(told(&told_of), expected(&list));
    }

    #[test]
    fn ports_beyond_the_most_have_no_grants_of_their_own() {
        let told_of = behind(&settings(6, 2, &[]), LONG);
        assert_eq!(told_of.ports.len(), 2);
        assert_eq!(told(&told_of), expected(&[("10.0.0.1/32", 1), ("10.0.0.2/32", 2)]));
        assert_eq!(behind(&settings(6, 0, &[]), LONG), Behind::default());
    }

    #[test]
    fn a_long_list_has_several_pages_of_one_edition_which_follows_from_what_it_says() {
        let edition = |ports| {
            let told_of = behind(&settings(ports, 14, &[]), LONG);
            let pages: Vec<_> = (0..).map_while(|page| told_of.page(page)).collect();
            assert_eq!(pages.len(), usize::from(ports - 1).div_ceil(PER_PAGE));
            assert!(pages.iter().zip(0..).all(|(page, number)| {
                (page.page, usize::from(page.pages)) == (number, pages.len())
                    && page.edition == pages[0].edition
            }));
            pages[0].edition
        };
        assert_eq!(edition(7), edition(7));
        assert_ne!(edition(7), edition(8));
    }

    #[test]
    fn more_destinations_than_fit_are_left_out_from_the_longest_prefix_on() {
        let prefixes: Vec<String> = (0..600).map(|n| format!("11.{}.{}.0/24", n / 256, n % 256)).collect();
        let routes: Vec<(&str, &[u8])> = prefixes.iter().map(|it| (it.as_str(), &[1_u8][..])).collect();
        let told_of = behind(&settings(2, 14, &routes), LONG);
        assert_eq!((told(&told_of).len(), told_of.left_out), (500, 101));
    }

    #[test]
    fn a_bridge_and_a_port_without_port_grants_tell_nothing() {
        let mut bridge = settings(3, 14, &[]);
        assert_eq!(behind(&bridge, PortId(1)), Behind::default());
        bridge.forwarding = ForwardingSettings::Bridge(BridgeSettings::default());
        assert_eq!(behind(&bridge, LONG), Behind::default());
    }
}
