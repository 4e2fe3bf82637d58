//! Pools of frames.

use core::ptr::NonNull;
use std::ffi::CString;
use std::io;
use std::sync::Arc;

use dpdk_sys as sys;
use rustix::io::Errno;
use thiserror::Error;
use units::Bytes;

use crate::runtime::{Runtime, last_error};
use crate::{Eal, Mbuf};

/// The settings of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// The number of mbufs. A power of two less one uses memory best.
    pub mbufs: u32,
    /// The size of a registered thread's cache of free mbufs, at most 512; a cache may hold up to half as
    /// many again. Cached mbufs count as free.
    pub cache: u32,
    /// Frame bytes per mbuf. A longer frame takes several mbufs.
    pub data_room: Bytes,
    /// The NUMA node of the memory; `None` for any.
    pub socket: Option<u16>,
}

impl Default for PoolSettings {
    /// 8191 mbufs, each for a frame of Ethernet's standard size.
    fn default() -> Self {
        Self { mbufs: 8_191, cache: 256, data_room: Bytes(2_048), socket: None }
    }
}

impl PoolSettings {
    /// The memory of such a pool, rounded up, to compare with the available memory.
    pub fn memory(&self) -> Bytes {
        // rte_mbuf has two cache lines, and each mempool object has a header, a trailer and padding to a
        // line.
        let each = (self.data_room.0 + u64::from(sys::RTE_PKTMBUF_HEADROOM)).next_multiple_of(64) + 256;
        Bytes(each.saturating_mul(u64::from(self.mbufs)))
    }
}

/// Why a pool cannot be created.
#[derive(Debug, Error)]
pub enum PoolError {
    /// DPDK does not accept the name.
    #[error("{0:?} is not a valid pool name: expected 1 to 25 letters, digits and underscores")]
    Name(String),
    /// A pool of this name already exists.
    #[error("a pool named {0} already exists")]
    Exists(String),
    /// The data room is out of range: an mbuf's length has 16 bits.
    #[error("an mbuf holds 1B to {max} of a frame, not {wanted}")]
    DataRoom {
        /// The requested size.
        wanted: Bytes,
        /// The maximum.
        max: Bytes,
    },
    /// There is not enough memory.
    #[error(
        "not enough memory for the pool {name}: {mbufs} mbufs of {data_room:#} need {memory:#}; give DPDK more \
         memory, or make the buffer smaller"
    )]
    Memory {
        /// The pool.
        name: String,
        /// The requested number of mbufs.
        mbufs: u32,
        /// The requested data room.
        data_room: Bytes,
        /// The memory needed.
        memory: Bytes,
    },
    /// DPDK refused it.
    #[error("DPDK cannot create the pool {name} of {mbufs} mbufs with a cache of {cache}: {source}")]
    Refused {
        /// The pool.
        name: String,
        /// The requested number of mbufs.
        mbufs: u32,
        /// The requested cache size.
        cache: u32,
        /// DPDK's error.
        source: io::Error,
    },
}

/// Memory for frames. Clones refer to the same pool.
///
/// The memory returns to DPDK when the last handle is dropped, unless frames are still in use.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Mempool>);

#[derive(Debug)]
struct Mempool {
    pool: NonNull<sys::rte_mempool>,
    mbufs: u32,
    data_room: Bytes,
    runtime: Arc<Runtime>,
}

// SAFETY: DPDK allows the mempool functions used here from any thread at any time.
unsafe impl Send for Mempool {}
// SAFETY: as above.
unsafe impl Sync for Mempool {}

impl Pool {
    /// The bytes that DPDK reserves before a frame, in addition to the data room.
    pub const HEADROOM: Bytes = Bytes(sys::RTE_PKTMBUF_HEADROOM as u64);
    /// The maximum data room of an mbuf.
    pub const DATA_ROOM_MAX: Bytes = Bytes(u16::MAX as u64 - sys::RTE_PKTMBUF_HEADROOM as u64);

    /// Creates a pool with a unique name.
    ///
    /// # Errors
    ///
    /// The settings are out of their range, or there is no memory.
    pub fn new(eal: &Eal, name: &str, settings: PoolSettings) -> Result<Self, PoolError> {
        let PoolSettings { mbufs, cache, data_room, socket } = settings;
        if data_room == Bytes(0) || data_room > Self::DATA_ROOM_MAX {
            return Err(PoolError::DataRoom { wanted: data_room, max: Self::DATA_ROOM_MAX });
        }
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let c_name = CString::new(name).ok().filter(|_| (1..=25).contains(&name.len()) && is_name(name));
        let c_name = c_name.ok_or_else(|| PoolError::Name(name.to_owned()))?;
        // Both fit: the range is checked above.
        let room = (data_room.0 + u64::from(sys::RTE_PKTMBUF_HEADROOM)) as u16;
        let socket = socket.map_or(ANY_SOCKET, i32::from);
        // SAFETY: the name is a string, and `eal` says that DPDK runs.
        let pool = unsafe { sys::rte_pktmbuf_pool_create(c_name.as_ptr(), mbufs, cache, 0, room, socket) };
        let pool = NonNull::new(pool).ok_or_else(|| refusal(name, settings))?;
        let runtime = Arc::clone(eal.runtime());
        runtime.add_pool(pool, mbufs);
        Ok(Self(Arc::new(Mempool { pool, mbufs, data_room, runtime })))
    }

    /// A frame with a copy of `bytes`, in as many mbufs as needed; `None` if the pool is exhausted.
    pub fn frame(&self, bytes: &[u8]) -> Option<Mbuf> {
        let length = u32::try_from(bytes.len()).ok()?;
        // SAFETY: the pool lives as long as this handle, and `bytes` has that length.
        let frame = unsafe { sys::shim_frame_from(self.as_ptr(), bytes.as_ptr(), length) };
        // SAFETY: the frame is new and has no other owner.
        NonNull::new(frame).map(|frame| unsafe { Mbuf::from_raw(frame) })
    }

    /// The number of mbufs.
    pub fn mbufs(&self) -> u32 {
        self.0.mbufs
    }

    /// Frame bytes per mbuf.
    pub fn data_room(&self) -> Bytes {
        self.0.data_room
    }

    /// The number of free mbufs, including those in thread caches. Exact only while the pool is not in use.
    /// Too slow for the turn.
    pub fn available(&self) -> u32 {
        // SAFETY: the pool lives as long as this handle.
        unsafe { sys::rte_mempool_avail_count(self.as_ptr()) }
    }

    /// The current number of free mbufs outside thread caches, a lower bound of the free ones. Takes a few
    /// nanoseconds.
    #[inline]
    pub fn uncached(&self) -> u32 {
        // SAFETY: the pool lives as long as this handle.
        unsafe { sys::shim_pool_count(self.as_ptr()) }
    }

    /// The number of mbufs in use, in frames and in the rings of devices. Exact only while the pool is not in
    /// use. Too slow for the turn.
    pub fn in_use(&self) -> u32 {
        self.0.mbufs - self.available().min(self.0.mbufs)
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.0.runtime
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rte_mempool {
        self.0.pool.as_ptr()
    }
}

/// Memory of any NUMA node: SOCKET_ID_ANY.
const ANY_SOCKET: i32 = -1;

fn refusal(name: &str, settings: PoolSettings) -> PoolError {
    let PoolSettings { mbufs, cache, data_room, .. } = settings;
    let (name, source) = (name.to_owned(), last_error());
    match Errno::from_io_error(&source) {
        Some(Errno::EXIST) => PoolError::Exists(name),
        // ENOBUFS means that memory is available, but not in large enough pieces.
        Some(Errno::NOMEM | Errno::NOBUFS) => {
            PoolError::Memory { name, mbufs, data_room, memory: settings.memory() }
        }
        _ => PoolError::Refused { name, mbufs, cache, source },
    }
}

impl Drop for Mempool {
    fn drop(&mut self) {
        self.runtime.release_pool(self.pool);
    }
}
