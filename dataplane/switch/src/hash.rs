//! The hash of every table that a sender can fill.
//!
//! A sender that can predict a hash can fill one place of a table. A hash with only a chosen start can be
//! predicted: foldhash with a [`FixedState`](foldhash::fast::FixedState) multiplies by words of the input combined
//! with constants, and if one of them becomes zero, the product is zero for any seed. So here, everything that
//! foldhash combines with the input follows from a secret key of 128 bits.
//!
//! This is not a cryptographic hash. It withstands a sender that chooses inputs and sees no output; a sender that
//! could measure collisions might learn the key in the end. The damage would be bounded: a look-up in a set of an
//! [`Index`](crate::table::Index) visits 16 places at most, and only entries of that set are evicted. SipHash-1-3
//! withstands such a sender too, but took 121 more instructions for each packet of LSCC, on top of 633.
//!
//! The core draws no key; the maker of a [`Program`](crate::Program) supplies it.

use core::fmt;
use core::hash::Hasher;
use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use serde::{Deserialize, Serialize};

/// The key of a switch's tables.
///
/// A gateway on the wire draws it when it starts, and keeps it secret. Replay and simulation derive it from their
/// seed, so that a run can be repeated exactly.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashKey(u64, u64);

impl HashKey {
    /// A key drawn at random.
    pub const fn new(bytes: [u8; 16]) -> Self {
        let number = u128::from_le_bytes(bytes);
        Self(number as u64, (number >> 64) as u64)
    }
}

/// The key that follows from a seed, and is no more secret than it.
impl From<u64> for HashKey {
    fn from(seed: u64) -> Self {
        // With zeros or ones only, foldhash makes factors that let all inputs collide.
        Self(seed, seed & !(1 << 62) | 1 << 63)
    }
}

/// Does not show the key.
impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey")
    }
}

/// The hash with a key. In a checkpoint it is its key.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "HashKey", into = "HashKey")]
pub(crate) struct KeyedHash {
    key: HashKey,
    factors: SharedSeed,
}

impl From<HashKey> for KeyedHash {
    fn from(key: HashKey) -> Self {
        Self::new(key)
    }
}

impl From<KeyedHash> for HashKey {
    fn from(hash: KeyedHash) -> Self {
        hash.key
    }
}

/// Does not show the key.
impl fmt::Debug for KeyedHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedHash")
    }
}

impl KeyedHash {
    pub const fn new(key: HashKey) -> Self {
        Self { key, factors: SharedSeed::from_u64(key.1) }
    }

    #[inline]
    pub const fn hasher(&self) -> impl Hasher + use<'_> {
        FoldHasher::with_seed(self.key.0, &self.factors)
    }
}

/// Two rounds of mixing with a key: cheaper than a hash, for one word whose place in no table depends on it. After one
/// round, words at even distances have values that depend on each other.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Mixer([u64; 2]);

impl Mixer {
    /// The mixer of `domain` that follows from `key`.
    pub fn new(key: HashKey, domain: u64) -> Self {
        let hash = KeyedHash::new(key);
        Self([1, 2].map(|round| {
            let mut hasher = hash.hasher();
            hasher.write_u64(domain);
            hasher.write_u64(round);
            hasher.finish()
        }))
    }

    #[inline(always)]
    pub const fn mix(&self, word: u64) -> u64 {
        /// 2^64 over the golden ratio.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let Self([one, other]) = *self;
        folded_product(folded_product(word ^ one, FACTOR) ^ other, FACTOR)
    }
}

#[inline(always)]
const fn folded_product(one: u64, other: u64) -> u64 {
    let product = one as u128 * other as u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: HashKey, words: [u64; 2]) -> u64 {
        let hash = KeyedHash::new(key);
        let mut hasher = hash.hasher();
        hasher.write_u128(u128::from(words[0]) << 64 | u128::from(words[1]));
        hasher.finish()
    }

    #[test]
    fn every_bit_of_the_key_counts_and_a_seed_gives_the_same_one_again() {
        let key = |number: u128| HashKey::new(number.to_le_bytes());
        for bit in 0..128 {
            let (one, other) = (hash(key(7 << 64 | 7), [1, 2]), hash(key((7 << 64 | 7) ^ 1 << bit), [1, 2]));
            assert_ne!(one, other, "bit {bit}");
        }
        assert_eq!(hash(HashKey::from(7), [1, 2]), hash(HashKey::from(7), [1, 2]));
        assert_ne!(hash(HashKey::from(7), [1, 2]), hash(HashKey::from(8), [1, 2]));
    }

    #[test]
    fn no_seed_at_the_ends_of_its_range_lets_inputs_collide() {
        for seed in [0, 1, 1 << 62, u64::MAX >> 1, 1 << 63, u64::MAX - 1, u64::MAX] {
            let hashes = (0..1_000).map(|number| hash(HashKey::from(seed), [0, number]));
            let distinct: std::collections::BTreeSet<_> = hashes.collect();
            assert!(distinct.len() > 995, "seed {seed}: {} values", distinct.len());
        }
    }

    #[test]
    fn the_factors_of_a_seed_keep_its_bits_but_for_two_that_differ() {
        for seed in [0, 1, 1 << 61, 1 << 62, 1 << 63, 0x1234_5678_9abc_def0, u64::MAX] {
            let HashKey(start, factors) = HashKey::from(seed);
            assert_eq!((start, factors << 2, factors >> 62), (seed, seed << 2, 0b10));
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", HashKey::from(0x1234_5678)), "HashKey");
    }
}
