use super::*;
use crate::{FlowSpec, NodeId};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{BitRate, Interval, Nanos};

const RATE: BitRate = BitRate::gigabits(100);

fn hosts(range: core::ops::Range<u32>) -> Vec<NodeId> {
    range.map(NodeId).collect()
}

/// Hosts of two sites: the first four, and the others.
fn places(range: core::ops::Range<u32>) -> Vec<Place> {
    hosts(range).into_iter().map(|host| (host, usize::from(host.0 >= 4), RATE)).collect()
}

fn one(arrivals: Arrivals) -> Workload {
    Workload { parts: vec![Part { group: 0, priority: Priority::from_low_bits(3), arrivals }] }
}

fn poisson(inter: Option<f64>, load: (f64, LoadOf)) -> Workload {
    let all = places(0..8);
    let poisson = Poisson::new(&all, &all, inter, Sizes::Fixed(100_000), load, (Nanos::ZERO, None)).unwrap();
    one(Arrivals::Poisson(Arc::new(poisson)))
}

fn in_a_second(workload: &Workload, seed: u64) -> Vec<FlowSpec> {
    workload.flows(seed, Nanos(1_000_000_000)).collect()
}

fn bits<'a>(flows: impl IntoIterator<Item = &'a FlowSpec>) -> f64 {
    flows.into_iter().filter_map(|flow| flow.bytes).map(|bytes| 8.0 * bytes as f64).sum()
}

fn leaves(flow: &FlowSpec) -> bool {
    (flow.source.0 < 4) != (flow.destination.0 < 4)
}

#[test]
fn the_load_is_that_of_the_links_of_the_sources() {
    let flows = in_a_second(&poisson(None, (0.3, LoadOf::Hosts)), 1);
    let load = bits(&flows) / (8.0 * 100e9);
    assert!((load - 0.3).abs() < 0.005, "{load}");
    for host in hosts(0..8) {
        let sent = bits(flows.iter().filter(|flow| flow.source == host)) / 100e9;
        assert!((sent - 0.3).abs() < 0.02, "{host:?}: {sent}");
        let received = bits(flows.iter().filter(|flow| flow.destination == host)) / 100e9;
        assert!((received - 0.3).abs() < 0.02, "{host:?}: {received}");
    }
}

#[test]
fn the_load_of_the_long_links_is_what_crosses_them_in_a_direction() {
    for inter in [None, Some(0.2), Some(1.0)] {
        let flows = in_a_second(&poisson(inter, (0.5, LoadOf::Long(100e9))), 2);
        let east = flows.iter().filter(|flow| flow.source.0 < 4 && leaves(flow));
        let load = bits(east) / 100e9;
        assert!((load - 0.5).abs() < 0.02, "{inter:?}: {load}");
    }
}

#[test]
fn the_share_of_flows_that_leave_their_site_is_as_asked() {
    let flows = in_a_second(&poisson(Some(0.3), (0.3, LoadOf::Hosts)), 3);
    let share = flows.iter().filter(|flow| leaves(flow)).count() as f64 / flows.len() as f64;
    assert!((share - 0.3).abs() < 0.01, "{share}");
}

#[test]
fn faster_hosts_send_more() {
    let mut sources = places(0..2);
    sources[1].2 = BitRate::gigabits(25);
    let load = (0.2, LoadOf::Hosts);
    let sizes = Sizes::Fixed(10_000);
    let poisson = Poisson::new(&sources, &places(4..8), None, sizes, load, (Nanos::ZERO, None)).unwrap();
    let flows = in_a_second(&one(Arrivals::Poisson(Arc::new(poisson))), 1);
    let fast = flows.iter().filter(|flow| flow.source == NodeId(0)).count() as f64 / flows.len() as f64;
    assert!((fast - 0.8).abs() < 0.01, "{fast}");
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let new = |sources: &[Place], destinations: &[Place], inter, load| {
        let sizes = Sizes::Fixed(1_000);
        Poisson::new(sources, destinations, inter, sizes, load, (Nanos::ZERO, None)).unwrap_err()
    };
    let hosts_load = (0.5, LoadOf::Hosts);
    assert_eq!(new(&[], &places(0..4), None, hosts_load), PoissonError::NoPairs);
    assert!(matches!(new(&places(0..1), &places(0..1), None, hosts_load), PoissonError::Alone { .. }));
    assert!(matches!(new(&places(0..4), &places(0..4), Some(0.5), hosts_load), PoissonError::Alone { .. }));
    let long = (0.5, LoadOf::Long(1e9));
    assert_eq!(new(&places(0..4), &places(0..4), None, long), PoissonError::NeverLeaves);
    assert_eq!(new(&places(0..4), &places(0..4), None, (0.0, LoadOf::Hosts)), PoissonError::Load);
    let all = places(0..8);
    let endless = Poisson::new(&all, &all, None, Sizes::Endless, hosts_load, (Nanos::ZERO, None));
    assert_eq!(endless, Err(PoissonError::Endless));
}

fn pattern(pairs: Pairing, sizes: Sizes) -> Pattern {
    Pattern {
        pairs,
        sizes,
        flows: 1,
        start: Nanos(1_000),
        stagger: Interval::ZERO,
        stop: None,
        on: None,
        again: None,
        is_closed_loop: false,
    }
}

#[test]
fn pairs_are_taken_in_order_and_the_shorter_list_again() {
    let pairs = |sources, destinations| match Pairing::in_order(&hosts(sources), &hosts(destinations)) {
        Pairing::Given(pairs) => pairs.into_iter().map(|(one, other)| (one.0, other.0)).collect::<Vec<_>>(),
        Pairing::Permutation(_) => Vec::new(),
    };
    assert_eq!(pairs(0..3, 4..5), [(0, 4), (1, 4), (2, 4)], "N to 1");
    assert_eq!(pairs(0..2, 4..6), [(0, 4), (1, 5)]);
    assert!(matches!(Pairing::all(&hosts(0..4), &hosts(0..4)), Pairing::Given(pairs) if pairs.len() == 12));
}

#[test]
fn in_a_permutation_each_sends_to_one_and_receives_from_one_and_never_to_itself() {
    let workload =
        one(Arrivals::Pattern(Arc::new(pattern(Pairing::Permutation(hosts(0..16)), Sizes::Fixed(1)))));
    for seed in 0..50 {
        let flows: Vec<FlowSpec> = workload.flows(seed, Nanos(1_000_000)).collect();
        let next: BTreeMap<u32, u32> = flows.iter().map(|flow| (flow.source.0, flow.destination.0)).collect();
        let received: std::collections::BTreeSet<u32> = next.values().copied().collect();
        assert_eq!((next.len(), received.len()), (16, 16));
        assert!(next.iter().all(|(source, destination)| source != destination));
    }
}

#[test]
fn on_and_off_are_flows_without_end_that_are_stopped() {
    let on_off = Pattern {
        on: Some(Interval(300)),
        again: Some(Again { every: Interval(1_000), times: Some(3) }),
        stop: Some(Nanos(3_100)),
        ..pattern(Pairing::Given(vec![(NodeId(0), NodeId(1))]), Sizes::Endless)
    };
    let flows: Vec<_> = one(Arrivals::Pattern(Arc::new(on_off))).flows(1, Nanos(10_000)).collect();
    let times: Vec<_> = flows.iter().map(|flow| (flow.start.0, flow.stop.map(|stop| stop.0))).collect();
    assert_eq!(times, [(1_000, Some(1_300)), (2_000, Some(2_300)), (3_000, Some(3_100))]);
}

#[test]
fn a_closed_loop_goes_on_until_its_pattern_stops() {
    let until = |stop, is_closed_loop| {
        let pairs = Pairing::Given(vec![(NodeId(0), NodeId(1))]);
        let looped = Pattern { stop, is_closed_loop, ..pattern(pairs, Sizes::Fixed(8_000)) };
        let flows: Vec<_> = one(Arrivals::Pattern(Arc::new(looped))).flows(1, Nanos(10_000)).collect();
        assert_eq!(flows.len(), 1, "the other messages follow when this one has ended");
        flows[0].again_until
    };
    assert_eq!(until(Some(Nanos(5_000)), true), Some(Nanos(5_000)));
    assert_eq!(until(None, true), Some(Nanos::NEVER));
    assert_eq!(until(None, false), None);
}

#[test]
fn a_list_is_read_in_the_order_of_its_starts() {
    let text = "start_ns,source,destination,bytes,priority\n200,h1,h0,5,3\n# a comment\n100, h0, h1, 7, 0\n";
    let host = |name: &str| name.strip_prefix('h').and_then(|it| it.parse().ok()).map(NodeId);
    let rows = read_csv(text, host).unwrap();
    let flows: Vec<_> = one(Arrivals::Listed(rows.into())).flows(1, Nanos(1_000)).collect();
    let seen: Vec<_> =
        flows.iter().map(|it| (it.start.0, it.source.0, it.bytes, it.priority.number())).collect();
    assert_eq!(seen, [(100, 0, Some(7), 0), (200, 1, Some(5), 3)]);

    let refused = |text: &str| read_csv(text, host).unwrap_err().to_string();
    assert_eq!(
        refused("1,h0,h1,5"),
        "line 1: expected 5 columns, not 4: start_ns,source,destination,bytes,priority"
    );
    assert_eq!(refused("\n1,h0,x,5,3"), "line 2: \"x\" is not a host");
    assert_eq!(refused("1,h0,h1,-5,3"), "line 1: bytes \"-5\" is not a whole number above 0");
    assert_eq!(refused("1,h0,h1,5,8"), "line 1: priority \"8\" is not 0 to 7");
    assert_eq!(refused("1,h0,h0,5,3"), "line 1: h0 sends to itself");
}

#[test]
fn a_part_that_is_added_leaves_the_others_as_they_are() {
    let first = poisson(None, (0.1, LoadOf::Hosts));
    let mut both = first.clone();
    both.parts.push(Part { group: 1, ..poisson(None, (0.2, LoadOf::Hosts)).parts.remove(0) });
    let key = |flow: &FlowSpec| (flow.start, flow.source, flow.destination, flow.bytes);
    let alone: Vec<_> = first.flows(9, Nanos(1_000_000)).map(|flow| key(&flow)).collect();
    let among: Vec<_> =
        both.flows(9, Nanos(1_000_000)).filter(|it| it.group == 0).map(|it| key(&it)).collect();
    assert_eq!(alone, among);
    assert_ne!(alone, first.flows(10, Nanos(1_000_000)).map(|flow| key(&flow)).collect::<Vec<_>>());
}

/// Every pair that a workload reaches, except for hosts with themselves.
fn reached(workload: &Workload) -> BTreeSet<(NodeId, NodeId)> {
    let mut pairs = BTreeSet::new();
    workload.reach(|sources, destinations| {
        let of = |from: &NodeId| destinations.iter().map(|to| (*from, *to)).collect::<Vec<_>>();
        pairs.extend(sources.iter().flat_map(of).filter(|(from, to)| from != to));
    });
    pairs
}

#[test]
fn a_workload_reaches_the_pairs_that_its_flows_have_and_no_others() {
    for inter in [None, Some(0.0), Some(0.3), Some(1.0)] {
        let workload = poisson(inter, (0.5, LoadOf::Hosts));
        let flows = in_a_second(&workload, 1);
        let drawn: BTreeSet<_> = flows.iter().map(|flow| (flow.source, flow.destination)).collect();
        assert_eq!(reached(&workload), drawn, "{inter:?}");
    }
    let given = pattern(Pairing::in_order(&hosts(0..3), &hosts(7..8)), Sizes::Fixed(1));
    let pairs: BTreeSet<_> = (0..3).map(|it| (NodeId(it), NodeId(7))).collect();
    assert_eq!(reached(&one(Arrivals::Pattern(Arc::new(given)))), pairs);
}

proptest! {
    #[test]
    fn flows_come_in_the_order_of_their_start_numbered_and_to_somebody_else(
        seed: u64,
        loads in prop::collection::vec(1_u32..100, 1..4),
        inter in prop::option::of(0.0..=1.0_f64),
        stagger in 0_u64..5_000,
        every in 1_u64..100_000,
    ) {
        let mut workload = Workload::default();
        for load in loads {
            workload.parts.extend(poisson(inter, (f64::from(load) / 100.0, LoadOf::Hosts)).parts);
        }
        let again = Again { every: Interval(every), times: Some(20) };
        let all = Pairing::all(&hosts(0..4), &hosts(2..8));
        let burst = Pattern {
            stagger: Interval(stagger), again: Some(again), ..pattern(all, Sizes::Uniform(5, 9))
        };
        workload.parts.extend(one(Arrivals::Pattern(Arc::new(burst))).parts);
        let flows: Vec<FlowSpec> = workload.flows(seed, Nanos(1_000_000)).collect();
        prop_assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
        prop_assert!(flows.iter().enumerate().all(|(index, flow)| flow.id.0 as usize == index));
        prop_assert!(flows.iter().all(|flow| flow.source != flow.destination && flow.start <= Nanos(1_000_000)));
        let again: Vec<FlowSpec> = workload.flows(seed, Nanos(1_000_000)).collect();
        prop_assert_eq!(flows, again, "the same seed, the same flows");
    }
}
