//! Freed memory goes back: a test in a separate process, because threads that ran before have arenas already.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use dpdk::ResidentMemory;

fn main() {
    assert!(ResidentMemory::returns_what_is_freed(), "the C library of Debian has arenas");
    let address = std::thread::spawn(|| Box::into_raw(Box::new([0_u8; 1_000])) as usize).join().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let heap = maps.lines().find(|line| line.ends_with("[heap]")).unwrap();
    let (from, to) = heap.split_once(' ').unwrap().0.split_once('-').unwrap();
    let [from, to] = [from, to].map(|it| usize::from_str_radix(it, 16).unwrap());
    assert!((from..to).contains(&address), "{address:x} is not in {heap}");
    // A large one is mapped by itself, also after one that was larger was freed.
    drop(vec![1_u8; 8 << 20]);
    let large = vec![1_u8; 1 << 20];
    assert!(!(from..to).contains(&(large.as_ptr() as usize)), "a large allocation is on the heap");
    println!("test a_thread_allocates_from_the_heap_of_the_process ... ok");
}
