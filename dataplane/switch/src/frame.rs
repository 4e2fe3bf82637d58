//! The frame as the switch sees it, and the receivers of frames that leave.

use units::{Bytes, Nanos, PortId};

/// A frame's header bytes (mutable) and its length, nothing else.
///
/// Implemented by the mbuf on the wire, by an owned buffer in replay, and by the header-only frame of the
/// simulator. Dropping it returns its memory to the owner.
pub trait Frame: Sized {
    /// The first bytes of the frame, from the destination MAC address on: all of it, or at least
    /// its headers. May be shorter than [`Frame::length`].
    fn headers(&self) -> &[u8];

    /// The same bytes, mutably.
    fn headers_mut(&mut self) -> &mut [u8];

    /// The stored length, without FCS.
    fn length(&self) -> Bytes;

    /// A second frame with the same content, for flooding; `None` if no memory is left.
    fn duplicate(&self) -> Option<Self>;

    /// A second handle to the same content, kept in case the frame is lost; `None` if no memory is left. Where it is the same
    /// memory, neither has headers to change until the other is gone, or [`Frame::make_room`] has made a copy.
    fn share(&mut self) -> Option<Self> {
        self.duplicate()
    }

    /// Makes room for `length` bytes, which may be none, in its headers at `at`, with any content, in memory of its own. Returns
    /// whether there was memory for that.
    fn make_room(&mut self, at: usize, length: usize) -> bool {
        let _ = (at, length);
        false
    }

    /// Takes `length` bytes out of its headers at `at`. Returns whether they were there.
    fn take_out(&mut self, at: usize, length: usize) -> bool {
        let _ = (at, length);
        false
    }

    /// Drops frames that are no longer in the cache, which takes less time for several at once.
    fn drop_all(frames: &mut Vec<Self>) {
        frames.clear();
    }

    /// The memory that belongs to the frame alone: the whole frame, and the space after it. If many short frames
    /// wait, they are packed into such memory. `None` if it cannot be shared, as in simulation, or the frame is in
    /// several pieces: it then waits as it is.
    fn memory(&self) -> Option<&[u8]> {
        None
    }

    /// As [`Frame::memory`], mutably.
    fn memory_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// A frame in memory of the same source, with `parts` in a row as its content; `None` if no memory is left.
    fn gather(&self, parts: [&[u8]; 2]) -> Option<Self> {
        let _ = parts;
        None
    }
}

/// A whole frame in memory of its own, where frames need no pool.
impl Frame for Vec<u8> {
    fn headers(&self) -> &[u8] {
        self
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        self
    }

    fn length(&self) -> Bytes {
        Bytes(self.len() as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn make_room(&mut self, at: usize, length: usize) -> bool {
        let fits = at <= self.len();
        if fits {
            self.splice(at..at, core::iter::repeat_n(0, length));
        }
        fits
    }

    fn take_out(&mut self, at: usize, length: usize) -> bool {
        let fits = at + length <= self.len();
        if fits {
            self.drain(at..at + length);
        }
        fits
    }
}

/// A frame that the switch itself made. It is short and held in place, so making one never allocates or waits for a
/// buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlFrame {
    bytes: [u8; Self::CAPACITY],
    length: u8,
}

impl ControlFrame {
    /// Room for the longest control frame: a direct INT over IPv6 with a VLAN tag takes 130 bytes.
    pub const CAPACITY: usize = 136;

    /// An empty frame of `length` zero bytes, at most [`ControlFrame::CAPACITY`].
    pub const fn zeroed(length: u8) -> Self {
        let length = if length as usize > Self::CAPACITY { Self::CAPACITY as u8 } else { length };
        Self { bytes: [0; Self::CAPACITY], length }
    }

    /// A copy of `frame`, without FCS; `None` if it is longer than [`ControlFrame::CAPACITY`].
    pub fn copy_of(frame: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::CAPACITY];
        bytes.get_mut(..frame.len())?.copy_from_slice(frame);
        Some(Self { bytes, length: frame.len() as u8 })
    }

    /// The frame without FCS.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The frame without FCS, mutably.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.length)]
    }

    /// Its length, without FCS.
    pub fn length(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}

/// Takes frames that leave as soon as they come in, through any port.
pub trait Links<F> {
    /// Whether the link of `port` takes a data frame now.
    fn takes(&self, port: PortId) -> bool;

    /// Takes a data frame that leaves through `port`, with its first bit on the wire at `start`.
    fn frame(&mut self, port: PortId, start: Nanos, frame: F);
}

/// Takes no frame: every frame waits for [`Shard::egress`](crate::Shard::egress).
impl<F> Links<F> for () {
    fn takes(&self, _port: PortId) -> bool {
        false
    }

    fn frame(&mut self, _port: PortId, _start: Nanos, _frame: F) {}
}

/// Takes the frames that leave a port, in their order on the wire.
pub trait Transmitter<F> {
    /// The number of frames that it can still take in this call.
    fn room(&self) -> usize;

    /// Takes a data frame whose first bit is on the wire at `start`.
    fn frame(&mut self, start: Nanos, frame: F);

    /// Takes a control frame, without FCS, whose first bit is on the wire at `start`. Control frames have a pool of their
    /// own and are always taken. One is longer than [`ControlFrame::CAPACITY`] only if it is an LLDPDU: that has
    /// [`wire::lldp::LONGEST_EMITTED`] bytes at most, and leaves once a second at most.
    fn control(&mut self, start: Nanos, frame: &[u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_frame_is_as_long_as_asked_for_and_no_longer_than_there_is_room() {
        for (length, expected) in [(0, 0), (60, 60), (135, 135), (136, 136), (137, 136), (u8::MAX, 136)] {
            let mut frame = ControlFrame::zeroed(length);
            assert_eq!((frame.bytes().len(), frame.length()), (expected, Bytes(expected as u64)));
            frame.bytes_mut().fill(1);
            assert!(frame.bytes().iter().all(|byte| *byte == 1));
            assert_eq!(ControlFrame::copy_of(frame.bytes()), Some(frame));
        }
        assert_eq!(ControlFrame::copy_of(&[1; 137]), None);
    }

    /// A frame of headers alone.
    struct Headers([u8; 60]);

    impl Frame for Headers {
        fn headers(&self) -> &[u8] {
            &self.0
        }

        fn headers_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }

        fn length(&self) -> Bytes {
            Bytes(1_500)
        }

        fn duplicate(&self) -> Option<Self> {
            None
        }
    }

    #[test]
    fn a_frame_shares_no_memory_unless_its_owner_says_how() {
        let mut frame = Headers([0; 60]);
        assert!(frame.memory().is_none() && frame.gather([&[1], &[2]]).is_none());
        assert!(frame.memory_mut().is_none());
    }

    #[test]
    fn room_in_the_headers_moves_what_is_behind_it_and_goes_again() {
        let mut frame = vec![1, 2, 3];
        assert!(frame.make_room(2, 2) && !frame.make_room(6, 1) && !frame.take_out(4, 2));
        assert_eq!((&frame[..2], &frame[4..]), (&[1, 2][..], &[3][..]));
        assert!(frame.take_out(2, 2));
        assert_eq!(frame, [1, 2, 3]);
        let mut fixed = Headers([0; 60]);
        assert!(!fixed.make_room(12, 12) && !fixed.take_out(12, 12), "memory of a fixed size");
    }

    #[test]
    fn nothing_passes_where_there_are_no_links() {
        assert!(!Links::<()>::takes(&(), PortId(0)));
    }
}
