//! Datagrams of netlink, and the routes that follow from them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror::netlink::{Message, read};
use mirror::{Mirror, NEIGHBOURS_MAX, ROUTES_MAX, Tap};
use units::PortId;

fuzz_target!(|data: &[u8]| {
    let tap = |name: &str, port, learns| Tap { name: name.into(), port: PortId(port), learns };
    let mut mirror = Mirror::new(vec![tap("dc0", 0, true), tap("lh0", 1, false)]);
    let mut told = Vec::new();
    read(data, |message| {
        if let Message::Neighbour { address, station: Some((mac, is_permanent)), .. } = &message {
            told.push((*address, *mac, *is_permanent));
        }
        mirror.see(message);
    });
    let Ok(table) = mirror.table() else { return };
    assert!(table.len() <= ROUTES_MAX + NEIGHBOURS_MAX);
    assert!(table.windows(2).all(|pair| pair[0].prefix < pair[1].prefix));
    for hop in table.iter().flat_map(|route| &route.hops) {
        // The second port takes permanent neighbours only.
        let is = |(address, mac, is_permanent): &_| {
            (*address, *mac) == (hop.address, hop.mac) && (hop.port == PortId(0) || *is_permanent)
        };
        assert!(hop.port.0 < 2 && told.iter().any(is), "{hop:?}");
    }
    mirror.clear();
    assert!(mirror.table().is_ok_and(|table| table.is_empty()));
});
