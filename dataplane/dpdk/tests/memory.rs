//! Tests that exhaust DPDK's memory, in their own process.
#![cfg(feature = "dpdk")]

use dpdk::{Eal, EalOptions, Memory, Pool, PoolError, PoolSettings};
use units::Bytes;

#[test]
fn what_was_refused_or_given_back_can_be_taken_again() {
    let memory = Memory::Ordinary(Bytes(64 << 20));
    let eal = Eal::start(&EalOptions { memory, ..EalOptions::new("longspan_memory") }).unwrap();
    let large = PoolSettings { mbufs: 1_000_000, cache: 0, ..PoolSettings::default() };
    let half = PoolSettings { mbufs: 14_000, ..large };
    assert!(half.memory() > Bytes(32 << 20));
    for _ in 0..5 {
        let refused = Pool::new(&eal, "large", large).unwrap_err();
        assert!(
            matches!(&refused, PoolError::Memory { memory, .. } if *memory == large.memory()),
            "{refused}"
        );
        let pool = Pool::new(&eal, "half", half).unwrap();
        let frame = pool.frame(&[0; 60]);
        assert!(matches!(Pool::new(&eal, "other_half", half), Err(PoolError::Memory { .. })));
        drop((frame, pool));
    }
}

/// A sum of pool sizes must always be enough for DPDK.
#[test]
fn the_memory_of_a_pool_is_not_underestimated() {
    for (mbufs, data_room) in [(1, 1), (8_191, 2_048), (100_000, 9_216), (65_535, 128)] {
        let settings = PoolSettings { mbufs, cache: 0, data_room: Bytes(data_room), socket: None };
        // The mbuf, headroom and data, the mempool's header of 64 bytes, and a pointer in its ring.
        let least = u64::from(mbufs) * (128 + 128 + data_room + 64 + 8);
        assert!((least..least + u64::from(mbufs) * 128).contains(&settings.memory().0), "{settings:?}");
    }
}
