//! An allocator whose allocations are in memory from the start, and the large ones on huge pages.
//!
//! The kernel gives a process a page when it first writes to it. A table that fills under load would so take a page fault
//! on the turn for each of its pages. And a table of many pages costs the processor a walk of the page table for nearly
//! every look-up, because it keeps the places of some 2,000 pages only. Transparent huge pages have 2 MiB each, and the
//! kernel takes them from any memory that is free. The hugepages that DPDK uses must be set aside beforehand.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ffi::c_void;

/// The smallest page. A larger one is touched more than once.
const PAGE: usize = 4 << 10;
/// A transparent huge page of x86-64, and of ARM with pages of 4 KiB.
const HUGE_PAGE: usize = 2 << 20;
/// Allocations from this size are mapped by themselves: what glibc begins with.
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = 128 << 10;
/// Allocations from this size have huge pages of their own.
const LARGE: usize = HUGE_PAGE / 2;

thread_local! {
    /// Whether allocations of this thread are made resident.
    static RESIDENT: Cell<bool> = const { Cell::new(false) };
}

/// The allocator of the C library, as the global allocator of a program. Within [`ResidentMemory::around`], the thread that
/// allocates a page or more also touches all of it, so that no later use takes a page fault, and the memory comes from that
/// thread's NUMA node. An allocation of 1 MiB or more is rounded up to whole huge pages, if the kernel has any
/// (`/sys/kernel/mm/transparent_hugepage/enabled` other than `never`).
///
/// Memory that `realloc` adds is not touched: tables do not grow.
#[derive(Clone, Copy, Debug)]
pub struct ResidentMemory;

impl ResidentMemory {
    /// Lets memory that is freed go back to the kernel, or be used again by any thread. It is called before the first thread
    /// starts, because one that has an arena keeps it. By default the C library gives each thread its own arena, and takes
    /// ever larger allocations from them once such a one was freed. What one thread makes and another drops then leaves holes
    /// everywhere, and a gateway with LSCC grows with each reload (`scripts/soak` would end with it).
    ///
    /// Returns whether the C library has these settings, as glibc does.
    pub fn returns_what_is_freed() -> bool {
        #[cfg(target_env = "gnu")]
        // SAFETY: this sets numbers, and may be called at any time.
        return unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1) == 1 && libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED) == 1
        };
        #[cfg(not(target_env = "gnu"))]
        false
    }

    /// Makes what this thread allocates within `make` resident. Without this global allocator, nothing else than `make` happens.
    pub fn around<T>(make: impl FnOnce() -> T) -> T {
        let before = RESIDENT.replace(true);
        let made = make();
        RESIDENT.set(before);
        made
    }

    /// The layout of an allocation that is made resident; `None` if `layout` is not.
    #[inline]
    fn resident(layout: Layout) -> Option<Layout> {
        if layout.size() < PAGE || !RESIDENT.get() {
            return None;
        }
        if layout.size() < LARGE {
            return Some(layout);
        }
        let size = layout.size().checked_next_multiple_of(HUGE_PAGE)?;
        Layout::from_size_align(size, layout.align().max(HUGE_PAGE)).ok()
    }
}

// SAFETY: all memory comes from `malloc` and its like, which `free` takes back whatever their alignment and size were.
// The code here neither moves it nor changes it once it was given to someone.
unsafe impl GlobalAlloc for ResidentMemory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Self::resident(layout) {
            None => allocate(layout),
            Some(layout) => {
                let memory = allocate(layout);
                if !memory.is_null() {
                    // SAFETY: these bytes were allocated just now, and no one else knows of them.
                    unsafe { make_resident(memory, layout.size()) }
                }
                memory
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::resident(layout).is_none() && is_usual(layout) {
            // SAFETY: `calloc` takes any numbers.
            return unsafe { libc::calloc(1, layout.size()) }.cast();
        }
        // SAFETY: the caller's promise about `layout` is that of `alloc`.
        let memory = unsafe { self.alloc(layout) };
        if !memory.is_null() {
            // SAFETY: so many bytes were allocated.
            unsafe { memory.write_bytes(0, layout.size()) }
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the caller got it from this allocator, so it is from `malloc` or its like.
        unsafe { libc::free(memory.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_usual(layout) {
            // SAFETY: as for `dealloc`.
            return unsafe { libc::realloc(memory.cast(), size) }.cast();
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let grown = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not zero, by the caller's promise.
        let new = unsafe { self.alloc(grown) };
        if !new.is_null() {
            // SAFETY: both have at least so many bytes, and the old memory is the caller's to give back.
            unsafe {
                new.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        new
    }
}

/// Whether `malloc` aligns memory well enough.
#[inline]
const fn is_usual(layout: Layout) -> bool {
    layout.align() <= align_of::<libc::max_align_t>()
}

/// Memory of the C library; null if it has none.
#[inline]
fn allocate(layout: Layout) -> *mut u8 {
    if is_usual(layout) {
        // SAFETY: `malloc` takes any number.
        return unsafe { libc::malloc(layout.size()) }.cast();
    }
    let mut memory: *mut c_void = core::ptr::null_mut();
    // SAFETY: the alignment of a layout is a power of two, and this one a multiple of a pointer's size.
    match unsafe { libc::posix_memalign(&mut memory, layout.align(), layout.size()) } {
        0 => memory.cast(),
        _ => core::ptr::null_mut(),
    }
}

/// Touches each page of fresh memory, which comes as huge pages where it is as large and aligned as they are.
///
/// # Safety
///
/// `size` bytes at `memory`, at least one, were allocated, and nothing is in them.
#[cold]
unsafe fn make_resident(memory: *mut u8, size: usize) {
    if size >= LARGE {
        // SAFETY: the advice changes no content. Without huge pages it fails, and the pages are ordinary ones.
        unsafe { libc::madvise(memory.cast(), size, libc::MADV_HUGEPAGE) };
    }
    for offset in (0..size).step_by(PAGE).chain([size - 1]) {
        // SAFETY: it is among the bytes that were allocated. Volatile, or nothing would be written.
        unsafe { memory.add(offset).write_volatile(0) }
    }
}
