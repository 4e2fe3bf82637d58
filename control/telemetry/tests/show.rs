//! The snapshot, and what a person sees of it.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{
    assert_golden, gateway, in_crate, snapshot, snapshot_of_bifrostx, snapshot_of_bridge,
    snapshot_of_credits, snapshot_of_neighbours, snapshot_of_neighbours_called,
};
use switch::figure::LISTS;
use telemetry::explain::explain;
use telemetry::{Period, Snapshot, View, of_port, render};

#[test]
fn a_snapshot_comes_back_from_json_as_it_was() {
    let snapshot = snapshot();
    let json = serde_json::to_string_pretty(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
    assert!(json.contains("\"in\": {") && json.contains("\"event\": \"detected\""), "{json}");
}

/// A snapshot from a gateway that is older than the run-time profile.
fn snapshot_without_profiles() -> Snapshot {
    let mut json = serde_json::to_value(snapshot()).unwrap();
    assert!(json.as_object_mut().unwrap().remove("tsc_hz").is_some());
    for worker in json["workers"].as_array_mut().unwrap() {
        assert!(worker.as_object_mut().unwrap().remove("runtime").is_some());
    }
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_storm_is_as_long_ago_as_by_the_clock_of_the_workers_whatever_the_systems_clock_says() {
    let page = |it: &Snapshot| render(it, View::Pfc, None).unwrap();
    let mut snapshot = snapshot();
    let shown = page(&snapshot);
    assert!(shown.contains("STORMS, latest first"), "{shown}");
    snapshot.at_ns += 3_600_000_000_000;
    assert_eq!(page(&snapshot), shown);
    snapshot.workers_at_ns = snapshot.workers_at_ns.map(|at| at + 3_600_000_000_000);
    assert_ne!(page(&snapshot), shown);
    let told = page(&snapshot);
    snapshot.workers_at_ns = None;
    assert_eq!(page(&snapshot), told, "an older gateway tells one time alone");
}

#[test]
fn a_gateway_without_run_time_profiles_is_shown_as_any_other_but_for_them() {
    let (older, newer) = (snapshot_without_profiles(), snapshot());
    for view in View::ALL.into_iter().filter(|view| *view != View::Runtime) {
        assert_eq!(render(&older, view, None), render(&newer, view, None), "{}", view.name());
    }
    let refusal = format!("The gateway runs Longspan {}, which keeps no run-time profile.\n", older.version);
    for snapshot in [older.clone(), older.clone().since(&older).unwrap()] {
        assert_eq!(render(&snapshot, View::Runtime, None).unwrap(), refusal);
    }
}

#[test]
fn every_view_of_a_busy_gateway_is_the_golden_one() {
    let snapshot = snapshot();
    for view in View::ALL {
        assert_golden(&format!("show-{}.txt", view.name()), &render(&snapshot, view, None).unwrap());
    }
}

#[test]
fn a_bridge_shows_what_the_stations_of_each_port_changed_and_what_it_refused() {
    let snapshot = snapshot_of_bridge();
    let of_port = |port: usize| {
        let json = serde_json::to_value(&snapshot.ports[port]).unwrap();
        ["moved_addresses", "displaced_addresses", "refused_changes"].map(|key| json["bridge"][key].as_u64())
    };
    assert_eq!((of_port(0), of_port(1)), ([999, 1, 0].map(Some), [1_000, 0, 5].map(Some)));
    assert!(render(&snapshot, View::Ports, None).unwrap().contains("\nBRIDGE"));
    assert!(!render(&common::snapshot(), View::Ports, None).unwrap().contains("BRIDGE"), "there is none");
}

#[test]
fn a_neighbour_is_shown_with_each_difference_and_what_it_has_negotiated() {
    let snapshot = snapshot_of_neighbours();
    let page = render(&snapshot, View::Neighbours, None).unwrap();
    assert_golden("show-a-neighbour.txt", &page);
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
}

#[test]
fn each_of_several_neighbours_that_speak_dcbx_has_a_row_of_that_and_does_not_agree() {
    let page =
        |ports: &[&str]| render(&snapshot_of_neighbours_called(ports), View::Neighbours, None).unwrap();
    let rows = |page: &str| page.lines().filter(|it| it.contains("several_neighbours")).count();
    assert_eq!(rows(&page(&["Ethernet0"])), 0);
    assert_eq!(rows(&page(&["Ethernet0", "Ethernet4"])), 2, "{}", page(&["Ethernet0", "Ethernet4"]));
    let snapshot = snapshot_of_neighbours_called(&["Ethernet0", "Ethernet4"]);
    assert!(snapshot.ports[1].neighbours.iter().all(|it| !it.mismatches.is_empty()));
}

#[test]
fn an_explanation_names_a_neighbour_with_other_pfc_and_no_other_difference() {
    let snapshot = snapshot_of_neighbours();
    let explained = explain(&Period::since_start(&snapshot), "lh0").unwrap();
    let told: Vec<_> = explained.effects.iter().filter(|it| it.kind == "neighbour_differs").collect();
    let texts: Vec<_> = told.iter().map(|it| it.text.as_str()).collect();
    let sides = "PFC for priorities 3, 4 here, for";
    assert_eq!(
        texts,
        [
            format!("the neighbour far\\n differs: {sides} priority 5 there (pfc_priorities)"),
            format!("the neighbour far\\n differs: {sides} 1 traffic classes at most there (pfc_capability)"),
        ]
    );
}

#[test]
fn every_list_of_figures_stands_on_a_page() {
    for list in LISTS {
        assert!(View::ALL.iter().any(|view| view.name() == list.view), "{}: {}", list.name, list.view);
    }
}

#[test]
fn a_port_with_bifrostx_shows_its_grant_frames_below_its_slots() {
    let page = render(&snapshot_of_bifrostx(), View::Slots, None).unwrap();
    let (slots, _) = page.split_once("\nBIFROSTX").unwrap();
    assert!(slots.starts_with("BIFROST: "), "{page}");
    assert!(!render(&snapshot(), View::Slots, None).unwrap().contains("BIFROSTX"), "it does not run");
}

#[test]
fn a_port_with_credits_shows_its_messages() {
    let page = render(&snapshot_of_credits(), View::Slots, None).unwrap();
    assert!(page.starts_with("CREDITS: "), "{page}");
}

#[test]
fn a_page_is_plain_and_its_tables_are_not_wide() {
    let (snapshot, bifrostx) = (snapshot(), snapshot_of_bifrostx());
    let pages = View::ALL.map(|view| (&snapshot, view)).into_iter().chain([(&bifrostx, View::Slots)]);
    for (snapshot, view) in pages {
        let page = render(snapshot, view, None).unwrap();
        assert!(page.is_ascii() && page.ends_with('\n') && !page.starts_with('\n'), "{page}");
        let width = if view == View::Runtime { 80 } else { 110 };
        assert!(view == View::Config || page.lines().all(|line| line.len() <= width), "{page}");
    }
}

#[test]
fn a_snapshot_of_one_port_holds_no_other_and_all_that_is_of_no_port() {
    let one = of_port(snapshot(), Some("dc0")).unwrap();
    assert_eq!(one.ports.iter().map(|port| port.port.name.as_str()).collect::<Vec<_>>(), ["dc0"]);
    assert_eq!(Snapshot { ports: snapshot().ports, ..one }, snapshot());
    assert_eq!(of_port(snapshot(), None).unwrap(), snapshot());
    assert!(of_port(snapshot(), Some("dc9")).is_err());
}

#[test]
fn a_page_of_one_port_shows_no_other() {
    let snapshot = snapshot();
    for view in View::ALL.into_iter().filter(|view| *view != View::Config) {
        let page = render(&snapshot, view, Some("dc0")).unwrap();
        assert!(!page.contains("lh0"), "{page}");
    }
    assert!(render(&snapshot, View::Slots, Some("lh0")).unwrap().contains("lh0"));
}

#[test]
fn a_port_that_is_not_there_is_refused_with_those_that_are() {
    let refused = render(&snapshot(), View::Ports, Some("dc7")).unwrap_err();
    assert_eq!(refused.to_string(), "the gateway has no port \"dc7\"; its ports are dc0, lh0");
}

#[test]
fn the_configuration_is_shown_without_its_keys() {
    let page = render(&snapshot(), View::Config, None).unwrap();
    let whole = config::render(&gateway());
    let hidden = whole.replace("000102030405060708090a0b0c0d0e0f", "(hidden)");
    assert!(whole != hidden && page == hidden, "{page}");
    assert!(
        config::parse(&page, "shown.toml").is_err(),
        "no one starts a gateway with a key that is not one"
    );
}

#[test]
fn the_ports_are_in_the_order_of_the_configuration_and_the_pools_are_summed() {
    let snapshot = snapshot();
    let names: Vec<_> = snapshot.ports.iter().map(|port| port.port.name.as_str()).collect();
    assert_eq!(names, ["dc0", "lh0"]);
    // A burst to dc0 takes the lossless group to its XOFF, of which 2 kB are reserved, beside lossy frames.
    let lossy = snapshot.ports[0].port.priorities[0].ingress.watermark_bytes;
    let shared = &snapshot.pools.shared;
    assert_eq!((shared.watermark_bytes, shared.size_bytes), (24_000 - 2_000 + lossy, 1 << 20));
}

#[test]
fn what_goes_in_is_what_the_switch_received_and_kept() {
    let snapshot = snapshot();
    // 100 rounds of 12 lossless, one lossy and one that is too short; of the peer, 100, its pauses and a rate.
    assert_eq!(snapshot.ports[0].port.arrived.frames, 1_400);
    assert_eq!(snapshot.ports[1].port.arrived.frames, 4_102);
}

#[test]
fn every_key_of_a_snapshot_is_in_the_docs() {
    fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
                found.insert(key.clone());
                keys(value, found);
            }),
            serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let read = |page: &str| std::fs::read_to_string(in_crate("../../docs").join(page)).unwrap();
    let pages = [read("show.md"), read("report.md"), read("drops.md")].concat();
    let mut found = Default::default();
    for snapshot in [snapshot(), snapshot_of_bridge(), snapshot_of_bifrostx(), snapshot_of_credits()] {
        keys(&serde_json::to_value(snapshot).unwrap(), &mut found);
    }
    // A key within another one stands behind a dot.
    let is_there = |key: &&String| ["`", "."].iter().any(|before| pages.contains(&format!("{before}{key}`")));
    let missing: Vec<_> = found.iter().filter(|key| !is_there(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
