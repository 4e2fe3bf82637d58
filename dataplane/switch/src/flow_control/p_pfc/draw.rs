//! The draw of the ports to pause (algorithm 2, line 2).

use crate::hash::{HashKey, KeyedHash};
use core::hash::Hasher;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};
use units::{PortId, Priority};

/// An egress queue at one tick. Each has its own draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urn {
    /// The number of the tick.
    pub tick: u64,
    pub egress: PortId,
    pub priority: Priority,
}

/// Draws ports at random, in proportion to their parts of an egress queue, without replacement: the ports in the
/// order of rising [`Draw::turn`] ("Weighted random sampling with a reservoir", Efraimidis and Spirakis 2006).
///
/// The turn of a port follows from a key of the switch, so ports draw alike without exchanging anything, and a sender
/// cannot foresee when it is drawn.
#[derive(Clone, Serialize, Deserialize)]
pub struct Draw(KeyedHash);

impl core::fmt::Debug for Draw {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Draw")
    }
}

impl Draw {
    pub fn new(key: HashKey) -> Self {
        Self(KeyedHash::new(key))
    }

    /// When the turn of `ingress` comes, which holds `part` of the queue. It is exponentially distributed with
    /// `part` as its rate: the first turn of several is each port's with a probability in proportion to its part.
    pub fn turn(&self, urn: Urn, ingress: PortId, part: u64) -> f64 {
        let place = u64::from(urn.egress.0) << 32 | u64::from(urn.priority.number()) << 16;
        let mut hasher = self.0.hasher();
        hasher.write_u64(urn.tick);
        hasher.write_u64(place | u64::from(ingress.0));
        // The hash of successive ports and ticks is not even enough on its own.
        let bits = Pcg32::seed_from_u64(hasher.finish()).next_u64() >> 11;
        let uniform = (bits + 1) as f64 / (1_u64 << 53) as f64;
        -uniform.ln() / part as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URN: Urn = Urn { tick: 0, egress: PortId(7), priority: Priority::from_low_bits(3) };

    /// How often each port has the first of all turns in this many ticks.
    fn firsts(key: u64, parts: &[u64], ticks: u64) -> Vec<u64> {
        let draw = Draw::new(HashKey::from(key));
        let mut firsts = vec![0; parts.len()];
        for tick in 0..ticks {
            let turn = |port: usize| draw.turn(Urn { tick, ..URN }, PortId(port as u16), parts[port]);
            let first = (0..parts.len()).min_by(|one, other| turn(*one).total_cmp(&turn(*other)));
            firsts[first.unwrap()] += 1;
        }
        firsts
    }

    #[test]
    fn each_port_comes_first_as_often_as_its_part_of_the_queue_says() {
        for (key, parts) in [
            (1, &[80, 10, 10][..]),
            (2, &[1; 16][..]),
            (3, &[1, 1, 1, 10, 10, 10, 10, 10, 20, 20, 20, 20, 40, 40, 40, 40][..]),
            (u64::MAX, &[5, 1][..]),
        ] {
            let ticks = 100_000;
            let (firsts, sum) = (firsts(key, parts, ticks), parts.iter().sum::<u64>());
            for (port, part) in parts.iter().enumerate() {
                let share = *part as f64 / sum as f64;
                let (expected, deviation) =
                    (ticks as f64 * share, f64::sqrt(ticks as f64 * share * (1.0 - share)));
                let distance = (firsts[port] as f64 - expected).abs();
                assert!(distance < 5.0 * deviation, "port {port} of {parts:?}: {} times", firsts[port]);
            }
        }
    }

    #[test]
    fn the_turn_of_a_port_says_nothing_of_its_next_one_or_of_its_neighbours() {
        let draw = Draw::new(HashKey::from(9));
        let turn = |tick, port| draw.turn(Urn { tick, ..URN }, PortId(port), 1) < core::f64::consts::LN_2;
        let count = |pair: &dyn Fn(u64) -> (bool, bool)| {
            let both = (0..40_000).filter(|tick| matches!(pair(*tick), (true, true))).count();
            (both as f64 / 10_000.0 - 1.0).abs()
        };
        assert!(count(&|tick| (turn(tick, 4), turn(tick + 1, 4))) < 0.05);
        assert!(count(&|tick| (turn(tick, 4), turn(tick, 5))) < 0.05);
    }

    #[test]
    fn a_sender_without_the_key_cannot_tell_whom_a_tick_draws() {
        let parts = [1; 8];
        let first = |key, tick| {
            let draw = Draw::new(HashKey::from(key));
            let turn = |port: &u16| draw.turn(Urn { tick, ..URN }, PortId(*port), parts[usize::from(*port)]);
            (0..8).min_by(|one, other| turn(one).total_cmp(&turn(other)))
        };
        let same = (0..8_000).filter(|tick| first(1, *tick) == first(2, *tick)).count();
        assert!((900..1_100).contains(&same), "by chance every eighth: {same}");
    }
}
