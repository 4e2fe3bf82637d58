//! Panic-free access to bytes at fixed offsets.
//!
//! A view's length was checked when it was parsed, and `AsRef` should return the same bytes every time. If an
//! implementation does not, reads return zero and writes do nothing, so the data path cannot panic. Where
//! parse and accessor are inlined into one function, the compiler merges the two checks.

use crate::error::{BufferTooSmall, ParseError, Protocol, truncated};

/// The first `N` bytes.
#[inline(always)]
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> &[u8; N] {
    match bytes.first_chunk() {
        Some(head) => head,
        None => const { &[0; N] },
    }
}

/// The first `N` bytes, or a truncation error.
#[inline(always)]
pub(crate) fn checked_head<const N: usize>(protocol: Protocol, bytes: &[u8]) -> Result<&[u8; N], ParseError> {
    bytes.first_chunk().ok_or_else(|| truncated(protocol, N, bytes.len()))
}

/// The first `N` bytes of `out`.
#[inline(always)]
pub(crate) fn room<const N: usize>(out: &mut [u8]) -> Result<&mut [u8; N], BufferTooSmall> {
    let available = out.len();
    out.first_chunk_mut().ok_or(BufferTooSmall { needed: N, available })
}

/// `K` bytes of a header, starting at `at`.
#[inline(always)]
pub(crate) fn array<const N: usize, const K: usize>(header: &[u8; N], at: usize) -> [u8; K] {
    match header[at..].first_chunk() {
        Some(bytes) => *bytes,
        None => [0; K],
    }
}

/// A big-endian 16-bit field.
#[inline(always)]
pub(crate) fn u16_at<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// A big-endian 24-bit field, which is not the first of its header.
#[inline(always)]
pub(crate) fn u24_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    // One load of a word: the byte before it goes.
    u32_at(header, at - 1) & 0xff_ffff
}

/// A big-endian 32-bit field.
#[inline(always)]
pub(crate) fn u32_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes(array(header, at))
}

/// A big-endian 64-bit field.
#[inline(always)]
pub(crate) fn u64_at<const N: usize>(header: &[u8; N], at: usize) -> u64 {
    u64::from_be_bytes(array(header, at))
}

/// Writes `value` at `at` if all of it fits.
#[inline(always)]
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(target) = bytes.get_mut(at..at + value.len()) {
        target.copy_from_slice(value);
    }
}

/// Swaps the `K` bytes at `a` with those at `b`.
#[inline(always)]
pub(crate) fn swap<const K: usize>(bytes: &mut [u8], a: usize, b: usize) {
    let read = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk::<K>).copied();
    if let (Some(first), Some(second)) = (read(a), read(b)) {
        put(bytes, a, &second);
        put(bytes, b, &first);
    }
}
