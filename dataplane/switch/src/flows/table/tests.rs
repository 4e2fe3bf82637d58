//! The table against a naive model of it.

use super::*;
use crate::flows::packet::{Address, Way};
use crate::table::WAYS;
use core::net::Ipv6Addr;
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::WireBytes;

const AGEING: Interval = Interval(100 << Tick::SHIFT);

fn key(number: u32) -> FlowKey {
    let source = Address::numbered(u64::from(number % 7));
    let hosts = Hosts { source, destination: Address::numbered(100), way: Way::Out };
    FlowKey { hosts, qp: QueuePair::from_low_bits(number) }
}

fn at(ticks: u64) -> Nanos {
    Nanos(ticks << Tick::SHIFT)
}

/// Finds or enters flow `number`, as packets do, and says which flows went.
fn show(table: &mut FlowTable, number: u32, ticks: u64) -> (Slot, bool, Vec<u32>) {
    let mut gone = Vec::new();
    let hash = table.hash(&key(number));
    let (slot, new) = table.find_or_insert(hash, &key(number), at(ticks), |table, slot| {
        gone.push(table.hot(slot).key().qp.number());
    });
    table.hot_mut(slot).last_seen = Tick::of(at(ticks));
    (slot, new, gone)
}

fn find(table: &FlowTable, number: u32) -> Option<Slot> {
    table.find(table.hash(&key(number)), &key(number))
}

fn reserved_bytes(table: &FlowTable) -> usize {
    table.index.reserved_bytes()
        + table.hot.capacity() * size_of::<Hot>()
        + table.cold.capacity() * size_of::<Cold>()
}

proptest! {
    #[test]
    fn a_table_finds_what_was_entered_and_has_not_gone(
        capacity in 1..40_u32,
        seed: u64,
        steps in proptest::collection::vec((0..60_u32, 0..30_u64), 0..600),
    ) {
        let mut table = FlowTable::new(capacity, AGEING, seed);
        // When each flow was seen last, and what was counted for it.
        let mut model: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut now = 0;
        for (number, step) in steps {
            now += step;
            let before = table.counters();
            let (slot, new, gone) = show(&mut table, number, now);
            let idle = |flow: &u32| now - model[flow].0;
            let evicted = gone.iter().filter(|flow| idle(flow) <= 100).count() as u64;
            prop_assert!(evicted == 0 || (evicted == 1 && gone.len() == 1 && model.len() as u32 == capacity));
            prop_assert_eq!(table.counters().evicted - before.evicted, evicted);
            prop_assert_eq!(table.counters().aged - before.aged, gone.len() as u64 - evicted);
            prop_assert_eq!(table.counters().entered - before.entered, u64::from(new));
            for flow in gone {
                prop_assert!(model.remove(&flow).is_some());
            }
            prop_assert_eq!(new, !model.contains_key(&number));
            let entry = model.entry(number).or_default();
            *entry = (now, entry.1 + 1);
            table.hot_mut(slot).count(WireBytes(1));
            prop_assert_eq!(table.len() as usize, model.len());
            for number in 0..60 {
                let sent = find(&table, number).map(|slot| table.hot(slot).sent().0);
                prop_assert_eq!(sent, model.get(&number).map(|flow| flow.1));
            }
        }
    }
}

#[test]
fn a_full_table_evicts_the_idlest_flow_of_those_at_its_hand() {
    let mut table = FlowTable::new(16, AGEING, 1);
    for number in 0..16 {
        show(&mut table, number, u64::from(if number == 11 { 3 } else { 4 + number }));
    }
    let (_, new, gone) = show(&mut table, 99, 20);
    assert_eq!((new, gone), (true, vec![11]));
    assert_eq!(table.counters(), FlowCounters { entered: 17, evicted: 1, ..Default::default() });
    assert_eq!((table.len(), find(&table, 11)), (16, None));
}

#[test]
fn idle_flows_go_as_new_ones_come() {
    let mut table = FlowTable::new(1_000, AGEING, 1);
    for number in 0..10 {
        show(&mut table, number, 0);
    }
    for number in 10..20 {
        show(&mut table, number, 101);
    }
    assert_eq!(table.counters(), FlowCounters { entered: 20, aged: 10, ..Default::default() });
    assert!((0..10).all(|number| find(&table, number).is_none()));
}

#[test]
fn a_flow_that_comes_back_after_the_ageing_time_is_a_new_one() {
    let mut table = FlowTable::new(4, AGEING, 1);
    let (slot, ..) = show(&mut table, 1, 0);
    table.hot_mut(slot).count(WireBytes(5));
    assert!(!show(&mut table, 1, 100).1, "the ageing time is not over");
    let (slot, new, gone) = show(&mut table, 1, 201);
    assert_eq!((new, gone, table.hot(slot).sent().0), (true, vec![1], 0));
}

#[test]
fn what_schemes_note_of_a_flow_says_nothing_of_the_next_one_in_its_slot() {
    const NOTE: Note = Note::numbered(31);
    let mut table = FlowTable::new(1, AGEING, 1);
    let (former, ..) = show(&mut table, 1, 0);
    let hot = table.hot_mut(former);
    hot.notes.set(NOTE, true);
    hot.round = 7;
    assert!(hot.notes.has(NOTE) && !hot.notes.has(Note::numbered(0)));
    let (slot, new, _) = show(&mut table, 2, 1);
    let hot = table.hot(slot);
    assert_eq!((slot, new, hot.notes.has(NOTE), hot.round), (former, true, false, 0));
}

#[test]
fn what_is_sent_again_tells_nothing_of_a_flow_about_which_nothing_is_to_be_found_out() {
    let mut table = FlowTable::new(4, AGEING, 1);
    let (slot, ..) = show(&mut table, 1, 0);
    table.cold_mut(slot).first = Psn::from_low_bits(10);
    let progress = &mut table.hot_mut(slot).progress;
    progress.advance(Psn::from_low_bits(50), 1);
    progress.set_data();
    progress.set_settled(true);
    let known = *progress;
    let go_on = |table: &mut FlowTable, ticks, psn| {
        table.go_on(slot, 0, at(ticks), Psn::from_low_bits(psn), (WireBytes(0), 1))
    };
    for psn in [11, 50] {
        assert!(go_on(&mut table, 60, psn), "{psn} went by before");
    }
    assert_eq!((table.hot(slot).progress, table.hot(slot).last_seen), (known, Tick::of(at(60))));
    for psn in [9, 10] {
        assert!(!go_on(&mut table, 60, psn), "{psn} may be the beginning of another life");
    }
    assert!(!go_on(&mut table, 161, 50), "the flow has aged");
    table.hot_mut(slot).set_source(Some(QueuePair::from_low_bits(7)));
    assert!(!go_on(&mut table, 60, 50), "the resolver watches over flows that are bound");
    assert!(go_on(&mut table, 60, 51), "what comes next is as usual");
}

#[test]
fn the_halves_of_a_pair_age_together() {
    let mut table = FlowTable::new(8, AGEING, 1);
    let (quiet, ..) = show(&mut table, 1, 0);
    let (busy, ..) = show(&mut table, 2, 0);
    table.pair(quiet, busy);
    show(&mut table, 2, 90);
    assert!(show(&mut table, 3, 150).2.is_empty());
    assert_eq!(table.partner(busy), Some(quiet));
    assert_eq!(table.part(quiet), Some(busy));
    let gone = [show(&mut table, 4, 151).2, show(&mut table, 5, 152).2].concat();
    assert_eq!(gone, [1]);
}

#[test]
fn directions_between_hosts_are_told_apart_by_their_hashes() {
    let table = FlowTable::new(8, AGEING, 1);
    assert_ne!(table.hash_hosts(&key(1).hosts), table.hash_hosts(&key(2).hosts));
}

#[test]
fn a_flow_has_aged_after_the_ageing_time_unless_its_other_half_has_not() {
    let mut table = FlowTable::new(8, AGEING, 1);
    let (quiet, ..) = show(&mut table, 1, 0);
    let (busy, ..) = show(&mut table, 2, 50);
    let aged = |table: &FlowTable, ticks| table.has_aged(quiet, Tick::of(at(ticks)));
    assert!(!aged(&table, 100) && aged(&table, 101));
    table.pair(quiet, busy);
    assert!(!aged(&table, 150) && aged(&table, 151));
}

#[test]
fn a_million_flows_fit_into_128_mebibytes_and_never_take_more() {
    let mut table = FlowTable::new(1_000_000, AGEING, 1);
    let reserved = reserved_bytes(&table);
    assert!(
        reserved <= 115 << 20,
        "{reserved} bytes; LSCC has 12 of its own for each flow, the resolver's chains a MiB"
    );
    for number in 0..1_000_200 {
        show(&mut table, number, 0);
    }
    assert_eq!(reserved_bytes(&table), reserved);
    // Now and then a set is full before the table is.
    let FlowCounters { entered, evicted, .. } = table.counters();
    assert_eq!((entered, u64::from(table.len()) + evicted), (1_000_200, 1_000_200));
    assert!((998_000..=1_000_000).contains(&table.len()), "{} flows", table.len());
}

/// The mean number of places that a search looks at, where 60,000 flows from addresses with this `prefix` are known,
/// and the largest.
fn probes(key: HashKey, prefix: u64) -> (f64, usize) {
    let mut table = FlowTable::new(1 << 16, AGEING, key);
    let flow = |number: u64| {
        let source = Ipv6Addr::from_bits(u128::from(prefix) << 64 | u128::from(number)).into();
        let hosts = Hosts { source, destination: Address::numbered(100), way: Way::Out };
        FlowKey { hosts, qp: QueuePair::from_low_bits(7) }
    };
    let (mut sum, mut most) = (0, 0);
    for number in 0..60_000 {
        let hash = table.hash(&flow(number));
        let probes = table.index.count_probes(hash);
        (sum, most) = (sum + probes, most.max(probes));
        table.find_or_insert(hash, &flow(number), at(0), |_, _| {});
    }
    (sum as f64 / 60_000.0, most)
}

#[test]
fn addresses_that_take_the_multiplication_to_zero_cost_no_more_probes_than_others() {
    // The upper half is the constant with which foldhash combines it where only its start is chosen.
    for key in (0..8).map(HashKey::from) {
        let (chosen, most) = probes(key, 0xc0ac_29b7_c97c_50dd);
        let (ordinary, _) = probes(key, 0x2001_0db8_0000_0000);
        assert!(
            chosen <= 2.0 * ordinary && most <= WAYS,
            "{chosen} probes instead of {ordinary}, {most} at most"
        );
    }
}

#[test]
fn no_half_of_an_address_that_many_flows_share_crowds_them() {
    let mut prefixes = vec![0, u64::MAX, 1 << 63, 0xffff_0000_0000];
    prefixes.extend((0..12_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let key = HashKey::new(*b"an unknown key 1");
    for prefix in prefixes {
        let (mean, most) = probes(key, prefix);
        assert!(mean < 2.0 && most <= WAYS, "{prefix:x}: {mean} probes, {most} at most");
    }
}

#[test]
fn ticks_wrap() {
    let before = Tick::of(Nanos((1 << (32 + Tick::SHIFT)) - 1));
    let after = Tick::of(Nanos(1 << (32 + Tick::SHIFT)));
    assert_eq!((after.since(before), before.since(after)), (1, 0));
}

#[test]
fn a_guess_is_right_for_its_own_flow_and_only_as_long_as_that_is_there() {
    let mut table = FlowTable::new(40, AGEING, 1);
    for number in 0..40 {
        show(&mut table, number, 0);
    }
    let guesses = [0, 1].map(|number| table.guess(table.hash(&key(number))));
    assert_eq!(guesses.map(|guess| table.find_at(guess, &key(0))), [find(&table, 0), None]);
    assert_eq!(table.find_at(Link::NONE, &key(0)), None);
    let slot = find(&table, 0).unwrap();
    table.remove(slot);
    assert_eq!(table.find_at(guesses[0], &key(0)), None, "the slot is vacant");
}
