//! Frames in a pool.

use core::ptr::NonNull;
use core::slice;
use core::sync::atomic::{AtomicU16, Ordering};

use dpdk_sys as sys;
use switch::Frame;
use units::Bytes;

/// A frame in the memory of a [`crate::Pool`]: one mbuf, or a chain of them. Dropping it returns all of them.
///
/// It has the size of a pointer, so an array of them is a DPDK burst. [`Frame::share`] adds a reference to the same mbufs, and
/// while there are two, they can only be read: [`Frame::headers_mut`] is empty, and [`Frame::make_room`] and
/// [`Frame::take_out`] make a copy first.
#[repr(transparent)]
pub struct Mbuf(NonNull<sys::rte_mbuf>);

// SAFETY: only the sole reference to mbufs changes them, their counts are atomic, and pools take buffers back from any
// thread.
unsafe impl Send for Mbuf {}
// SAFETY: through a shared reference the frame is only read, or copied into other mbufs of its pool,
// which hands out buffers to any number of threads.
unsafe impl Sync for Mbuf {}

impl Mbuf {
    /// Takes ownership of a frame.
    ///
    /// # Safety
    ///
    /// `mbuf` is the first of a chain of initialized mbufs, and one reference to each of them is the caller's.
    pub(crate) unsafe fn from_raw(mbuf: NonNull<sys::rte_mbuf>) -> Self {
        Self(mbuf)
    }

    /// The number of references to its first mbuf.
    #[inline(always)]
    fn references(&self) -> &AtomicU16 {
        // SAFETY: the count lies there, in an mbuf that is alive, and everybody changes it by atomic operations.
        unsafe { AtomicU16::from_ptr(self.0.as_ptr().byte_add(sys::SHIM_MBUF_REFCNT as usize).cast()) }
    }

    /// Whether its mbufs have another reference: that of a device that is still to send them, or of a second `Mbuf`.
    #[inline(always)]
    fn is_shared(&self) -> bool {
        self.references().load(Ordering::Acquire) > 1
    }

    /// Makes it the only reference to its mbufs, with a copy if it is not. Returns whether there was memory for that.
    pub(crate) fn own(&mut self) -> bool {
        if self.is_shared() {
            let Some(copy) = self.duplicate() else { return false };
            *self = copy;
        }
        true
    }

    /// The frame's bytes, mbuf by mbuf.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let mut next = Some(self.0);
        core::iter::from_fn(move || {
            let mbuf = next?;
            // SAFETY: a chain ends with a null pointer, and every mbuf in it lives as long as `self`.
            next = unsafe { NonNull::new(member(mbuf, sys::SHIM_MBUF_NEXT)) };
            // SAFETY: as above.
            Some(unsafe { slice::from_raw_parts(data(mbuf), data_length(mbuf)) })
        })
    }

    /// The number of mbufs in the frame.
    #[inline]
    pub fn segment_count(&self) -> u16 {
        // SAFETY: nb_segs of an mbuf that is alive.
        unsafe { member(self.0, sys::SHIM_MBUF_NB_SEGS) }
    }
}

/// Reads a member of an mbuf at its offset.
///
/// # Safety
///
/// The mbuf is alive, and a `T` lies at `offset`.
#[inline(always)]
unsafe fn member<T>(mbuf: NonNull<sys::rte_mbuf>, offset: sys::shim_mbuf_offset) -> T {
    // SAFETY: the caller says that a `T` lies there; mbufs are aligned to a cache line.
    unsafe { mbuf.as_ptr().byte_add(offset as usize).cast::<T>().read() }
}

/// The start of the data in one mbuf.
///
/// # Safety
///
/// The mbuf is alive.
#[inline(always)]
unsafe fn data(mbuf: NonNull<sys::rte_mbuf>) -> *mut u8 {
    // SAFETY: the offsets come from the headers of the DPDK in use, and the shim asserts the sizes; the
    // data begins within the buffer.
    unsafe {
        let buffer: *mut u8 = member(mbuf, sys::SHIM_MBUF_BUF_ADDR);
        buffer.add(usize::from(member::<u16>(mbuf, sys::SHIM_MBUF_DATA_OFF)))
    }
}

/// The bytes available for data in one mbuf, from the start of the data.
///
/// # Safety
///
/// The mbuf is alive.
unsafe fn room(mbuf: NonNull<sys::rte_mbuf>) -> usize {
    // SAFETY: the offsets come from the headers of the DPDK in use, and the shim asserts the sizes.
    let (buffer, offset): (u16, u16) =
        unsafe { (member(mbuf, sys::SHIM_MBUF_BUF_LEN), member(mbuf, sys::SHIM_MBUF_DATA_OFF)) };
    usize::from(buffer.saturating_sub(offset))
}

/// Makes a frame longer at its front, or shorter, by what is below zero.
///
/// # Safety
///
/// Nobody else refers to the mbuf, and so many bytes are free in front of its data, or in its data.
#[inline]
unsafe fn lengthen(mbuf: NonNull<sys::rte_mbuf>, by: i32) {
    // SAFETY: the offsets come from the headers of the DPDK in use, and the shim asserts the sizes.
    unsafe {
        let place = |offset: sys::shim_mbuf_offset| mbuf.as_ptr().byte_add(offset as usize);
        let (start, length) = (place(sys::SHIM_MBUF_DATA_OFF), place(sys::SHIM_MBUF_DATA_LEN));
        *start.cast::<u16>() = start.cast::<u16>().read().wrapping_sub(by as u16);
        *length.cast::<u16>() = length.cast::<u16>().read().wrapping_add(by as u16);
        let whole = place(sys::SHIM_MBUF_PKT_LEN).cast::<u32>();
        *whole = whole.read().wrapping_add_signed(by);
    }
}

/// The number of frame bytes in one mbuf.
///
/// # Safety
///
/// The mbuf is alive.
#[inline(always)]
unsafe fn data_length(mbuf: NonNull<sys::rte_mbuf>) -> usize {
    // SAFETY: the offset comes from the headers of the DPDK in use, and the shim asserts the size.
    usize::from(unsafe { member::<u16>(mbuf, sys::SHIM_MBUF_DATA_LEN) })
}

impl Frame for Mbuf {
    /// The data of the first mbuf.
    #[inline(always)]
    fn headers(&self) -> &[u8] {
        // SAFETY: the mbuf lives as long as `self`, and its data lies in one piece.
        unsafe { slice::from_raw_parts(data(self.0), data_length(self.0)) }
    }

    #[inline(always)]
    fn headers_mut(&mut self) -> &mut [u8] {
        if self.is_shared() {
            return &mut [];
        }
        // SAFETY: as in `headers`, and no one else refers to the mbuf.
        unsafe { slice::from_raw_parts_mut(data(self.0), data_length(self.0)) }
    }

    #[inline(always)]
    fn length(&self) -> Bytes {
        // SAFETY: pkt_len of an mbuf that is alive.
        Bytes(u64::from(unsafe { member::<u32>(self.0, sys::SHIM_MBUF_PKT_LEN) }))
    }

    /// A copy in the same pool; `None` if the pool is exhausted.
    fn duplicate(&self) -> Option<Self> {
        // SAFETY: the chain is alive, and so is the pool of its first mbuf.
        let copy = unsafe { sys::shim_frame_copy(self.0.as_ptr()) };
        // SAFETY: the copy is a separate chain.
        NonNull::new(copy).map(|copy| unsafe { Self::from_raw(copy) })
    }

    /// A second reference to the same mbufs.
    #[inline]
    fn share(&mut self) -> Option<Self> {
        match self.segment_count() {
            // This is the only reference, and nobody else uses it now: that takes no atomic addition.
            1 if !self.is_shared() => self.references().store(2, Ordering::Relaxed),
            // SAFETY: the chain is alive.
            _ => unsafe { sys::shim_frame_share(self.0.as_ptr()) },
        }
        // SAFETY: the reference is new.
        Some(unsafe { Self::from_raw(self.0) })
    }

    fn make_room(&mut self, at: usize, length: usize) -> bool {
        let (true, Ok(more)) = (at <= self.headers().len(), u16::try_from(length)) else { return false };
        if !self.own() {
            return false;
        }
        // SAFETY: data_off of an mbuf that is alive.
        let free: u16 = unsafe { member(self.0, sys::SHIM_MBUF_DATA_OFF) };
        if free < more || self.headers().len() + length > usize::from(u16::MAX) {
            return false;
        }
        // SAFETY: no one else refers to the mbuf, and so many bytes are free in front of its data.
        unsafe { lengthen(self.0, i32::from(more)) };
        move_head(self.headers_mut(), length, 0, at);
        true
    }

    fn take_out(&mut self, at: usize, length: usize) -> bool {
        let (true, Ok(less)) = (at + length <= self.headers().len(), u16::try_from(length)) else {
            return false;
        };
        if !self.own() {
            return false;
        }
        move_head(self.headers_mut(), 0, length, at);
        // SAFETY: no one else refers to the mbuf, and it has so many bytes.
        unsafe { lengthen(self.0, -i32::from(less)) };
        true
    }

    fn memory(&self) -> Option<&[u8]> {
        // SAFETY: the mbuf lives as long as `self`. DPDK allocated its buffer from kernel memory, so all of
        // it is initialized.
        (self.segment_count() == 1).then(|| unsafe { slice::from_raw_parts(data(self.0), room(self.0)) })
    }

    fn memory_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as in `memory`, and no one else refers to the mbuf.
        (self.segment_count() == 1 && !self.is_shared())
            .then(|| unsafe { slice::from_raw_parts_mut(data(self.0), room(self.0)) })
    }

    fn drop_all(frames: &mut Vec<Self>) {
        // SAFETY: each `Mbuf` is a pointer to an mbuf, and the references go away here: the vector forgets them.
        unsafe {
            sys::shim_frames_free(frames.as_mut_ptr().cast(), frames.len() as u32);
            frames.set_len(0);
        }
    }

    fn gather(&self, [first, second]: [&[u8]; 2]) -> Option<Self> {
        // Parts from one mbuf fit into 32 bits; longer ones fit into no mbuf.
        let (first_length, second_length) = (first.len() as u32, second.len() as u32);
        // SAFETY: the mbuf is alive, and so is its pool; the lengths are those of the slices.
        let frame = unsafe {
            sys::shim_frame_gather(
                self.0.as_ptr(),
                first.as_ptr(),
                first_length,
                second.as_ptr(),
                second_length,
            )
        };
        // SAFETY: the new frame is a separate chain.
        NonNull::new(frame).map(|frame| unsafe { Self::from_raw(frame) })
    }
}

/// Moves `length` bytes. The addresses of Ethernet, which are the usual case, go through registers.
#[inline]
fn move_head(bytes: &mut [u8], from: usize, to: usize, length: usize) {
    const ADDRESSES: usize = 12;
    match bytes.get(from..).and_then(<[u8]>::first_chunk::<ADDRESSES>).filter(|_| length == ADDRESSES) {
        Some(&addresses) => bytes[to..to + ADDRESSES].copy_from_slice(&addresses),
        None => bytes.copy_within(from..from + length, to),
    }
}

impl Drop for Mbuf {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference to the chain goes away here.
        unsafe { sys::shim_frame_free(self.0.as_ptr()) }
    }
}

impl core::fmt::Debug for Mbuf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Mbuf({} in {} segments)", self.length(), self.segment_count())
    }
}
