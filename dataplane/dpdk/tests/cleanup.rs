//! DPDK from start to cleanup, in its own process.
#![cfg(feature = "dpdk")]

use dpdk::{Eal, EalError, EalOptions, Pool, PoolSettings, Port, PortSettings, StillInUse};
use rustix::thread::sched_getaffinity;

#[test]
fn dpdk_gives_everything_back_when_nothing_is_in_use_and_not_before() {
    let cpus = sched_getaffinity(None).unwrap();
    let options = EalOptions { devices: vec!["net_ring0".to_owned()], ..EalOptions::new("longspan_cleanup") };
    let eal = Eal::start(&options).unwrap();
    assert!(cpus == sched_getaffinity(None).unwrap(), "the thread may run where it could before");

    let settings = PoolSettings { mbufs: 255, cache: 16, ..PoolSettings::default() };
    let pool = Pool::new(&eal, "data", settings).unwrap();
    let opened = Port::configure("net_ring0", &PortSettings::new(&pool)).unwrap();
    let other = std::thread::spawn({
        let (eal, pool) = (eal.clone(), pool.clone());
        move || {
            let _registered = eal.register_thread().unwrap();
            let _cached = pool.frame(&[0; 60]);
            pool.frame(&[0; 60])
        }
    });
    let outside = other.join().unwrap();
    assert_eq!(eal.clone().cleanup(), Err(StillInUse::Handles));
    drop((opened, pool));
    assert!(outside.is_some());
    assert_eq!(eal.clone().cleanup(), Err(StillInUse::Handles), "there is another handle");
    drop(outside);
    assert_eq!(eal.cleanup(), Ok(()));
    assert!(matches!(Eal::start(&options), Err(EalError::AlreadyStarted)));
}
