//! The half-flows that are not bound, by their hosts.
//!
//! A chain holds the half-flows of a direction between two hosts, and of other hosts with the same hash. Each has
//! an ordinal in it, by which half-flows of the other direction note that it cannot be their other half. Long
//! chains would cost too much, so a half-flow that finds no room is left out. While any is left out, or was
//! forgotten a moment ago, the absence of a half-flow from the chain proves nothing. The same holds while strangers
//! send on a bound half-flow, which is not in the chain.

use crate::flows::packet::{Hosts, Way};
use crate::flows::table::{Cold, Flags, FlowTable, Link, Slot};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The time within which packets in flight have arrived.
pub(super) const ANSWERED_WITHIN: Interval = Interval(1 << 30);
/// Chains, at least as many as there are busy pairs of hosts on most links.
const CHAINS: usize = 1 << 14;

/// The unit of stamps, as a power of two of nanoseconds: about a millisecond.
pub(super) const STAMP_SHIFT: u32 = 20;

/// An instant in units of 2^20 ns, which wraps after 69 s.
pub(super) const fn stamp(now: Nanos) -> u16 {
    (now.0 >> STAMP_SHIFT) as u16
}

/// Whether less than about a second has gone by since `since`; occasionally true long after, too.
pub(super) const fn is_recent(now: Nanos, since: u16) -> bool {
    age(now, since) < 1 << 10
}

/// The age of `since` in units, modulo the range of stamps.
pub(super) const fn age(now: Nanos, since: u16) -> u16 {
    stamp(now).wrapping_sub(since)
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Chain {
    head: Link,
    /// The number of half-flows that found no room.
    left_out: u32,
    /// The time until which forgotten half-flows may still be answered.
    gap_ends: Nanos,
    /// The ordinals in use.
    taken: u64,
    /// The ordinals, among half-flows of the other direction, that some half-flow in it may have noted: as
    /// excluded, or as the only candidate.
    noted: u64,
}

/// All chains.
#[derive(Serialize, Deserialize)]
pub(super) struct Chains(Vec<Chain>);

impl Chains {
    pub fn new() -> Self {
        Self::of_number(CHAINS)
    }

    /// A power of two of them.
    fn of_number(chains: usize) -> Self {
        Self(vec![Chain { head: Link::NONE, left_out: 0, gap_ends: Nanos::ZERO, taken: 0, noted: 0 }; chains])
    }

    fn number(&self, table: &FlowTable, hosts: &Hosts) -> usize {
        let number = table.hash_hosts(hosts) as usize ^ usize::from(hosts.way == Way::In);
        number & (self.0.len() - 1)
    }

    fn of(&mut self, table: &FlowTable, hosts: &Hosts) -> &mut Chain {
        let number = self.number(table, hosts);
        &mut self.0[number]
    }

    /// The half-flows in the chain of `hosts`, which may include other hosts. At most 64.
    pub fn members<'a>(&self, table: &'a FlowTable, hosts: &Hosts) -> impl Iterator<Item = Slot> + use<'a> {
        let head = self.0[self.number(table, hosts)].head.get();
        core::iter::successors(head, |slot| table.cold(*slot).next.get())
    }

    /// The ordinals of all half-flows in the chain of `hosts`.
    pub fn ordinals(&self, table: &FlowTable, hosts: &Hosts) -> u64 {
        self.0[self.number(table, hosts)].taken
    }

    /// Whether the chain of `hosts` may lack half-flows that can be answered.
    pub fn leaves_out(&self, table: &FlowTable, hosts: &Hosts, now: Nanos) -> bool {
        let chain = &self.0[self.number(table, hosts)];
        chain.left_out > 0 || now < chain.gap_ends
    }

    /// Notes that a half-flow of `hosts` is not in its chain while requests on it may still be answered. Until that is
    /// over, after about a second, absence from the chain proves nothing.
    pub fn leave_gap(&mut self, table: &FlowTable, hosts: &Hosts, now: Nanos) {
        self.of(table, hosts).gap_ends = now + ANSWERED_WITHIN;
    }

    /// Puts a half-flow that is not bound into its chain, if it is not there and there is room. Returns whether it
    /// is there now.
    pub fn join(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) -> bool {
        let flags = table.cold(slot).flags;
        if flags.has(Flags::CHAINED) {
            return true;
        }
        let hosts = table.hot(slot).key().hosts;
        let chain = self.of(table, &hosts);
        let ordinal = chain.taken.trailing_ones();
        let room = ordinal < u64::BITS;
        match (room, flags.has(Flags::LEFT_OUT)) {
            (true, true) => chain.left_out -= 1,
            (false, false) => chain.left_out += 1,
            _ => {}
        }
        let next = chain.head;
        if room {
            chain.taken |= 1 << ordinal;
            chain.head = Link::to(slot);
        }
        let cold = table.cold_mut(slot);
        cold.flags.set(Flags::LEFT_OUT, !room);
        if !room {
            return false;
        }
        cold.flags.set(Flags::CHAINED, true);
        cold.next = next;
        begin(cold, ordinal, now);
        table.settle(slot);
        self.erase(table, &hosts, None, 1 << ordinal);
        true
    }

    /// Does the same as [`Chains::leave`] and [`Chains::join`] together: half-flows that were excluded become
    /// candidates again. It keeps its place in the chain, because nothing depends on it.
    pub fn rejoin(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        let flags = table.cold(slot).flags;
        if !flags.has(Flags::CHAINED) {
            self.join(table, slot, now);
            return;
        }
        let hosts = table.hot(slot).key().hosts;
        let former = table.cold(slot).ordinal;
        let chain = self.of(table, &hosts);
        chain.taken &= !(1 << former);
        let ordinal = chain.taken.trailing_ones();
        chain.taken |= 1 << ordinal;
        begin(table.cold_mut(slot), ordinal, now);
        self.erase(table, &hosts, Some((slot, former)), 1 << ordinal);
    }

    /// Removes a half-flow from its chain, if it is there. It is then no longer the only candidate of any other.
    pub fn leave(&mut self, table: &mut FlowTable, slot: Slot) {
        let flags = table.cold(slot).flags;
        let hosts = table.hot(slot).key().hosts;
        if flags.has(Flags::LEFT_OUT) {
            self.of(table, &hosts).left_out -= 1;
        }
        if flags.has(Flags::CHAINED) {
            self.unlink(table, slot, &hosts);
            let ordinal = table.cold(slot).ordinal;
            self.erase(table, &hosts, Some((slot, ordinal)), 0);
        }
        table.hot_mut(slot).progress.set_settled(false);
        let cold = table.cold_mut(slot);
        cold.flags.set(Flags::LEFT_OUT, false);
        cold.flags.set(Flags::CHAINED, false);
        (cold.next, cold.other) = (Link::NONE, Link::NONE);
    }

    /// Notes that the half-flows with these `ordinals` cannot be the other half of `slot`.
    pub fn exclude(&mut self, table: &mut FlowTable, slot: Slot, ordinals: u64) {
        table.cold_mut(slot).excluded |= ordinals;
        self.note(table, slot, ordinals);
    }

    /// Notes that only `candidate`, which is in its chain, may be the other half of `slot`, still unconfirmed.
    pub fn claim(&mut self, table: &mut FlowTable, slot: Slot, candidate: Slot) {
        let ordinal = table.cold(candidate).ordinal;
        let cold = table.cold_mut(slot);
        (cold.other, cold.confirmations) = (Link::to(candidate), 0);
        self.note(table, slot, 1 << ordinal);
    }

    fn note(&mut self, table: &FlowTable, slot: Slot, ordinals: u64) {
        let hosts = table.hot(slot).key().hosts;
        self.of(table, &hosts).noted |= ordinals;
    }

    /// Erases notes of half-flows of the other direction: that `former`, with its ordinal, is the only candidate,
    /// and the former meaning of these `ordinals`. Skips a chain without such notes: where there are no responses,
    /// flows come and go at the cost of one line.
    fn erase(&mut self, table: &mut FlowTable, hosts: &Hosts, former: Option<(Slot, u8)>, ordinals: u64) {
        let chain = self.of(table, &hosts.reversed());
        if chain.noted & (ordinals | former.map_or(0, |(_, ordinal)| 1 << ordinal)) == 0 {
            return;
        }
        let (mut at, mut claims) = (chain.head, false);
        while let Some(slot) = at.get() {
            let cold = table.cold_mut(slot);
            at = cold.next;
            cold.excluded &= !ordinals;
            if former.is_some_and(|(former, _)| cold.other == Link::to(former)) {
                (cold.other, cold.confirmations) = (Link::NONE, 0);
            }
            claims |= cold.other != Link::NONE;
        }
        // Claims of other hosts in the same chain may concern half-flows with the same ordinals.
        if !claims {
            self.of(table, &hosts.reversed()).noted &= !ordinals;
        }
    }

    fn unlink(&mut self, table: &mut FlowTable, slot: Slot, hosts: &Hosts) {
        let (next, ordinal) = (table.cold(slot).next, table.cold(slot).ordinal);
        let before = self.members(table, hosts).find(|other| table.cold(*other).next == Link::to(slot));
        let chain = self.of(table, hosts);
        chain.taken &= !(1 << ordinal);
        match before {
            Some(before) => table.cold_mut(before).next = next,
            None => chain.head = next,
        }
    }
}

/// Gives a half-flow an ordinal, with nothing found out about it.
fn begin(cold: &mut Cold, ordinal: u32, now: Nanos) {
    (cold.ordinal, cold.joined) = (ordinal as u8, stamp(now));
    (cold.excluded, cold.other, cold.confirmations, cold.tries) = (0, Link::NONE, 0, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::packet::{Address, FlowKey};
    use proptest::prelude::*;
    use wire::roce::QueuePair;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Join,
        Leave,
        Rejoin,
        /// Of the other direction, the half-flow with this ordinal is the only candidate, or is none.
        Claim(u8),
        Exclude(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Join),
            1 => Just(Step::Leave),
            3 => Just(Step::Rejoin),
            2 => (0..6_u8).prop_map(Step::Claim),
            2 => (0..6_u8).prop_map(Step::Exclude),
        ]
    }

    /// Half-flows both ways between a few hosts, in so few chains that some of them share one.
    struct Scene {
        table: FlowTable,
        chains: Chains,
        slots: Vec<Slot>,
    }

    impl Scene {
        fn new(seed: u64) -> Self {
            let mut table = FlowTable::new(1_000, Interval::from_secs(1), seed);
            let slots = (0..400_u32).map(|number| {
                let pair = u64::from(number / 2 % 3);
                let there = Hosts {
                    source: Address::numbered(pair),
                    destination: Address::numbered(100 + pair % 2),
                    way: Way::Out,
                };
                let hosts = if number % 2 == 0 { there } else { there.reversed() };
                let key = FlowKey { hosts, qp: QueuePair::from_low_bits(number) };
                table.find_or_insert(table.hash(&key), &key, Nanos(1), |_, _| {}).0
            });
            let slots = slots.collect();
            Self { table, chains: Chains::of_number(4), slots }
        }

        fn take(&mut self, number: usize, step: Step, now: Nanos) {
            let Self { table, chains, slots } = self;
            let slot = slots[number];
            let hosts = table.hot(slot).key().hosts.reversed();
            let other = |ordinal: u8| {
                let fits = |other: &Slot| {
                    table.cold(*other).ordinal == ordinal && table.hot(*other).key().hosts == hosts
                };
                let other = chains.members(table, &hosts).find(fits);
                other.filter(|_| table.cold(slot).flags.has(Flags::CHAINED))
            };
            match step {
                Step::Join => drop(chains.join(table, slot, now)),
                Step::Leave => chains.leave(table, slot),
                Step::Rejoin => chains.rejoin(table, slot, now),
                Step::Claim(ordinal) => {
                    if let Some(other) = other(ordinal) {
                        chains.claim(table, slot, other);
                        table.cold_mut(slot).confirmations = 1;
                    }
                }
                Step::Exclude(ordinal) => {
                    if other(ordinal).is_some() {
                        chains.exclude(table, slot, 1 << ordinal);
                    }
                }
            }
        }

        /// The same, where every chain is walked and who joins again has left before.
        fn take_the_long_way(&mut self, number: usize, step: Step, now: Nanos) {
            self.chains.0.iter_mut().for_each(|chain| chain.noted = u64::MAX);
            match step {
                Step::Rejoin => {
                    self.take(number, Step::Leave, now);
                    self.chains.0.iter_mut().for_each(|chain| chain.noted = u64::MAX);
                    self.take(number, Step::Join, now);
                }
                _ => self.take(number, step, now),
            }
        }

        fn state(&self) -> impl PartialEq + core::fmt::Debug {
            let half = |slot: &Slot| {
                let (hot, cold) = (self.table.hot(*slot), self.table.cold(*slot));
                let noted = (cold.excluded, cold.other, cold.confirmations);
                (hot.progress, noted, cold.joined, cold.ordinal, cold.flags)
            };
            let chain = |chain: &Chain| (chain.taken, chain.left_out);
            let halves: Vec<_> = self.slots.iter().map(half).collect();
            (halves, self.chains.0.iter().map(chain).collect::<Vec<_>>())
        }
    }

    #[test]
    fn both_directions_between_two_hosts_have_chains_of_their_own() {
        let Scene { table, chains, .. } = Scene::new(7);
        for number in 0..100 {
            let source = Address::numbered(number);
            let hosts = Hosts { source, destination: source, way: Way::Out };
            assert_ne!(chains.number(&table, &hosts), chains.number(&table, &hosts.reversed()));
        }
    }

    #[test]
    fn what_was_forgotten_is_missed_until_it_can_be_answered_no_more() {
        let Scene { table, mut chains, slots } = Scene::new(7);
        let hosts = table.hot(slots[0]).key().hosts;
        assert!(!chains.leaves_out(&table, &hosts, Nanos(5)));
        chains.leave_gap(&table, &hosts, Nanos(5));
        let end = Nanos(5) + ANSWERED_WITHIN;
        assert!(chains.leaves_out(&table, &hosts, Nanos(end.0 - 1)));
        assert!(!chains.leaves_out(&table, &hosts, end));
    }

    #[test]
    fn a_stamp_is_recent_for_1024_units() {
        let unit = |count: u64| Nanos(count << STAMP_SHIFT);
        assert!(is_recent(unit(1_023), 0) && !is_recent(unit(1_024), 0));
        assert!(is_recent(unit((1 << 16) + 1_023), 0), "it wraps");
    }

    #[test]
    fn the_ordinals_of_a_chain_are_those_of_its_members() {
        let mut scene = Scene::new(7);
        let hosts = scene.table.hot(scene.slots[0]).key().hosts;
        assert_eq!(scene.chains.ordinals(&scene.table, &hosts), 0);
        for count in 1..=3_u32 {
            scene.take(6 * (count as usize - 1), Step::Join, Nanos(1));
            assert_eq!(scene.chains.ordinals(&scene.table, &hosts), (1 << count) - 1);
        }
        scene.take(6, Step::Leave, Nanos(2));
        assert_eq!(scene.chains.ordinals(&scene.table, &hosts), 0b101);
    }

    #[test]
    fn a_claim_ends_with_its_candidate_though_other_hosts_of_the_chain_took_its_ordinal() {
        let (mut table, mut chains) = (FlowTable::new(100, Interval::from_secs(1), 7), Chains::of_number(4));
        let hosts = |number| Hosts {
            source: Address::numbered(number),
            destination: Address::numbered(1_000),
            way: Way::Out,
        };
        // They share a chain one way and have chains of their own the other way.
        let chain = |hosts: &Hosts| chains.number(&table, hosts);
        let one = hosts(0);
        let other = (1..)
            .map(hosts)
            .find(|other| chain(other) == chain(&one) && chain(&other.reversed()) != chain(&one.reversed()));
        let other = other.unwrap();
        let join = |table: &mut FlowTable, chains: &mut Chains, hosts, qp| {
            let key = FlowKey { hosts, qp: QueuePair::from_low_bits(qp) };
            let slot = table.find_or_insert(table.hash(&key), &key, Nanos(1), |_, _| {}).0;
            assert!(chains.join(table, slot, Nanos(1)));
            slot
        };
        let claimant = join(&mut table, &mut chains, other, 1);
        let candidate = join(&mut table, &mut chains, other.reversed(), 2);
        let neighbour = join(&mut table, &mut chains, one, 3);
        let [first, second] = [4, 5].map(|qp| join(&mut table, &mut chains, one.reversed(), qp));
        chains.claim(&mut table, claimant, candidate);
        chains.claim(&mut table, neighbour, second);
        assert_eq!(table.cold(first).ordinal, table.cold(candidate).ordinal);
        chains.leave(&mut table, first);
        join(&mut table, &mut chains, one.reversed(), 6);
        assert_eq!(table.cold(claimant).other, Link::to(candidate));
        chains.leave(&mut table, candidate);
        assert_eq!(table.cold(claimant).other, Link::NONE);
        assert_eq!(table.cold(neighbour).other, Link::to(second));
    }

    proptest! {
        #[test]
        fn a_chain_that_nobody_has_noted_anything_in_need_not_be_walked(
            seed: u64,
            few in proptest::collection::vec((0..12_usize, step()), 0..200),
            many in proptest::collection::vec((0..400_usize, step()), 0..600),
        ) {
            let (mut short, mut long) = (Scene::new(seed), Scene::new(seed));
            let steps = few.into_iter().chain(many).enumerate();
            for (number, (flow, step)) in steps {
                let now = Nanos((number as u64) << 27);
                short.take(flow, step, now);
                long.take_the_long_way(flow, step, now);
            }
            prop_assert_eq!(short.state(), long.state());
        }
    }
}
