//! Frames of the simulator: header bytes, a length, and a label for the engine.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use endpoint::FlowId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;
use switch::{Frame, Volume};
use units::{Bytes, PortId};
use wire::ethernet::EtherType;
use wire::{grants, ptp};

/// The most header bytes that a frame carries: a message of the connection manager over IPv6 has 342. The payload after
/// them is zero and not stored.
pub const HEADER_CAPACITY: usize = 342;

/// Header bytes for which a buffer has room: the longest acknowledgement, which returns telemetry, has 130.
const ROOM: usize = 136;

/// The flow of a frame, and the serial number of the frame in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Label {
    pub flow: FlowId,
    /// The slot of the flow in the table of flows.
    pub slot: u32,
    /// Rises with each frame that the sender sends for the flow, retransmissions included.
    pub serial: u32,
}

/// The contents of a frame. The fields and the headers up to the BTH, which each hop reads, are one cache
/// line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Buffer {
    length: u32,
    /// The port through which it last entered a switch.
    ingress: PortId,
    headers_length: u16,
    /// Whether it is a MAC control frame.
    is_control: bool,
    headers: [u8; ROOM],
    /// The headers if there are more than [`ROOM`] bytes of them, as connection managers alone send.
    long: Box<[u8]>,
    /// The books on which the frame is, or was until it was dropped.
    home: Arc<Books>,
    label: Option<Label>,
}

impl Buffer {
    #[inline]
    fn set_headers(&mut self, headers: &[u8]) {
        match self.headers.get_mut(..headers.len()) {
            Some(room) => {
                room.copy_from_slice(headers);
                self.long = Box::default();
            }
            None => self.long = headers.into(),
        }
        self.headers_length = headers.len() as u16;
    }

    /// Apart from the others, so that their cache line is the only one that is read.
    #[cold]
    fn long_headers(&self) -> &[u8] {
        &self.long
    }
}

/// A frame: a handle to a buffer. Its pool takes it off the books when it is dropped, and so always knows which frames
/// exist.
#[derive(Debug)]
pub struct SimFrame(Option<Box<Buffer>>);

const LIVES: &str = "a frame has its buffer until it is dropped";

impl SimFrame {
    #[inline]
    fn buffer(&self) -> &Buffer {
        self.0.as_deref().expect(LIVES)
    }

    #[inline]
    fn buffer_mut(&mut self) -> &mut Buffer {
        self.0.as_deref_mut().expect(LIVES)
    }

    /// Whether it is a frame between neighbours that no switch forwards: PFC, grants or gPTP.
    #[inline]
    pub(crate) fn is_control(&self) -> bool {
        self.buffer().is_control
    }

    #[inline]
    pub(crate) fn label(&self) -> Option<Label> {
        self.buffer().label
    }

    /// The port through which it last entered a switch.
    #[inline]
    pub(crate) fn ingress(&self) -> PortId {
        self.buffer().ingress
    }

    /// A second frame with the same content, as a faulty link makes one. The pool counts it as any other frame.
    pub(crate) fn twin(&self) -> Self {
        let buffer = self.buffer();
        Books::frame(&buffer.home, self.headers(), self.length(), buffer.label)
    }

    /// Moves the frame to the books of another pool.
    pub(crate) fn move_to(&mut self, pool: &FramePool) {
        let buffer = self.buffer_mut();
        buffer.home.remove(buffer.length);
        pool.books.add(buffer.length);
        buffer.home = pool.books.clone();
    }

    /// Sets other headers and a length. Bytes that are more count like those of a copy.
    fn replace_headers(&mut self, headers: &[u8], length: Bytes) {
        let buffer = self.buffer_mut();
        let home = buffer.home.clone();
        home.change_length(buffer.length, length.0 as u32);
        buffer.length = length.0 as u32;
        buffer.set_headers(headers);
    }

    #[inline]
    pub(crate) fn came_in_through(&mut self, port: PortId) {
        self.buffer_mut().ingress = port;
    }
}

impl Frame for SimFrame {
    #[inline]
    fn headers(&self) -> &[u8] {
        let buffer = self.buffer();
        match buffer.headers.get(..usize::from(buffer.headers_length)) {
            Some(headers) => headers,
            None => buffer.long_headers(),
        }
    }

    #[inline]
    fn headers_mut(&mut self) -> &mut [u8] {
        let buffer = self.buffer_mut();
        match buffer.headers.get_mut(..usize::from(buffer.headers_length)) {
            Some(headers) => headers,
            None => &mut buffer.long,
        }
    }

    #[inline]
    fn length(&self) -> Bytes {
        Bytes(u64::from(self.buffer().length))
    }

    fn make_room(&mut self, at: usize, length: usize) -> bool {
        let mut headers = self.headers().to_vec();
        let fits = at <= headers.len();
        if fits {
            headers.splice(at..at, core::iter::repeat_n(0, length));
            self.replace_headers(&headers, self.length() + Bytes(length as u64));
        }
        fits
    }

    fn take_out(&mut self, at: usize, length: usize) -> bool {
        let mut headers = self.headers().to_vec();
        let fits = at + length <= headers.len();
        if fits {
            headers.drain(at..at + length);
            self.replace_headers(&headers, self.length() - Bytes(length as u64));
        }
        fits
    }

    /// Never `None`: the pool grows as needed.
    fn duplicate(&self) -> Option<Self> {
        let buffer = self.buffer();
        buffer.home.note_duplicate(self.length());
        let mut copy = self.twin();
        copy.came_in_through(buffer.ingress);
        Some(copy)
    }
}

impl Drop for SimFrame {
    #[inline]
    fn drop(&mut self) {
        if let Some(buffer) = self.0.take() {
            buffer.home.remove(buffer.length);
            if usize::from(buffer.headers_length) > ROOM {
                return;
            }
            // When the thread ends, its free buffers may be gone already.
            _ = FREE.try_with(|free| keep(&mut free.borrow_mut(), buffer));
        }
    }
}

/// The frame with its headers, but without its pool.
impl Serialize for SimFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Buffer { length, ingress, is_control, label, .. } = self.buffer();
        (length, ingress, is_control, label, self.headers()).serialize(serializer)
    }
}

/// A frame of the pool that takes frames now (`FramePool::takes_frames`).
impl<'de> Deserialize<'de> for SimFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (length, ingress, is_control, label, headers) =
            <(u32, PortId, bool, Option<Label>, Vec<u8>)>::deserialize(deserializer)?;
        let books =
            TAKING.with_borrow(Option::clone).ok_or_else(|| D::Error::custom("no pool takes frames"))?;
        let mut frame = Books::frame(&books, &headers, Bytes(u64::from(length)), label);
        let buffer = frame.buffer_mut();
        (buffer.ingress, buffer.is_control) = (ingress, is_control);
        Ok(frame)
    }
}

thread_local! {
    /// The books on which frames come that this thread reads from a checkpoint.
    static TAKING: RefCell<Option<Arc<Books>>> = const { RefCell::new(None) };
}

/// The most free buffers of a thread, 13 MB. Frames that cross from one part of the network to another take their
/// buffers with them, so that one thread may drop more than it makes.
const FREE_MAX: usize = 1 << 16;

thread_local! {
    /// The buffers of frames that were dropped on this thread, for the next ones. It saves allocations, and is no
    /// state of any simulation.
    #[expect(clippy::vec_box, reason = "a buffer stays where it is, and its handle changes hands")]
    static FREE: RefCell<Vec<Box<Buffer>>> = const { RefCell::new(Vec::new()) };
}

#[inline]
#[expect(clippy::vec_box, reason = "as above")]
fn keep(free: &mut Vec<Box<Buffer>>, buffer: Box<Buffer>) {
    if free.len() < FREE_MAX {
        free.push(buffer);
    }
}

/// The frames of a pool in numbers. They have one writer at a time, the thread that runs the pool's part of the
/// network, so a load and a store are enough.
#[derive(Debug, Default)]
struct Books {
    frames: AtomicU64,
    bytes: AtomicU64,
    duplicate_frames: AtomicU64,
    duplicate_bytes: AtomicU64,
}

#[inline]
fn add(total: &AtomicU64, change: u64) {
    total.store(total.load(Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
}

impl Books {
    #[inline]
    fn frame(books: &Arc<Self>, headers: &[u8], length: Bytes, label: Option<Label>) -> SimFrame {
        let free = FREE.with_borrow_mut(Vec::pop);
        let mut buffer = free.unwrap_or_else(|| new_buffer(books));
        let kept = headers.len().min(HEADER_CAPACITY);
        match buffer.headers.get_mut(..kept) {
            Some(room) => room.copy_from_slice(&headers[..kept]),
            None => buffer.long = headers[..kept].into(),
        }
        buffer.headers_length = kept as u16;
        buffer.length = length.0 as u32;
        buffer.is_control = is_control_frame(headers);
        buffer.label = label;
        if !Arc::ptr_eq(&buffer.home, books) {
            buffer.home = books.clone();
        }
        books.add(buffer.length);
        SimFrame(Some(buffer))
    }

    #[inline]
    fn add(&self, length: u32) {
        add(&self.frames, 1);
        add(&self.bytes, u64::from(length));
    }

    #[inline]
    fn remove(&self, length: u32) {
        add(&self.frames, 1_u64.wrapping_neg());
        add(&self.bytes, u64::from(length).wrapping_neg());
    }

    fn change_length(&self, old: u32, new: u32) {
        add(&self.bytes, u64::from(new).wrapping_sub(old.into()));
        add(&self.duplicate_bytes, u64::from(new.saturating_sub(old)));
    }

    fn note_duplicate(&self, length: Bytes) {
        add(&self.duplicate_frames, 1);
        add(&self.duplicate_bytes, length.0);
    }
}

#[inline]
fn is_control_frame(headers: &[u8]) -> bool {
    headers.get(12..14) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes())
        || grants::is_frame(headers)
        || ptp::is_frame(headers)
}

#[cold]
fn new_buffer(books: &Arc<Books>) -> Box<Buffer> {
    Box::new(Buffer {
        home: books.clone(),
        label: None,
        length: 0,
        is_control: false,
        ingress: PortId(0),
        headers_length: 0,
        headers: [0; ROOM],
        long: Box::default(),
    })
}

/// Makes frames, and counts those that exist. Once their number has reached its peak, nothing more is
/// allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePool {
    books: Arc<Books>,
}

impl FramePool {
    /// A frame of `length` bytes without FCS that begins with `headers`.
    #[inline]
    pub fn frame(&self, headers: &[u8], length: Bytes, label: Option<Label>) -> SimFrame {
        Books::frame(&self.books, headers, length, label)
    }

    /// Calls `read`, and takes all frames that it reads from a checkpoint.
    pub fn takes_frames<T>(&self, read: impl FnOnce() -> T) -> T {
        TAKING.set(Some(self.books.clone()));
        let read = read();
        TAKING.set(None);
        read
    }

    /// Sets how many copies of frames were made since the start.
    pub fn set_duplicates(&self, duplicates: Volume) {
        self.books.duplicate_frames.store(duplicates.frames, Ordering::Relaxed);
        self.books.duplicate_bytes.store(duplicates.bytes.0, Ordering::Relaxed);
    }

    /// All frames that exist now.
    #[inline]
    pub fn live(&self) -> Volume {
        let Books { frames, bytes, .. } = &*self.books;
        Volume { frames: frames.load(Ordering::Relaxed), bytes: Bytes(bytes.load(Ordering::Relaxed)) }
    }

    /// Copies of frames made since the start.
    #[inline]
    pub fn duplicates(&self) -> Volume {
        let Books { duplicate_frames, duplicate_bytes, .. } = &*self.books;
        let bytes = Bytes(duplicate_bytes.load(Ordering::Relaxed));
        Volume { frames: duplicate_frames.load(Ordering::Relaxed), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_small_as_a_pointer() {
        assert_eq!(size_of::<SimFrame>(), size_of::<usize>());
    }

    #[test]
    fn a_buffer_takes_three_cache_lines() {
        assert_eq!(size_of::<Buffer>(), 192);
    }

    #[test]
    fn headers_longer_than_a_buffer_has_room_for_are_kept_whole_and_leave_nothing_behind() {
        let pool = FramePool::default();
        for length in [ROOM, ROOM + 1, HEADER_CAPACITY, 60] {
            let headers: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut frame = pool.frame(&headers, Bytes(400), None);
            assert_eq!(frame.duplicate().unwrap().headers(), headers);
            frame.headers_mut()[length - 1] = 0xff;
            assert_eq!((frame.headers().len(), frame.headers()[length - 1]), (length, 0xff));
            assert!(FREE.with_borrow(|free| free.iter().all(|buffer| buffer.long.is_empty())));
        }
    }

    #[test]
    fn a_dropped_frame_is_off_the_books_and_its_buffer_is_used_again() {
        let pool = FramePool::default();
        let first = pool.frame(&[1; 60], Bytes(1_000), None);
        let second = pool.frame(&[2; 60], Bytes(500), None);
        assert_eq!(pool.live(), Volume { frames: 2, bytes: Bytes(1_500) });
        let place = first.headers().as_ptr();
        drop(first);
        assert_eq!(pool.live(), Volume { frames: 1, bytes: Bytes(500) });
        let third = pool.frame(&[3; 20], Bytes(64), None);
        assert_eq!((third.headers().as_ptr(), third.headers()), (place, &[3; 20][..]));
        drop((second, third));
        assert_eq!(pool.live(), Volume::ZERO);
    }

    #[test]
    fn a_frame_that_moves_is_on_the_books_of_its_new_pool_and_may_be_dropped_on_another_thread() {
        let (near, far) = (FramePool::default(), FramePool::default());
        let mut frame = near.frame(&[1; 60], Bytes(1_000), None);
        frame.move_to(&far);
        assert_eq!((near.live(), far.live()), (Volume::ZERO, Volume { frames: 1, bytes: Bytes(1_000) }));
        std::thread::scope(|scope| scope.spawn(|| drop(frame)).join()).unwrap();
        assert_eq!((near.live(), far.live()), (Volume::ZERO, Volume::ZERO));
    }

    #[test]
    fn a_duplicate_is_counted_and_has_a_buffer_of_its_own() {
        let pool = FramePool::default();
        let label = Label { flow: FlowId(1), slot: 2, serial: 3 };
        let mut original = pool.frame(&[1; 60], Bytes(90), Some(label));
        let copy = original.duplicate().unwrap();
        original.headers_mut()[0] = 9;
        assert_eq!((copy.headers()[0], copy.length(), copy.label()), (1, Bytes(90), Some(label)));
        assert_eq!(pool.duplicates(), Volume { frames: 1, bytes: Bytes(90) });
        assert_eq!(pool.live().frames, 2);
    }

    #[test]
    fn no_more_headers_are_kept_than_there_is_room_for() {
        let frame = FramePool::default().frame(&[5; 400], Bytes(400), None);
        assert_eq!((frame.headers().len(), frame.length()), (HEADER_CAPACITY, Bytes(400)));
    }
}
