//! Frames that own their bytes, in reused buffers.

use core::cell::RefCell;
use std::rc::Rc;
use switch::Frame;
use units::Bytes;

/// The smallest buffer, as a power of two. Short frames share this size.
const SMALLEST_SHIFT: u32 = 6;
/// The number of sizes from 64 bytes up to [`crate::capture::SNAP_LENGTH`], each twice the previous one.
const SIZES: usize = (crate::capture::SNAP_LENGTH.ilog2() - SMALLEST_SHIFT + 1) as usize;

/// A pool of buffers for frames.
///
/// A dropped frame returns its buffer, so allocation stops once the number of frames in use has peaked.
/// Buffer sizes are powers of two: a short frame never takes a long buffer, and no buffer has to grow.
#[derive(Clone, Debug, Default)]
pub struct FramePool(Rc<FreeLists>);

type FreeLists = [RefCell<Vec<Vec<u8>>>; SIZES];

impl FramePool {
    /// A pool without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame that had `original_length` bytes on the link, starting with `captured`.
    #[inline]
    pub fn frame(&self, captured: &[u8], original_length: u32) -> OwnedFrame {
        let size = size_for(captured.len());
        let recycled = self.0[size].borrow_mut().pop();
        let mut bytes = recycled.unwrap_or_else(|| buffer(size));
        bytes.extend_from_slice(captured);
        OwnedFrame { bytes, original_length, size: size as u8, pool: self.clone() }
    }
}

/// The index of the smallest buffer size that fits `length` bytes. Anything longer than a captured frame uses
/// the last size, and its buffer grows.
#[inline]
fn size_for(length: usize) -> usize {
    let shift = usize::BITS - length.saturating_sub(1).leading_zeros();
    (shift.saturating_sub(SMALLEST_SHIFT) as usize).min(SIZES - 1)
}

#[cold]
fn buffer(size: usize) -> Vec<u8> {
    Vec::with_capacity(1 << (SMALLEST_SHIFT as usize + size))
}

/// A frame of a capture: the captured bytes, and the length on the link.
#[derive(Debug)]
pub struct OwnedFrame {
    bytes: Vec<u8>,
    original_length: u32,
    size: u8,
    pool: FramePool,
}

impl Drop for OwnedFrame {
    #[inline]
    fn drop(&mut self) {
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.clear();
        self.pool.0[usize::from(self.size)].borrow_mut().push(bytes);
    }
}

impl Frame for OwnedFrame {
    #[inline]
    fn headers(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[inline]
    fn length(&self) -> Bytes {
        Bytes(u64::from(self.original_length))
    }

    fn make_room(&mut self, at: usize, length: usize) -> bool {
        let fits = self.bytes.make_room(at, length);
        self.original_length += if fits { length as u32 } else { 0 };
        fits
    }

    fn take_out(&mut self, at: usize, length: usize) -> bool {
        let fits = self.bytes.take_out(at, length);
        self.original_length -= if fits { length as u32 } else { 0 };
        fits
    }

    /// Never `None`: the pool grows as needed.
    fn duplicate(&self) -> Option<Self> {
        Some(self.pool.frame(&self.bytes, self.original_length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_frame_keeps_its_original_length_and_shows_what_was_captured() {
        let frame = FramePool::new().frame(&[7; 60], 1_500);
        assert_eq!((frame.headers().len(), frame.length()), (60, Bytes(1_500)));
    }

    #[test]
    fn a_buffer_that_was_given_back_is_used_again() {
        let pool = FramePool::new();
        let address = |frame: &OwnedFrame| frame.headers().as_ptr();
        let first = pool.frame(&[1; 100], 100);
        let where_first = address(&first);
        drop(first);
        let short = pool.frame(&[2; 10], 10);
        assert_ne!(address(&short), where_first, "a short frame takes no long buffer");
        let again = pool.frame(&[3; 128], 128);
        assert_eq!(address(&again), where_first);
        assert_eq!(again.headers(), [3; 128]);
    }

    #[test]
    fn a_duplicate_has_a_buffer_of_its_own() {
        let original = FramePool::new().frame(&[1; 64], 90);
        let mut copy = original.duplicate().unwrap();
        copy.headers_mut()[0] = 9;
        assert_eq!((original.headers()[0], copy.headers()[0]), (1, 9));
        assert_eq!(copy.length(), original.length());
    }

    #[test]
    fn each_length_has_the_smallest_buffer_that_it_fits() {
        for (length, capacity) in [(0, 64), (64, 64), (65, 128), (1_500, 2_048), (262_144, 262_144)] {
            assert_eq!(1 << (6 + size_for(length)), capacity, "{length}");
        }
        assert_eq!(size_for(1 << 30), SIZES - 1);
        assert!(FramePool::new().frame(&[0; 70], 70).bytes.capacity() >= 128);
    }
}
