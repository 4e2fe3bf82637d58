//! Collectives as jobs: the operations of each rank.

use super::{Act, After, Moment, Operation, Rank};
use crate::network::NodeId;
use units::Interval;

/// The kind of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All-reduce in a ring: reduce-scatter, then all-gather (Patarasuk and Yuan, JPDC 69, 2009).
    RingAllReduce,
    /// All-reduce in a binomial tree with rank 0 at its root: up, then down. A rank sends to its children one after the
    /// other, the child with the largest subtree first.
    TreeAllReduce,
    /// Reduce-scatter in a ring.
    ReduceScatter,
    /// All-gather in a ring.
    AllGather,
    /// Each rank sends a share to each other one, all at once.
    AllToAll,
    /// Each rank is a stage that receives from the one before, calculates and sends to the next: one chunk after the other.
    Pipeline,
    /// All-reduce over two groups of equally many ranks: reduce-scatter in a ring within each group, exchange between ranks
    /// with the same place in their groups, all-gather within each group.
    Hierarchical([Vec<u32>; 2]),
}

/// A collective, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Its kind.
    pub kind: Kind,
    /// Bytes of a rank's data.
    pub bytes: u64,
    /// The chunks into which the data is divided. Each is a collective of its own.
    pub chunks: u32,
    /// The time for which each rank calculates.
    pub compute: Interval,
    /// The share of that time, the last one, that may go on beside communication. As much of it as there are chunks before a
    /// chunk passes before that chunk.
    pub overlap: f64,
}

/// The operations of one rank.
#[derive(Default)]
struct Script {
    operations: Vec<Operation>,
    after: Vec<After>,
}

impl Script {
    /// Adds a send that follows the one `before` on the link, once `gate` has ended.
    fn send(&mut self, bytes: u64, to: u32, tag: u32, before: Option<u32>, gate: Option<u32>) -> Option<u32> {
        let sent = self.add(Act::Send { bytes, to, tag }, 0, [gate]);
        let after = |(operation, other)| After { operation, other, moment: Moment::Leaves };
        self.after.extend(sent.zip(before).map(after));
        sent
    }

    /// Adds an operation that begins when all of `others` have ended.
    fn add(&mut self, act: Act, cpu: u8, others: impl IntoIterator<Item = Option<u32>>) -> Option<u32> {
        let operation = self.operations.len() as u32;
        self.operations.push(Operation { act, cpu });
        let after = |other| After { operation, other, moment: Moment::Ends };
        self.after.extend(others.into_iter().flatten().map(after));
        Some(operation)
    }
}

/// The ranks while they are made, with the tag of the next messages.
///
/// The sends of a rank around a ring or down a tree leave one after the other, as over one queue pair.
struct Maker {
    ranks: Vec<Script>,
    tag: u32,
}

/// For each rank, an operation that has to end before what follows.
type Gates = Vec<Option<u32>>;

impl Collective {
    /// Its ranks at `hosts`, of which there are two at least.
    pub fn ranks(&self, hosts: &[NodeId]) -> Vec<Rank> {
        let ranks = hosts.iter().map(|_| Script::default()).collect();
        let mut maker = Maker { ranks, tag: 0 };
        if self.kind == Kind::Pipeline {
            self.pipeline(&mut maker);
        } else {
            self.chunks(&mut maker);
        }
        let rank = |(host, script): (&NodeId, Script)| Rank {
            host: *host,
            operations: script.operations,
            after: script.after,
        };
        hosts.iter().zip(maker.ranks).map(rank).collect()
    }

    /// The most operations that so many ranks may have.
    pub fn operations_at_most(&self, ranks: usize) -> u64 {
        let (ranks, chunks) = (ranks as u64, u64::from(self.chunks));
        let of_rank = match self.kind {
            Kind::RingAllReduce | Kind::Hierarchical(_) => 4 * ranks,
            Kind::ReduceScatter | Kind::AllGather | Kind::AllToAll => 2 * ranks,
            Kind::TreeAllReduce => 4,
            Kind::Pipeline => 3,
        };
        ranks * (chunks * (of_rank + 1) + 1)
    }

    /// The chunks, each when the calculation before it has ended.
    fn chunks(&self, maker: &mut Maker) {
        let beside = Interval((self.compute.0 as f64 * self.overlap).round() as u64);
        let before = Interval(self.compute.0.saturating_sub(beside.0));
        let count = u64::from(self.chunks);
        let mut gates: Gates = maker.each(|script, _| calculate(script, before, 0, None));
        for chunk in 0..count {
            let piece = Interval(share(beside.0, count, chunk));
            // The piece of the calculation goes on beside this chunk, and the next chunk follows it.
            let next = maker.each(|script, rank| calculate(script, piece, 1, gates[rank]));
            self.chunk(maker, share(self.bytes, count, chunk), &gates);
            gates = next;
        }
    }

    fn chunk(&self, maker: &mut Maker, bytes: u64, gates: &Gates) {
        let count = maker.ranks.len() as u32;
        let all: Vec<u32> = (0..count).collect();
        match &self.kind {
            Kind::RingAllReduce => drop(maker.ring(&all, bytes, 0..2 * (count - 1), gates)),
            Kind::ReduceScatter | Kind::AllGather => drop(maker.ring(&all, bytes, 0..count - 1, gates)),
            Kind::TreeAllReduce => maker.tree(bytes, gates),
            Kind::AllToAll => maker.all_to_all(bytes, gates),
            Kind::Hierarchical(groups) => maker.hierarchical(groups, bytes, gates),
            // It has no chunks side by side.
            Kind::Pipeline => {}
        }
    }

    fn pipeline(&self, maker: &mut Maker) {
        let (count, last) = (u64::from(self.chunks), maker.ranks.len() as u32 - 1);
        let mut sent: Gates = vec![None; maker.ranks.len()];
        for chunk in 0..count {
            let (bytes, tag) = (share(self.bytes, count, chunk), chunk as u32);
            let time = Interval(share(self.compute.0, count, chunk));
            for ((rank, script), sent) in (0..).zip(&mut maker.ranks).zip(&mut sent) {
                let receive = Act::Receive { bytes, from: rank.max(1) - 1, tag };
                let received = if rank > 0 { script.add(receive, 0, None) } else { None };
                let done = script.add(Act::Calculate(time), 1, [received]);
                if rank < last {
                    *sent = script.send(bytes, rank + 1, tag, *sent, done);
                }
            }
        }
    }
}

/// A calculation behind `gate`, if it takes time; otherwise the gate.
fn calculate(script: &mut Script, time: Interval, cpu: u8, gate: Option<u32>) -> Option<u32> {
    if time > Interval::ZERO { script.add(Act::Calculate(time), cpu, [gate]) } else { gate }
}

/// Share number `index` of `total` in `count` nearly equal ones.
fn share(total: u64, count: u64, index: u64) -> u64 {
    let up_to = |index: u64| (u128::from(total) * u128::from(index) / u128::from(count.max(1))) as u64;
    up_to(index + 1) - up_to(index)
}

impl Maker {
    fn each(&mut self, mut make: impl FnMut(&mut Script, usize) -> Option<u32>) -> Gates {
        self.ranks.iter_mut().enumerate().map(|(rank, script)| make(script, rank)).collect()
    }

    fn next_tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag - 1
    }

    /// Passes segments along the ring of `members`: in step `s`, member `i` sends segment `i - s`, which it has received in
    /// the step before. Returns the last receive of each rank, or its gate.
    fn ring(&mut self, members: &[u32], bytes: u64, steps: core::ops::Range<u32>, gates: &Gates) -> Gates {
        let (count, mut gates) = (members.len(), gates.clone());
        let mut sent: Gates = vec![None; self.ranks.len()];
        for step in steps {
            let tag = self.next_tag();
            let segment = |member: usize| {
                let index = (member + count * (step as usize / count + 1) - step as usize) % count;
                share(bytes, count as u64, index as u64)
            };
            for (member, rank) in members.iter().enumerate() {
                let (next, before) = ((member + 1) % count, (member + count - 1) % count);
                let script = &mut self.ranks[*rank as usize];
                let at = *rank as usize;
                sent[at] = script.send(segment(member), members[next], tag, sent[at], gates[at]);
                let receive = Act::Receive { bytes: segment(before), from: members[before], tag };
                gates[at] = script.add(receive, 0, None);
            }
        }
        gates
    }

    fn hierarchical(&mut self, groups: &[Vec<u32>; 2], bytes: u64, gates: &Gates) {
        let count = groups[0].len() as u32;
        let mut reduced = gates.clone();
        for group in groups {
            reduced = self.ring(group, bytes, 0..count - 1, &reduced);
        }
        let tag = self.next_tag();
        let mut exchanged = reduced.clone();
        for (here, there) in [(0, 1), (1, 0)] {
            for (member, (rank, other)) in groups[here].iter().zip(&groups[there]).enumerate() {
                // Reduce-scatter leaves the segment behind its own with each member.
                let bytes = share(bytes, count.into(), (member as u64 + 1) % u64::from(count));
                let script = &mut self.ranks[*rank as usize];
                script.add(Act::Send { bytes, to: *other, tag }, 0, [reduced[*rank as usize]]);
                exchanged[*rank as usize] = script.add(Act::Receive { bytes, from: *other, tag }, 0, None);
            }
        }
        for group in groups {
            exchanged = self.ring(group, bytes, count - 1..2 * (count - 1), &exchanged);
        }
    }

    fn tree(&mut self, bytes: u64, gates: &Gates) {
        let (up, down) = (self.next_tag(), self.next_tag());
        let count = self.ranks.len() as u32;
        for (rank, script) in (0..count).zip(&mut self.ranks) {
            // Its lowest bit; the children of a rank are that rank and lower powers of two.
            let bit = if rank == 0 { count.next_power_of_two() } else { rank & rank.wrapping_neg() };
            let children =
                || (0..bit.trailing_zeros()).map(|bit| rank + (1 << bit)).filter(|child| *child < count);
            let mut ready = vec![gates[rank as usize]];
            ready.extend(children().map(|from| script.add(Act::Receive { bytes, from, tag: up }, 0, None)));
            if rank > 0 {
                script.add(Act::Send { bytes, to: rank - bit, tag: up }, 0, ready);
                ready = vec![script.add(Act::Receive { bytes, from: rank - bit, tag: down }, 0, None)];
            }
            // Its data goes down when all of it is there.
            let whole =
                if ready.len() > 1 { script.add(Act::Calculate(Interval::ZERO), 0, ready) } else { ready[0] };
            let mut sent = None;
            for to in children().collect::<Vec<_>>().into_iter().rev() {
                sent = script.send(bytes, to, down, sent, whole);
            }
        }
    }

    fn all_to_all(&mut self, bytes: u64, gates: &Gates) {
        let (count, tag) = (self.ranks.len() as u32, self.next_tag());
        for (rank, script) in (0..count).zip(&mut self.ranks) {
            for distance in 1..count {
                let (to, from) = ((rank + distance) % count, (rank + count - distance) % count);
                let to_one = |one: u32| share(bytes, count.into(), one.into());
                script.add(Act::Send { bytes: to_one(to), to, tag }, 0, [gates[rank as usize]]);
                script.add(Act::Receive { bytes: to_one(rank), from, tag }, 0, None);
            }
        }
    }
}
