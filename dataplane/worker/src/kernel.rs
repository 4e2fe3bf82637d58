//! Frames to and from the kernel, in bounded rings.
//!
//! Frames are copied, as for a [capture](crate::Tap), so that a kernel that is slow holds no memory of a device. All buffers are
//! made at the start.

use crate::ring::{Consumer, Producer, ring};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use switch::Punt;
use units::{PortId, PortSet};

/// The most frames of the kernel that a worker takes in a turn.
pub(crate) const PER_TURN: usize = 8;
/// Frames that wait in each direction.
const BUFFERS: usize = 512;

/// A copied frame.
#[derive(Debug)]
pub struct KernelFrame {
    /// The port through which it came or leaves: in a bundle, the first member.
    pub port: PortId,
    /// Why the kernel gets it.
    pub class: Punt,
    /// The whole frame, without FCS.
    pub bytes: Vec<u8>,
}

/// The end of a ring that fills buffers.
struct Filler {
    full: Producer<KernelFrame>,
    empty: Consumer<KernelFrame>,
    /// A buffer that was not filled.
    spare: Option<KernelFrame>,
}

/// The end that empties them.
struct Emptier {
    full: Consumer<KernelFrame>,
    empty: Producer<KernelFrame>,
}

/// A ring of buffers for frames of `longest` bytes.
fn buffers(longest: usize) -> (Filler, Emptier) {
    let (full, filled) = ring(BUFFERS);
    let (mut emptied, empty) = ring(BUFFERS);
    for _ in 0..BUFFERS {
        let bytes = Vec::with_capacity(longest);
        // There is room for all of them.
        let _ = emptied.push(KernelFrame { port: PortId(0), class: Punt::Other, bytes });
    }
    (Filler { full, empty, spare: None }, Emptier { full: filled, empty: emptied })
}

impl Filler {
    /// Lets `fill` put a frame into an empty buffer, and sends it if it says so. Returns whether there was a buffer.
    fn fill(&mut self, port: PortId, class: Punt, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let Some(mut frame) = self.spare.take().or_else(|| self.empty.pop()) else { return false };
        frame.bytes.clear();
        (frame.port, frame.class) = (port, class);
        match fill(&mut frame.bytes) {
            // Both rings have room for all buffers.
            true => drop(self.full.push(frame)),
            false => self.spare = Some(frame),
        }
        true
    }
}

impl Emptier {
    fn read<T>(&mut self, read: impl FnOnce(&KernelFrame) -> T) -> Option<T> {
        let frame = self.full.pop()?;
        let result = read(&frame);
        let _ = self.empty.push(frame);
        Some(result)
    }
}

/// The worker's end.
pub struct KernelPort {
    inward: Filler,
    outward: Emptier,
    carrying: PortSet,
    told: Arc<[AtomicBool]>,
}

impl fmt::Debug for KernelPort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KernelPort").field("carrying", &self.carrying).finish_non_exhaustive()
    }
}

/// The kernel's end.
pub struct KernelRings {
    inward: Emptier,
    outward: Filler,
    carrying: Arc<[AtomicBool]>,
}

/// Both ends, for a switch of `ports` ports with frames of up to `longest` bytes.
pub fn kernel_rings(ports: usize, longest: usize) -> (KernelPort, KernelRings) {
    let ((to_kernel, inward), (outward, from_kernel)) = (buffers(longest), buffers(longest));
    let carrying: Arc<[AtomicBool]> = (0..ports).map(|_| AtomicBool::new(false)).collect();
    let port = KernelPort {
        inward: to_kernel,
        outward: from_kernel,
        carrying: PortSet::EMPTY,
        told: carrying.clone(),
    };
    (port, KernelRings { inward, outward, carrying })
}

impl KernelPort {
    /// Copies a frame to the kernel; `false` if that is behind.
    pub(crate) fn give(&mut self, port: PortId, class: Punt, bytes: &[u8]) -> bool {
        let mut fits = false;
        let copy = |buffer: &mut Vec<u8>| {
            fits = bytes.len() <= buffer.capacity();
            if fits {
                buffer.extend_from_slice(bytes);
            }
            fits
        };
        self.inward.fill(port, class, copy) && fits
    }

    /// Gives the next frame of the kernel to `read`, if there is one.
    pub(crate) fn take(&mut self, read: impl FnOnce(&KernelFrame)) -> bool {
        self.outward.read(read).is_some()
    }

    /// Tells the kernel which ports carry data, if that has changed.
    pub(crate) fn tell(&mut self, carrying: PortSet) {
        if carrying != self.carrying {
            self.carrying = carrying;
            for (port, told) in (0..).map(PortId).zip(self.told.iter()) {
                told.store(carrying.contains(port), Ordering::Relaxed);
            }
        }
    }
}

impl KernelRings {
    /// Gives the oldest frame for the kernel to `read`, if there is one. Returns what `read` does.
    pub fn read<T>(&mut self, read: impl FnOnce(&KernelFrame) -> T) -> Option<T> {
        self.inward.read(read)
    }

    /// Lets `fill` put a frame that is to leave through `port` into an empty buffer, within its capacity, and sends it if it
    /// says so. Returns whether there was a buffer: if not, the worker is behind.
    pub fn send(&mut self, port: PortId, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        self.outward.fill(port, Punt::Other, fill)
    }

    /// The ports that carry data.
    pub fn carrying(&self) -> PortSet {
        let ports = (0..).map(PortId).zip(self.carrying.iter());
        ports.filter(|(_, carries)| carries.load(Ordering::Relaxed)).map(|(port, _)| port).collect()
    }
}
