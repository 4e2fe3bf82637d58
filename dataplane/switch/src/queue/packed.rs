//! Short frames packed into the memory of a few.
//!
//! A device receives each frame into memory for the longest frame. If many short frames wait, nearly all of that
//! memory is unused, so they are packed: the memory of one frame becomes a *chunk*, which the frames behind it
//! fill. A packed frame takes as many cells as it was charged: one for its label, and whole cells for its bytes. If
//! the rest of a chunk is too short, the frame continues at the start of the next. So packed frames waste memory
//! only at the ends of their queue, whatever the order of lengths.

use super::chains::{Chain, Chains};
use super::{Charge, Queued};
use crate::frame::Frame;
use serde::{Deserialize, Serialize};
use units::{Cells, Nanos, PortId, QueueId};

/// Bytes of a cell.
const CELL: usize = Cells::SIZE as usize;

/// The packed frames of one queue.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Packed {
    chunks: Chain,
    /// Offset up to which the first chunk has been emptied.
    read: usize,
    /// Offset up to which the last chunk is filled.
    write: usize,
    frames: u32,
}

/// The data kept with the bytes of a packed frame: one cell.
type Label = Queued<()>;

impl Label {
    fn emit(self) -> [u8; CELL] {
        let (since, length) = (self.since.0.to_le_bytes(), self.length.to_le_bytes());
        let (charge, egress) = (self.charge.0.to_le_bytes(), self.egress.0.to_le_bytes());
        let mut cell = [0; CELL];
        let last = [self.queue.number(), self.ip_offset];
        let fields = since.into_iter().chain(length).chain(charge).chain(egress).chain(last);
        cell.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        cell
    }

    fn parse(cell: [u8; CELL]) -> Self {
        let [a, b, c, d, e, f, g, h, length_low, length_high, rest @ ..] = cell;
        let [charge_low, charge_high, egress_low, egress_high, queue, ip_offset] = rest;
        Self {
            frame: (),
            since: Nanos(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            length: u16::from_le_bytes([length_low, length_high]),
            charge: Charge(u16::from_le_bytes([charge_low, charge_high])),
            egress: PortId(u16::from_le_bytes([egress_low, egress_high])),
            queue: QueueId::from_low_bits(queue),
            ip_offset,
        }
    }

    /// Bytes that the frame takes, label included.
    fn size(self) -> usize {
        Cells::of_frame(self.length()).bytes().0 as usize
    }
}

/// The cells of a chunk, as bytes.
fn cells<F: Frame>(chunk: &F) -> &[u8] {
    let memory = chunk.memory().unwrap_or_default();
    &memory[..memory.len() / CELL * CELL]
}

impl Packed {
    /// The number of frames.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Packs a frame behind the others, or returns it if its memory cannot hold it with its label.
    pub fn push<F: Frame>(&mut self, chunks: &mut Chains<F>, queued: Queued<F>) -> Result<(), Queued<F>> {
        let (label, length) = (queued.with_frame(()), usize::from(queued.length));
        if cells(&queued.frame).len() < label.size() {
            return Err(queued);
        }
        let mut own = queued.frame;
        let content = own.memory().unwrap_or_default();
        let room = chunks.back_mut(&self.chunks).and_then(F::memory_mut).unwrap_or_default();
        let end = room.len() / CELL * CELL;
        let room = &mut room[self.write.min(end)..end];
        self.frames += 1;
        // Bytes of the frame that fit behind the others; all of them if its own memory is not needed.
        let there = room.len().saturating_sub(CELL).min(length);
        if let Some((cell, bytes)) = room.split_first_chunk_mut() {
            *cell = label.emit();
            bytes[..there].copy_from_slice(&content[..there]);
            if there == length {
                self.write += label.size();
                return Ok(());
            }
            Self::move_within(&mut own, there..length, 0);
            self.write = (length - there).next_multiple_of(CELL);
        } else {
            Self::move_within(&mut own, 0..length, CELL);
            if let Some(cell) = own.memory_mut().and_then(|memory| memory.first_chunk_mut()) {
                *cell = label.emit();
            }
            self.write = label.size();
        }
        chunks.push(&mut self.chunks, own);
        Ok(())
    }

    fn move_within<F: Frame>(frame: &mut F, from: core::ops::Range<usize>, to: usize) {
        if let Some(memory) = frame.memory_mut() {
            memory.copy_within(from, to);
        }
    }

    /// The label of the first frame.
    pub fn front<F: Frame>(&self, chunks: &Chains<F>) -> Option<Label> {
        let first = cells(chunks.front(&self.chunks)?);
        first.get(self.read..)?.first_chunk().copied().map(Label::parse)
    }

    /// Takes the first frame, in memory of its own again; `None` if there is no frame, or no memory for it now.
    pub fn pop<F: Frame>(&mut self, chunks: &mut Chains<F>) -> Option<Queued<F>> {
        let label = self.front(chunks)?;
        let chunk = chunks.front(&self.chunks)?;
        let (bytes, length) = (&cells(chunk)[self.read + CELL..], usize::from(label.length));
        let here = bytes.len().min(length);
        let rest = match length - here {
            0 => &[],
            rest => cells(chunks.second(&self.chunks)?).get(..rest)?,
        };
        let frame = chunk.gather([&bytes[..here], rest])?;
        let end = cells(chunk).len();
        self.read += label.size();
        self.frames -= 1;
        if self.read >= end || self.frames == 0 {
            chunks.pop(&mut self.chunks);
            self.read = self.read.saturating_sub(end);
        }
        if self.frames == 0 {
            // If the last frame spanned two chunks, the second is still there.
            chunks.pop(&mut self.chunks);
            (self.read, self.write) = (0, 0);
        }
        Some(label.with_frame(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    #[test]
    fn a_label_says_what_was_written_on_it() {
        let label = Label {
            frame: (),
            since: Nanos(0x0123_4567_89ab_cdef),
            length: 9_216,
            charge: Charge::new(PortId(63), Priority::from_low_bits(6), true),
            egress: PortId(258),
            queue: QueueId::from_low_bits(61),
            ip_offset: 22,
        };
        assert_eq!(Label::parse(label.emit()), label);
        let charge = label.charge;
        assert_eq!((charge.ingress(), charge.group().number(), charge.is_lossless()), (PortId(63), 6, true));
        let charge = Charge::new(PortId(0), Priority::from_low_bits(0), false);
        let lossy = Label { charge, ..label };
        assert_eq!(Label::parse(lossy.emit()), lossy);
    }
}
