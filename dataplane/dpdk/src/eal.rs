//! DPDK as a whole: its single start, and the resources it holds.

use core::ffi::{c_char, c_int};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpdk_sys as sys;
use rustix::thread::{CpuSet, sched_getaffinity};
use thiserror::Error;
use units::Bytes;

use crate::error::EalError;
use crate::memory;
use crate::permission;
use crate::runtime::{MempoolPointer, Runtime, find_port, freed_if_complete, last_error};
use crate::runtime_directory::{self, RuntimeDirectory};
use crate::{EalOptions, Memory};

/// The running DPDK. Clones refer to the same one.
#[derive(Clone, Debug)]
pub struct Eal(Arc<Runtime>);

/// Why DPDK cannot give back what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StillInUse {
    /// Pools, ports, queues, registered threads or other handles exist.
    #[error("pools, ports or threads are still in use")]
    Handles,
    /// Frames of dropped pools are still in use.
    #[error("frames of {0} pools are still in use")]
    Frames(usize),
}

/// DPDK's arguments; null before the start. DPDK starts only once and keeps pointers into them, so they are
/// never freed.
static ARGUMENTS: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());

/// DPDK's directory of files, removed when the process exits.
static DIRECTORY: Mutex<Option<RuntimeDirectory>> = Mutex::new(None);

unsafe extern "C" {
    /// The C library's function (C11 section 7.22.4.2) that registers `function` to run when the process
    /// exits.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

impl Eal {
    /// Starts DPDK. The CPU affinity of the calling thread does not change. DPDK logs warnings and errors to
    /// stderr.
    ///
    /// # Errors
    ///
    /// Each says what a person can do about it. After [`EalError::TooFewHugepages`] one may try again
    /// with other memory; after most others the process cannot.
    pub fn start(options: &EalOptions) -> Result<Self, EalError> {
        if let Memory::Hugepages(wanted) = options.memory {
            enough_hugepages(wanted)?;
        }
        for device in &options.pci {
            permission::pci_device_exists(device)?;
        }
        initialize(options)?;
        let eal = Self(Arc::default());
        for device in &options.pci {
            let address = device.split(',').next().unwrap_or(device);
            if find_port(address).is_none() {
                return Err(permission::why_pci_not_taken(address));
            }
        }
        for device in &options.devices {
            eal.attach(device)?;
        }
        Ok(eal)
    }

    /// Creates another virtual device, in DPDK's notation: `net_ring1`.
    ///
    /// # Errors
    ///
    /// There is no such driver, its parameters are wrong, or the process may not do what it does.
    pub fn attach(&self, device: &str) -> Result<(), EalError> {
        let c_device = CString::new(device).map_err(|_| EalError::Argument(device.to_owned()))?;
        let _alone = self.0.ports();
        // SAFETY: DPDK runs as long as `self` exists, and copies the string.
        match unsafe { sys::rte_dev_probe(c_device.as_ptr()) } {
            0 => Ok(()),
            status => Err(permission::why_not_made(device, status)),
        }
    }

    /// Registers the calling thread, which gives it caches of free mbufs. Pin it first, because DPDK records
    /// its NUMA node. A thread may register more than once.
    ///
    /// # Errors
    ///
    /// DPDK has no place for one more.
    pub fn register_thread(&self) -> Result<RegisteredThread, EalError> {
        // SAFETY: DPDK runs; the call reads a variable of this thread.
        let known = unsafe { sys::shim_thread_is_known() };
        // SAFETY: DPDK runs, and this thread is not registered.
        if !known && unsafe { sys::rte_thread_register() } != 0 {
            return Err(EalError::Thread(last_error()));
        }
        let runtime = (!known).then(|| Arc::clone(&self.0));
        Ok(RegisteredThread { runtime, _of_this_thread: PhantomData })
    }

    /// Releases DPDK's resources: devices, memory, files. Not needed before the process ends.
    ///
    /// # Errors
    ///
    /// Something is still in use. Nothing is given back then.
    pub fn cleanup(self) -> Result<(), StillInUse> {
        let runtime = Arc::try_unwrap(self.0).map_err(|_| StillInUse::Handles)?;
        let mut pools = runtime.pools.into_inner().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the pools in the list were not freed, and no handles of them are left.
        pools.retain(|&MempoolPointer(pool, mbufs)| !unsafe { freed_if_complete(pool, mbufs) });
        if !pools.is_empty() {
            return Err(StillInUse::Frames(pools.len()));
        }
        // SAFETY: no pool, frame, port, queue or registered thread is left that could use DPDK.
        unsafe { sys::rte_eal_cleanup() };
        Ok(())
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.0
    }
}

fn enough_hugepages(wanted: Bytes) -> Result<(), EalError> {
    let pages = memory::hugepages(Path::new(memory::SYSFS));
    let free = memory::free(&pages);
    if free >= wanted {
        return Ok(());
    }
    let page_size = pages.first().map_or(Bytes(2 << 20), |pages| pages.page_size);
    Err(EalError::TooFewHugepages { wanted, free, page_size, pages: wanted.0.div_ceil(page_size.0) })
}

/// The CPUs that the calling thread may run on.
fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Starts DPDK, if it was not started before.
fn initialize(options: &EalOptions) -> Result<(), EalError> {
    let arguments = options.arguments(&allowed_cpus());
    let strings = arguments
        .iter()
        .map(|argument| CString::new(argument.as_str()).map_err(|_| EalError::Argument(argument.clone())));
    let strings = strings.collect::<Result<Vec<_>, _>>()?;
    if !ARGUMENTS.load(Ordering::SeqCst).is_null() {
        return Err(EalError::AlreadyStarted);
    }
    // DPDK overwrites the last pointer it consumed with the program's name; it does not read it again.
    let end = [c"--".as_ptr().cast_mut(), core::ptr::null_mut()];
    let count = (strings.len() + 1) as c_int;
    let pointers = strings.into_iter().map(CString::into_raw).chain(end);
    let pointers = Box::leak(pointers.collect::<Box<[*mut c_char]>>()).as_mut_ptr();
    let none = core::ptr::null_mut();
    if ARGUMENTS.compare_exchange(none, pointers, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return Err(EalError::AlreadyStarted);
    }
    claim_runtime_directory(&options.file_prefix);
    // SAFETY: `count` strings that are never freed, and a null pointer; a second call never gets here.
    match unsafe { sys::rte_eal_init(count, pointers) } {
        0.. => Ok(()),
        _ => {
            let error = last_error();
            Err(permission::why_not_started(options, arguments, error))
        }
    }
}

/// Claims DPDK's directory for the files of `file_prefix` until the process exits, unless the process has claimed one.
/// [`Eal::start`] does so too. Call this to put a file there before DPDK starts. Returns the directory; `None` if it
/// cannot be claimed, whose reason DPDK reports at its start.
pub fn claim_runtime_directory(file_prefix: &str) -> Option<PathBuf> {
    let path = runtime_directory::path(file_prefix);
    let mut directory = directory();
    if directory.is_none() {
        *directory = RuntimeDirectory::claim(&path);
        // Exit functions run in reverse order of registration, so this one runs after that of DPDK's telemetry. If
        // registration fails, the directory stays for the next process of its prefix.
        let _ = atexit(leave_directory);
    }
    directory.is_some().then_some(path)
}

extern "C" fn leave_directory() {
    drop(directory().take());
}

/// Leaves DPDK's directory before the process exits without running its exit functions. Does not block: a
/// directory in use by another thread stays.
pub fn leave_runtime_directory() {
    if let Ok(mut directory) = DIRECTORY.try_lock() {
        drop(directory.take());
    }
}

/// Prepares DPDK's directory for a switch to another user, who cannot remove entries of its parent. An empty
/// directory is removed now, since it is no longer needed. Any other is given to that user, so that its
/// contents can be removed at the end; the directory itself then stays for the next process of its prefix.
///
/// # Errors
///
/// It cannot be given away.
pub fn hand_over_runtime_directory(uid: u32, gid: u32) -> io::Result<()> {
    let mut directory = directory();
    if directory.as_ref().is_some_and(RuntimeDirectory::is_empty) {
        drop(directory.take());
    }
    directory.as_ref().map_or(Ok(()), |directory| directory.give_to(uid, gid))
}

fn directory() -> MutexGuard<'static, Option<RuntimeDirectory>> {
    DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that DPDK knows, until this is dropped.
#[derive(Debug)]
pub struct RegisteredThread {
    /// `None` if the thread was already registered.
    runtime: Option<Arc<Runtime>>,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for RegisteredThread {
    fn drop(&mut self) {
        let Some(runtime) = &self.runtime else { return };
        for &MempoolPointer(pool, _) in runtime.pools().iter() {
            // SAFETY: pools in the list are not freed, and the list is locked. The cache is this thread's.
            unsafe { sys::shim_pool_flush(pool.as_ptr()) }
        }
        // SAFETY: `register_thread` registered this thread, because a guard never moves to another.
        unsafe { sys::rte_thread_unregister() }
    }
}
