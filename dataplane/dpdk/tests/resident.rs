//! Tests the allocator of a gateway's tables, in its own process: all memory of this process comes from it. The gateway's
//! tests count page faults, which sanitizers and valgrind have of their own.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use core::alloc::{GlobalAlloc, Layout};
use dpdk::ResidentMemory;
use proptest::prelude::*;

#[global_allocator]
static MEMORY: ResidentMemory = ResidentMemory;

/// A transparent huge page. Allocations of half of it are rounded up.
const HUGE_PAGE: usize = 2 << 20;

#[test]
fn memory_is_aligned_zero_where_it_must_be_and_kept_when_it_grows() {
    // Sizes around a page and a huge page, and alignments up to that of a huge page.
    let size = prop_oneof![8 => 1_usize..20_000, 1 => HUGE_PAGE / 2 - 2..HUGE_PAGE / 2 + 2];
    let layouts = (size.clone(), 0_u32..=21, size);
    proptest!(ProptestConfig::with_cases(32), |((size, shift, other) in layouts)| {
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
        let is_zero = core::slice::from_raw_parts(memory, layout.size()) == vec![0; layout.size()];
        memory.write_bytes(0xa5, layout.size());
        let moved = MEMORY.realloc(memory, layout, other);
        let both = layout.size().min(other);
        let kept = core::slice::from_raw_parts(moved, both) == vec![0xa5; both];
        moved.write_bytes(0, other);
        MEMORY.dealloc(moved, Layout::from_size_align_unchecked(other, layout.align()));
        is_zero && kept && moved.align_offset(layout.align()) == 0
    }
}
