//! Tests the allocator of a gateway's tables, in a process of its own: all memory of this process comes from it.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use core::alloc::{GlobalAlloc, Layout};
use dpdk::ResidentMemory;
use proptest::prelude::*;
use std::fs;

#[global_allocator]
static MEMORY: ResidentMemory = ResidentMemory;

/// A huge page, of which the kernel makes ordinary memory too where it is told to (`always`).
const HUGE_PAGE: usize = 2 << 20;

/// The page faults of this thread so far that read nothing from a disk.
fn page_faults() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name of the thread, in parentheses, may have spaces. `minflt` is the eighth figure behind it.
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// The page faults of filling a table that is reserved at once, as that of flows is.
fn faults_of_filling(table: &mut Vec<[u64; 8]>) -> u64 {
    let before = page_faults();
    for number in 0..table.capacity() as u64 {
        table.push([number; 8]);
    }
    page_faults() - before
}

#[test]
fn a_table_that_fills_takes_page_faults_unless_it_is_resident() {
    let lines = 32 * HUGE_PAGE / 64;
    let lazily = faults_of_filling(&mut Vec::with_capacity(lines));
    assert!(lazily >= 32, "one for each page: {lazily}");
    // Reading the number of faults may take some itself.
    for lines in [lines, 64_000, 100_000] {
        let faults = faults_of_filling(&mut ResidentMemory::around(|| Vec::with_capacity(lines)));
        assert!(faults < 4, "{lines} lines: {faults}");
    }
}

#[test]
fn memory_is_aligned_zero_where_it_must_be_and_kept_when_it_grows() {
    // Sizes around a page and a huge page, and alignments up to that of a huge page.
    let size = prop_oneof![1_usize..20_000, HUGE_PAGE / 2 - 2..HUGE_PAGE / 2 + 2, 1_usize..2 * HUGE_PAGE];
    let layouts = (size.clone(), 0_u32..=21, size);
    proptest!(ProptestConfig::with_cases(200), |((size, shift, other) in layouts)| {
        let layout = Layout::from_size_align(size, 1 << shift).unwrap();
        let resident = ResidentMemory::around(|| contents_of(layout, other));
        prop_assert!(resident && contents_of(layout, other), "{layout:?}, then {other}");
    });
}

/// Whether memory of this layout begins with zeros if it should, is aligned, and keeps its content when it becomes
/// `other` bytes.
#[expect(unsafe_code, reason = "calls an allocator")]
fn contents_of(layout: Layout, other: usize) -> bool {
    // SAFETY: no layout has a size of zero, and each piece of memory is used within its size until it is given back.
    unsafe {
        let dirty = MEMORY.alloc(layout);
        dirty.write_bytes(0xff, layout.size());
        MEMORY.dealloc(dirty, layout);
        let memory = MEMORY.alloc_zeroed(layout);
        let is_zero = core::slice::from_raw_parts(memory, layout.size()).iter().all(|byte| *byte == 0);
        memory.write_bytes(0xa5, layout.size());
        let moved = MEMORY.realloc(memory, layout, other);
        let kept =
            core::slice::from_raw_parts(moved, layout.size().min(other)).iter().all(|byte| *byte == 0xa5);
        moved.write_bytes(0, other);
        MEMORY.dealloc(moved, Layout::from_size_align_unchecked(other, layout.align()));
        is_zero && kept && moved.align_offset(layout.align()) == 0
    }
}
