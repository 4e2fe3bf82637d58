//! Control frames of a port on their way from a lane to the lead.

use crate::sync::{AtomicU64, Ordering};
use units::{Bytes, Nanos};
use wire::ethernet;

/// Control frames of a port that may wait at one lane for the lead: more than a neighbour sends within a turn, and a bound for one that floods.
pub const PLACES: u64 = 16;
/// The longest frame that is carried: a whole one with a tag and without jumbo payload, as all of these are.
const MOST: usize = ethernet::HEADER_LEN + 4 + 1_500;
/// Words of a place: when the frame came in, how long it is, and its bytes.
const WORDS: usize = 2 + MOST.div_ceil(8);

/// A frame that a lane received for the lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    /// When it came in.
    pub at: Nanos,
    /// Its length in the frame's own headers, which may be more than was kept of it.
    pub length: Bytes,
    kept: usize,
    bytes: [u8; MOST.next_multiple_of(8)],
}

impl Letter {
    /// The bytes of the frame.
    pub fn headers(&self) -> &[u8] {
        &self.bytes[..self.kept]
    }
}

/// A ring with one writer, the lane, and one reader, the lead.
pub(super) struct Post {
    places: Box<[[AtomicU64; WORDS]]>,
    /// Frames that were put in, written by the lane.
    written: AtomicU64,
    /// Frames that were taken out, written by the lead.
    read: AtomicU64,
}

impl Post {
    pub fn new() -> Self {
        let place = || core::array::from_fn(|_| AtomicU64::new(0));
        let places = (0..PLACES).map(|_| place()).collect();
        Self { places, written: AtomicU64::new(0), read: AtomicU64::new(0) }
    }

    /// Puts a frame in. Returns whether it had room, and the frame was not too long.
    pub fn put(&self, at: Nanos, length: Bytes, headers: &[u8]) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let is_full = written - self.read.load(Ordering::Acquire) >= PLACES;
        if is_full || headers.len() > MOST {
            return false;
        }
        let [time, what, bytes @ ..] = &self.places[(written % PLACES) as usize];
        time.store(at.0, Ordering::Relaxed);
        let length = length.0.min(u64::from(u32::MAX));
        what.store((headers.len() as u64) << 32 | length, Ordering::Relaxed);
        for (word, chunk) in bytes.iter().zip(headers.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        self.written.store(written + 1, Ordering::Release);
        true
    }

    /// Takes the next frame out.
    pub fn take(&self) -> Option<Letter> {
        let read = self.read.load(Ordering::Relaxed);
        if self.written.load(Ordering::Acquire) == read {
            return None;
        }
        let [time, what, words @ ..] = &self.places[(read % PLACES) as usize];
        let what = what.load(Ordering::Relaxed);
        let kept = usize::from((what >> 32) as u16).min(MOST);
        let mut bytes = [0; MOST.next_multiple_of(8)];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words).take(kept.div_ceil(8)) {
            *chunk = word.load(Ordering::Relaxed).to_le_bytes();
        }
        let letter = Letter {
            at: Nanos(time.load(Ordering::Relaxed)),
            length: Bytes(u64::from(what as u32)),
            kept,
            bytes,
        };
        self.read.store(read + 1, Ordering::Release);
        Some(letter)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_in_order_and_as_they_went_in_and_one_more_than_there_is_room_for_is_refused() {
        let post = Post::new();
        let frame = |number: u64| vec![number as u8; 14 + number as usize];
        let put = |number: u64| post.put(Nanos(number), Bytes(2_000 + number), &frame(number));
        assert!((0..PLACES).all(put) && !put(PLACES));
        for number in 0..PLACES {
            let letter = post.take().unwrap();
            assert_eq!((letter.at, letter.length), (Nanos(number), Bytes(2_000 + number)));
            assert_eq!(letter.headers(), frame(number));
            assert!(put(number));
        }
    }

    #[test]
    fn the_longest_frame_fits_and_one_byte_more_does_not() {
        let post = Post::new();
        let put = |length| post.put(Nanos(1), Bytes(60), &vec![7; length]);
        assert!(put(MOST) && !put(MOST + 1));
        assert_eq!(post.take().unwrap().headers(), [7; MOST]);
        assert!(post.take().is_none());
    }
}
