//! Frames of the simulator: header bytes, a length, and a label for the engine.

use core::cell::{Cell, RefCell};
use endpoint::FlowId;
use std::rc::Rc;
use switch::{Frame, Volume};
use units::{Bytes, PortId};
use wire::ethernet::EtherType;
use wire::{grants, ptp};

/// The most header bytes that a frame carries: a message of the connection manager over IPv6 has 342. The payload after them
/// is zero and not stored.
pub const HEADER_CAPACITY: usize = 342;

/// The flow of a frame, and the serial number of the frame in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    headers: [u8; HEADER_CAPACITY],
    /// The pool that takes it back; present only while the frame lives.
    home: Option<Rc<Books>>,
    label: Option<Label>,
}

/// A frame: a handle to a buffer that goes back to its pool when the frame is dropped. So the pool always
/// knows which frames exist.
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
        Books::frame(buffer.home.as_ref().expect(LIVES), self.headers(), self.length(), buffer.label)
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
        &buffer.headers[..usize::from(buffer.headers_length).min(HEADER_CAPACITY)]
    }

    #[inline]
    fn headers_mut(&mut self) -> &mut [u8] {
        let buffer = self.buffer_mut();
        &mut buffer.headers[..usize::from(buffer.headers_length).min(HEADER_CAPACITY)]
    }

    #[inline]
    fn length(&self) -> Bytes {
        Bytes(u64::from(self.buffer().length))
    }

    /// Never `None`: the pool grows as needed.
    fn duplicate(&self) -> Option<Self> {
        let buffer = self.buffer();
        let books = buffer.home.as_ref().expect(LIVES);
        books.note_duplicate(self.length());
        let mut copy = Books::frame(books, self.headers(), self.length(), buffer.label);
        copy.came_in_through(buffer.ingress);
        Some(copy)
    }
}

impl Drop for SimFrame {
    #[inline]
    fn drop(&mut self) {
        if let Some(mut buffer) = self.0.take()
            && let Some(books) = buffer.home.take()
        {
            books.take_back(buffer);
        }
    }
}

/// The free buffers of a pool, and counts of its frames.
#[derive(Debug, Default)]
struct Books {
    #[expect(clippy::vec_box, reason = "a buffer stays where it is, and its handle changes hands")]
    free: RefCell<Vec<Box<Buffer>>>,
    frames: Cell<u64>,
    bytes: Cell<u64>,
    duplicates: Cell<Volume>,
}

impl Books {
    #[inline]
    fn frame(books: &Rc<Self>, headers: &[u8], length: Bytes, label: Option<Label>) -> SimFrame {
        let free = books.free.borrow_mut().pop();
        let mut buffer = free.unwrap_or_else(new_buffer);
        let kept = headers.len().min(HEADER_CAPACITY);
        buffer.headers[..kept].copy_from_slice(&headers[..kept]);
        buffer.headers_length = kept as u16;
        buffer.length = length.0 as u32;
        buffer.is_control = is_control_frame(headers);
        buffer.label = label;
        buffer.home = Some(books.clone());
        books.frames.set(books.frames.get() + 1);
        books.bytes.set(books.bytes.get() + u64::from(buffer.length));
        SimFrame(Some(buffer))
    }

    #[inline]
    fn take_back(&self, buffer: Box<Buffer>) {
        self.frames.set(self.frames.get() - 1);
        self.bytes.set(self.bytes.get() - u64::from(buffer.length));
        self.free.borrow_mut().push(buffer);
    }

    fn note_duplicate(&self, length: Bytes) {
        let mut duplicates = self.duplicates.get();
        duplicates.count(length);
        self.duplicates.set(duplicates);
    }
}

#[inline]
fn is_control_frame(headers: &[u8]) -> bool {
    headers.get(12..14) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes())
        || grants::is_frame(headers)
        || ptp::is_frame(headers)
}

#[cold]
fn new_buffer() -> Box<Buffer> {
    Box::new(Buffer {
        home: None,
        label: None,
        length: 0,
        is_control: false,
        ingress: PortId(0),
        headers_length: 0,
        headers: [0; HEADER_CAPACITY],
    })
}

/// Makes frames, and counts those that exist. Once their number has reached its peak, nothing more is
/// allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePool(Rc<Books>);

impl FramePool {
    /// A frame of `length` bytes without FCS that begins with `headers`.
    #[inline]
    pub fn frame(&self, headers: &[u8], length: Bytes, label: Option<Label>) -> SimFrame {
        Books::frame(&self.0, headers, length, label)
    }

    /// All frames that exist now.
    #[inline]
    pub fn live(&self) -> Volume {
        Volume { frames: self.0.frames.get(), bytes: Bytes(self.0.bytes.get()) }
    }

    /// Copies of frames made since the start.
    #[inline]
    pub fn duplicates(&self) -> Volume {
        self.0.duplicates.get()
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
        assert_eq!((frame.headers().len(), frame.length()), (HEADER_CAPACITY, Bytes(300)));
    }
}
