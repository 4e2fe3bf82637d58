//! The pools and ports of DPDK that are in use.

use core::ptr::NonNull;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dpdk_sys as sys;

use crate::permission::full_pci_address;

/// rte_errno of this thread.
pub(crate) fn last_error() -> io::Error {
    // SAFETY: reads a variable of this thread.
    io::Error::from_raw_os_error(unsafe { sys::shim_errno() })
}

/// The number of a device, by its name or its PCI address.
pub(crate) fn find_port(name: &str) -> Option<u16> {
    let by_name = |name: &str| {
        let name = CString::new(name).ok()?;
        let mut port = 0;
        // SAFETY: looks up a string, and writes a number.
        let status = unsafe { sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &mut port) };
        (status == 0).then_some(port)
    };
    by_name(name).or_else(|| by_name(&full_pci_address(name)))
}

/// Pools and ports that are in use. Each handle holds it.
#[derive(Debug, Default)]
pub(crate) struct Runtime {
    /// Pools that were not freed.
    pub(crate) pools: Mutex<Vec<MempoolPointer>>,
    /// Ports that someone has configured.
    ports: Mutex<BTreeSet<u16>>,
}

/// A pool, and how many mbufs it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MempoolPointer(pub(crate) NonNull<sys::rte_mempool>, pub(crate) u32);

// SAFETY: what is called of a mempool here, DPDK lets any thread call at any time.
unsafe impl Send for MempoolPointer {}

impl Runtime {
    pub(crate) fn add_pool(&self, pool: NonNull<sys::rte_mempool>, mbufs: u32) {
        self.pools().push(MempoolPointer(pool, mbufs));
    }

    /// Frees a pool to which the last handle goes away, if all its mbufs are in it.
    pub(crate) fn release_pool(&self, pool: NonNull<sys::rte_mempool>) {
        self.pools().retain(|&MempoolPointer(each, mbufs)| {
            // SAFETY: pools in the list are not freed, the list is locked, and this is the last handle.
            each != pool || !unsafe { freed_if_complete(pool, mbufs) }
        });
    }

    /// Ports that are taken. Held while a device comes, is set up, or goes: DPDK and its drivers share
    /// more between devices than they lock.
    pub(crate) fn ports(&self) -> MutexGuard<'_, BTreeSet<u16>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pools(&self) -> MutexGuard<'_, Vec<MempoolPointer>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees a pool if none of its mbufs is anywhere else. Those in the caches of other threads are
/// elsewhere: what counts is only what is exact while other threads give mbufs back.
///
/// # Safety
///
/// The pool was not freed, and no one has a handle of it.
pub(crate) unsafe fn freed_if_complete(pool: NonNull<sys::rte_mempool>, mbufs: u32) -> bool {
    // SAFETY: the pool was not freed.
    let inside = unsafe {
        sys::shim_pool_flush(pool.as_ptr());
        sys::shim_pool_count(pool.as_ptr())
    };
    if inside < mbufs {
        return false;
    }
    // SAFETY: all mbufs are in the pool, and no one can take one out, as there are no handles and no frames.
    unsafe { sys::rte_mempool_free(pool.as_ptr()) };
    true
}
