//! Where frames lie.

use core::ptr::NonNull;
use std::ffi::CString;
use std::io;
use std::sync::Arc;

use dpdk_sys as sys;
use rustix::io::Errno;
use thiserror::Error;
use units::Bytes;

use crate::eal::{Runtime, last_error};
use crate::{Eal, Mbuf};

/// What a pool is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// How many mbufs. A power of two less one uses the memory best.
    pub mbufs: u32,
    /// How many free mbufs a registered thread keeps for itself, at most 512: up to half as many
    /// again. They count as free.
    pub cache: u32,
    /// Bytes of a frame that one mbuf holds. A longer frame takes several.
    pub data_room: Bytes,
    /// The NUMA node whose memory is taken, `None` for any.
    pub socket: Option<u16>,
}

impl Default for PoolSettings {
    /// 8191 mbufs, each of which holds a frame of Ethernet's ordinary size.
    fn default() -> Self {
        Self { mbufs: 8_191, cache: 256, data_room: Bytes(2_048), socket: None }
    }
}

impl PoolSettings {
    /// Memory that such a pool takes, rounded up: what to compare with the memory there is.
    pub fn memory(&self) -> Bytes {
        // rte_mbuf takes two cache lines, and each object of a mempool has a header, a trailer and
        // padding to a line.
        let each = (self.data_room.0 + u64::from(sys::RTE_PKTMBUF_HEADROOM)).next_multiple_of(64) + 256;
        Bytes(each.saturating_mul(u64::from(self.mbufs)))
    }
}

/// Why there is no pool.
#[derive(Debug, Error)]
pub enum PoolError {
    /// Not a name that DPDK takes.
    #[error("{0:?} is not a valid pool name: expected 1 to 25 letters, digits and underscores")]
    Name(String),
    /// A name that a pool has.
    #[error("a pool named {0} already exists")]
    Exists(String),
    /// An mbuf's length is a 16-bit number.
    #[error("an mbuf holds 1 to {max} bytes of a frame, not {wanted}")]
    DataRoom {
        /// What was asked for.
        wanted: Bytes,
        /// What can be.
        max: Bytes,
    },
    /// No memory for it.
    #[error(
        "not enough memory for the pool {name}: {mbufs} mbufs of {data_room} need {memory}; give DPDK more \
         memory, or make the buffer smaller"
    )]
    Memory {
        /// The pool.
        name: String,
        /// How many mbufs it was to have.
        mbufs: u32,
        /// What each was to hold.
        data_room: Bytes,
        /// What it would have taken.
        memory: Bytes,
    },
    /// DPDK refuses it.
    #[error("DPDK cannot create the pool {name} of {mbufs} mbufs with a cache of {cache}: {source}")]
    Refused {
        /// The pool.
        name: String,
        /// How many mbufs it was to have.
        mbufs: u32,
        /// How many each thread was to cache.
        cache: u32,
        /// What DPDK says.
        source: io::Error,
    },
}

/// Memory for frames. A clone is the same pool.
///
/// The memory goes back to DPDK when the last handle is dropped and no frame is outside; where one is,
/// the memory stays.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Mempool>);

#[derive(Debug)]
struct Mempool {
    pool: NonNull<sys::rte_mempool>,
    mbufs: u32,
    data_room: Bytes,
    runtime: Arc<Runtime>,
}

// SAFETY: what is called of a mempool here, DPDK lets any thread call at any time.
unsafe impl Send for Mempool {}
// SAFETY: as above.
unsafe impl Sync for Mempool {}

impl Pool {
    /// What DPDK leaves free in front of a frame, beside the data room.
    pub const HEADROOM: Bytes = Bytes(sys::RTE_PKTMBUF_HEADROOM as u64);
    /// The most that an mbuf may hold.
    pub const DATA_ROOM_MAX: Bytes = Bytes(u16::MAX as u64 - sys::RTE_PKTMBUF_HEADROOM as u64);

    /// A pool of a name that no other one has.
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

    /// A frame with a copy of `bytes`, in as many mbufs as it takes; `None` where the pool is exhausted.
    pub fn frame(&self, bytes: &[u8]) -> Option<Mbuf> {
        let length = u32::try_from(bytes.len()).ok()?;
        // SAFETY: the pool lives as long as this handle, and `bytes` has that length.
        let frame = unsafe { sys::shim_frame_from(self.as_ptr(), bytes.as_ptr(), length) };
        // SAFETY: it was made just now, for us.
        NonNull::new(frame).map(|frame| unsafe { Mbuf::from_raw(frame) })
    }

    /// How many mbufs it has.
    pub fn mbufs(&self) -> u32 {
        self.0.mbufs
    }

    /// Bytes of a frame that one mbuf holds.
    pub fn data_room(&self) -> Bytes {
        self.0.data_room
    }

    /// How many mbufs are free, those in the caches of threads included. Exact while nobody takes or
    /// gives any. Takes time: not for the turn.
    pub fn available(&self) -> u32 {
        // SAFETY: the pool lives as long as this handle.
        unsafe { sys::rte_mempool_avail_count(self.as_ptr()) }
    }

    /// How many mbufs are free and in no thread's cache, as of this moment: fewer than there are. Takes a few
    /// nanoseconds.
    #[inline]
    pub fn uncached(&self) -> u32 {
        // SAFETY: the pool lives as long as this handle.
        unsafe { sys::shim_pool_count(self.as_ptr()) }
    }

    /// How many mbufs are outside: in frames, and in the rings of devices. Exact while nobody takes or
    /// gives any. Takes time: not for the turn.
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

/// Memory of whichever NUMA node has it: SOCKET_ID_ANY.
const ANY_SOCKET: i32 = -1;

fn refusal(name: &str, settings: PoolSettings) -> PoolError {
    let PoolSettings { mbufs, cache, data_room, .. } = settings;
    let (name, source) = (name.to_owned(), last_error());
    match Errno::from_io_error(&source) {
        Some(Errno::EXIST) => PoolError::Exists(name),
        // The last one where there is some, but not in the pieces that it takes.
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
