//! Pools: full, empty, refused, given back.

use dpdk::{Pool, PoolError, PoolSettings};
use switch::Frame;
use units::Bytes;

use crate::support::{eal, open, pattern, pool, receive_all};

#[test]
fn an_exhausted_pool_gives_no_frame_until_one_comes_back() {
    let pool = pool("pools_exhausted", 63, 256);
    let mut frames: Vec<_> = (0..63).map(|_| pool.frame(&[0; 60]).unwrap()).collect();
    assert_eq!((pool.in_use(), pool.available()), (63, 0));
    assert!(pool.frame(&[0; 60]).is_none());
    assert!(frames[0].duplicate().is_none());
    frames.pop();
    assert!(frames[0].duplicate().is_some());
    frames.clear();
    assert_eq!((pool.in_use(), pool.available()), (0, 63));
}

#[test]
fn an_exhausted_pool_gathers_no_frame_until_a_chunk_comes_back() {
    let pool = pool("pools_gather", 7, 256);
    let mut frames: Vec<_> = (0..7).map(|_| pool.frame(&pattern(256)).unwrap()).collect();
    assert_eq!((pool.available(), pool.uncached()), (0, 0));
    assert!(frames[0].gather([&[1; 30], &[2; 30]]).is_none());
    frames.pop();
    assert_eq!((pool.available(), pool.uncached()), (1, 1));
    let gathered = frames[0].gather([&[1; 30], &[2; 30]]).unwrap();
    assert_eq!((pool.available(), pool.uncached()), (0, 0));
    // The chunk from which a frame was gathered may be dropped before the frame.
    frames.clear();
    assert_eq!(pool.available(), 6);
    assert_eq!(crate::support::content(&gathered), [[1; 30], [2; 30]].concat());
    drop(gathered);
    assert_eq!((pool.in_use(), pool.available(), pool.uncached()), (0, 7, 7));
}

#[test]
fn a_frame_for_which_there_are_too_few_mbufs_takes_none() {
    let pool = pool("pools_too_few", 7, 256);
    assert!(pool.frame(&pattern(7 * 256 + 1)).is_none());
    assert_eq!(pool.in_use(), 0);
    let all = pool.frame(&pattern(7 * 256)).unwrap();
    assert_eq!(pool.in_use(), 7);
    drop(all);
    let half = pool.frame(&pattern(4 * 256)).unwrap();
    assert!(half.duplicate().is_none(), "three are left");
    assert_eq!(pool.in_use(), 4);
}

#[test]
fn frames_in_a_device_are_in_use_until_they_are_received_and_dropped() {
    let pool = pool("pools_device", 255, 256);
    let mut ring = open("net_ring_pool", &pool);
    let mut frames: Vec<_> = (0..200).map(|_| pool.frame(&[0; 60]).unwrap()).collect();
    assert_eq!(ring.tx.send(&mut frames), 200);
    assert_eq!(pool.in_use(), 200);
    drop(receive_all(&mut ring.rx));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_frame_outlives_the_last_handle_of_its_pool() {
    let frame = {
        let pool = pool("pools_outlived", 63, 256);
        pool.frame(&pattern(600)).unwrap()
    };
    assert_eq!(crate::support::content(&frame), pattern(600));
    assert!(frame.duplicate().is_some());
}

#[test]
fn a_name_is_given_once() {
    let _first = pool("pools_name", 63, 256);
    let second = Pool::new(eal(), "pools_name", PoolSettings { cache: 0, ..PoolSettings::default() });
    assert!(matches!(second, Err(PoolError::Exists(name)) if name == "pools_name"));
    for name in ["", "with space", "nul\0", "of_more_than_25_characters"] {
        assert!(
            matches!(Pool::new(eal(), name, PoolSettings::default()), Err(PoolError::Name(_))),
            "{name:?}"
        );
    }
}

#[test]
fn a_pool_that_cannot_be_is_refused() {
    for data_room in [Bytes(0), Bytes(65_408), Bytes(1 << 40)] {
        let settings = PoolSettings { data_room, ..PoolSettings::default() };
        assert!(matches!(Pool::new(eal(), "pools_room", settings), Err(PoolError::DataRoom { .. })));
    }
    let settings = PoolSettings { cache: 100_000, ..PoolSettings::default() };
    assert!(matches!(Pool::new(eal(), "pools_cache", settings), Err(PoolError::Refused { .. })));
}
