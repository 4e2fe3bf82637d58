//! The hash by which devices spread frames over their receive queues, and so over lanes.

use serde::{Deserialize, Serialize};

/// The low bits of a hash that choose a queue; DPDK's redirection tables have a multiple of 64 entries.
const BITS: u32 = 6;

/// The Toeplitz hash that devices compute over the pair of addresses of a packet (receive side scaling), with a key of this kind.
///
/// It is a repeated word of 32 bits, so a hash doesn't depend on which address comes first, and both directions between two
/// hosts go to the same queue. Any six consecutive bits of an address map one to one to the last six bits of the hash: 64
/// neighbours of one host use all queues alike. What maps to what differs from key to key. The price is that a hash depends only
/// on the bits in which both addresses differ: pairs that differ in the same ones (10.1.0.i and 10.2.0.i) meet in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairHash(u32);

/// One of them.
impl Default for PairHash {
    fn default() -> Self {
        Self(0xba0c_f745)
    }
}

impl PairHash {
    /// A key out of some 300,000, drawn with this seed.
    pub fn drawn(mut seed: u64) -> Self {
        loop {
            // SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let word = (mixed ^ mixed >> 31) as u32;
            if spreads_neighbours(word) {
                return Self(word);
            }
        }
    }

    /// The key with a length of `length` bytes, as devices take it.
    pub fn bytes(self, length: u8) -> Vec<u8> {
        self.0.to_be_bytes().into_iter().cycle().take(usize::from(length)).collect()
    }

    /// The lane, of `lanes`, to which devices give packets between two hosts: the last bits of their hash modulo `lanes`.
    /// `difference` has the bits in which the addresses differ; those of IPv6 are folded (exclusive or) to 64.
    pub fn lane(self, difference: u64, lanes: usize) -> usize {
        let mut bits = (difference ^ difference >> u32::BITS) as u32;
        let mut hash = 0;
        while bits != 0 {
            let place = bits.leading_zeros();
            hash ^= self.0.rotate_left(place);
            bits &= !(1 << (u32::BITS - 1 - place));
        }
        (hash & ((1 << BITS) - 1)) as usize % lanes
    }
}

/// Whether packets between two hosts come to the lane to which their hash gives them. One that does not is a *stray*: what other
/// lanes see of these hosts is unknown to it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Home {
    /// `None`: all packets are strays.
    pub hash: Option<PairHash>,
    /// This lane.
    pub lane: usize,
    pub lanes: usize,
}

impl Home {
    /// Whether packets between two hosts with this `difference` of addresses are strays here.
    pub fn is_away(self, difference: u64) -> bool {
        self.hash.is_none_or(|hash| hash.lane(difference, self.lanes) != self.lane)
    }
}

/// Whether any six consecutive bits of an address map one to one to the last six bits of the hash.
fn spreads_neighbours(word: u32) -> bool {
    // A bit of the address adds the 32 bits of the key that begin at its place.
    let row = |place: u32| word.rotate_left(place) & ((1 << BITS) - 1);
    (0..u32::BITS).all(|first| are_independent((first..first + BITS).map(row)))
}

/// Whether no sum (exclusive or) of some of these numbers, of up to [`BITS`] bits, is zero.
fn are_independent(numbers: impl Iterator<Item = u32>) -> bool {
    // By their highest bits.
    let mut basis = [0; BITS as usize];
    for mut number in numbers {
        loop {
            let Some(highest) = number.checked_ilog2() else { return false };
            let known = &mut basis[highest as usize];
            if *known == 0 {
                *known = number;
                break;
            }
            number ^= *known;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash as Microsoft defines it ("RSS hashing functions"), bit by bit.
    fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
        let bit = |bytes: &[u8], place: usize| bytes[place / 8] >> (7 - place % 8) & 1;
        let window =
            |first| (first..first + 32).fold(0, |word, place| word << 1 | u32::from(bit(key, place)));
        let set = (0..8 * input.len()).filter(|place| bit(input, *place) == 1);
        set.fold(0, |hash, place| hash ^ window(place))
    }

    fn hash(key: PairHash, source: u32, destination: u32) -> u32 {
        toeplitz(&key.bytes(40), &[source.to_be_bytes(), destination.to_be_bytes()].concat())
    }

    /// The first example of its verification suite.
    #[test]
    fn the_hash_of_these_tests_is_that_of_devices() {
        let key = "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa";
        let key: Vec<_> =
            (0..40).map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert_eq!(toeplitz(&key, &[66, 9, 149, 187, 161, 142, 100, 80]), 0x323e_8fc2);
    }

    #[test]
    fn any_six_consecutive_bits_of_either_address_choose_each_of_64_places_once() {
        let keys = (0..20).map(PairHash::drawn).chain([PairHash::default()]);
        for (key, first) in keys.flat_map(|key| (0..=26).map(move |first| (key, first))) {
            let places = |of: &dyn Fn(u32) -> u32| {
                (0..64).map(|bits: u32| of(bits << first) & 63).collect::<std::collections::BTreeSet<_>>()
            };
            let other = 0x0a02_0007;
            assert_eq!(places(&|source| hash(key, source, other)).len(), 64, "{key:?} {first}");
            assert_eq!(places(&|destination| hash(key, other, destination)).len(), 64, "{key:?} {first}");
        }
    }

    #[test]
    fn both_directions_between_two_hosts_have_one_hash_and_pairs_that_differ_alike_too() {
        for key in (0..20).map(PairHash::drawn) {
            let [one, other] = [0x0a01_0003, 0x0a02_0104];
            assert_eq!(hash(key, one, other), hash(key, other, one));
            let rails = |rail: u32| hash(key, 0x0a01_0000 | rail, 0x0a02_0000 | rail);
            assert!((1..64).all(|rail| rails(rail) == rails(0)));
            let six = |from: u8, to: u8| toeplitz(&key.bytes(52), &[[from; 16], [to; 16]].concat());
            assert_eq!(six(3, 9), six(9, 3));
        }
    }

    #[test]
    fn the_lane_of_a_pair_is_that_of_the_queue_to_which_a_device_gives_it() {
        for (key, lanes) in (0..20).map(PairHash::drawn).zip([1, 2, 3, 4, 7].into_iter().cycle()) {
            let [one, other] = [0x0a01_0003_u32, 0xc0a8_f104].map(|it| it.rotate_left(key.0 & 7));
            let queue = |hash: u32| (hash % 64) as usize % lanes;
            assert_eq!(key.lane(u64::from(one ^ other), lanes), queue(hash(key, one, other)));
            let [one, other]: [[u8; 16]; 2] =
                [0xfd00_0001_0203_0405_u128, 0x2001_0db8_1234_5678_9abc].map(u128::to_be_bytes);
            let words = |bytes: [u8; 16]| u128::from_be_bytes(bytes);
            let difference = words(one) ^ words(other);
            let folded = (difference >> 64) as u64 ^ difference as u64;
            assert_eq!(key.lane(folded, lanes), queue(toeplitz(&key.bytes(52), &[one, other].concat())));
        }
    }

    #[test]
    fn seeds_draw_different_keys_and_a_key_is_as_long_as_the_device_wants_it() {
        let keys: Vec<_> = (0..20).map(|seed| PairHash::drawn(seed).0).collect();
        assert!(keys.iter().all(|key| keys.iter().filter(|other| *other == key).count() == 1));
        assert_eq!(PairHash(0x0102_0304).bytes(6), [1, 2, 3, 4, 1, 2]);
        assert!(!spreads_neighbours(0x6d5a_6d5a), "Woo and Park's key is as good as one of 16 bits");
    }
}
