//! Datagrams of netlink, and the routes that follow from them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror::netlink::read;
use mirror::{Mirror, NEIGHBOURS_MAX, ROUTES_MAX, Tap};
use units::PortId;

fuzz_target!(|data: &[u8]| {
    let tap = |name: &str, port, learns| Tap { name: name.into(), port: PortId(port), learns };
    let mut mirror = Mirror::new(vec![tap("dc0", 0, true), tap("lh0", 1, false)]);
    read(data, |message| mirror.see(message));
    let Ok(table) = mirror.table() else { return };
    assert!(table.len() <= ROUTES_MAX + NEIGHBOURS_MAX);
    assert!(table.iter().flat_map(|route| &route.hops).all(|hop| hop.port.0 < 2 && !hop.mac.is_multicast()));
    mirror.clear();
    assert!(mirror.table().is_ok_and(|table| table.is_empty()));
});
