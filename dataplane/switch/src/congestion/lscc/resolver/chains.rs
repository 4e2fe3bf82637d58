//! The half-flows that are not bound, by their hosts.
//!
//! A chain holds the half-flows of a direction between two hosts, and of those that share its hash. Each
//! has an ordinal in it, by which half-flows of the other direction remember that it cannot be
//! their other half. Long chains would cost too much: what finds no room is left out, and while
//! anything is, nothing can be concluded from what the chain does not hold.

use crate::congestion::lscc::flow_table::{Flags, FlowTable, Link, Slot};
use crate::congestion::lscc::packet::Hosts;
use units::Nanos;

/// Chains, at least as many as there are busy pairs of hosts on most links.
const CHAINS: usize = 1 << 14;

/// An instant in units of 2^28 ns (0.27 s), which wraps after 69 s.
pub(super) const fn stamp(now: Nanos) -> u8 {
    (now.0 >> 28) as u8
}

/// Whether less than about a second has gone by since `stamp`; now and then also long after.
pub(super) const fn is_recent(now: Nanos, since: u8) -> bool {
    stamp(now).wrapping_sub(since) < 4
}

#[derive(Clone, Copy)]
struct Chain {
    head: Link,
    /// How many half-flows found no room.
    left_out: u32,
    /// The ordinals that are taken.
    taken: u64,
}

/// All chains.
pub(super) struct Chains(Vec<Chain>);

impl Chains {
    pub fn new() -> Self {
        Self(vec![Chain { head: Link::NONE, left_out: 0, taken: 0 }; CHAINS])
    }

    fn number(table: &FlowTable, hosts: &Hosts) -> usize {
        table.hash_hosts(hosts) as usize % CHAINS
    }

    fn of(&mut self, table: &FlowTable, hosts: &Hosts) -> &mut Chain {
        &mut self.0[Self::number(table, hosts)]
    }

    /// The half-flows in the chain of `hosts`, which may be of other hosts too. At most 64.
    pub fn members<'a>(&self, table: &'a FlowTable, hosts: &Hosts) -> impl Iterator<Item = Slot> + use<'a> {
        let head = self.0[Self::number(table, hosts)].head.get();
        core::iter::successors(head, |slot| table.cold(*slot).next.get())
    }

    /// As [`Chains::members`], with leave to change each.
    pub fn change(&self, table: &mut FlowTable, hosts: &Hosts, mut change: impl FnMut(&mut FlowTable, Slot)) {
        let mut at = self.0[Self::number(table, hosts)].head;
        while let Some(slot) = at.get() {
            at = table.cold(slot).next;
            change(table, slot);
        }
    }

    /// The ordinals of all half-flows in the chain of `hosts`.
    pub fn ordinals(&self, table: &FlowTable, hosts: &Hosts) -> u64 {
        self.0[Self::number(table, hosts)].taken
    }

    /// Whether half-flows of `hosts` may have been left out.
    pub fn leaves_out(&self, table: &FlowTable, hosts: &Hosts) -> bool {
        self.0[Self::number(table, hosts)].left_out > 0
    }

    /// Puts a half-flow that is not bound into its chain, if it is not there and there is room; says whether it is
    /// there now.
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
        (cold.next, cold.ordinal, cold.joined) = (next, ordinal as u8, stamp(now));
        (cold.excluded, cold.other, cold.confirmations, cold.tries) = (0, Link::NONE, 0, 0);
        table.hot_mut(slot).progress.set_settled(true);
        // Whom the ordinal meant before is of no concern any more.
        self.change(table, &hosts.reversed(), |table, other| {
            table.cold_mut(other).excluded &= !(1 << ordinal)
        });
        true
    }

    /// Takes a half-flow out of its chain, if it is there. No other one has it for its only candidate any longer.
    pub fn leave(&mut self, table: &mut FlowTable, slot: Slot) {
        let flags = table.cold(slot).flags;
        let hosts = table.hot(slot).key().hosts;
        if flags.has(Flags::LEFT_OUT) {
            self.of(table, &hosts).left_out -= 1;
        }
        if flags.has(Flags::CHAINED) {
            self.unlink(table, slot, &hosts);
            self.change(table, &hosts.reversed(), |table, other| {
                let other = table.cold_mut(other);
                if other.other == Link::to(slot) {
                    (other.other, other.confirmations) = (Link::NONE, 0);
                }
            });
        }
        table.hot_mut(slot).progress.set_settled(false);
        let cold = table.cold_mut(slot);
        cold.flags.set(Flags::LEFT_OUT, false);
        cold.flags.set(Flags::CHAINED, false);
        (cold.next, cold.other) = (Link::NONE, Link::NONE);
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
