//! Extended transport headers: InfiniBand specification volume 1, sections 9.3 to 9.5.
//!
//! They are small and of fixed length, so each is parsed into a value; there are no views. Only those are here that the
//! switch or a host reads or writes.

use super::bth::{Psn, QueuePair};
use crate::bytes::{checked_head, put, room, u24_at, u32_at, u64_at};
use crate::{BufferTooSmall, ParseError, Protocol};

/// RDMA extended transport header: the memory that an RDMA WRITE or READ accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reth {
    /// Virtual address in the responder's memory.
    pub virtual_address: u64,
    /// Key that authorizes the access.
    pub remote_key: u32,
    /// Length of the whole operation, in bytes.
    pub dma_length: u32,
}

impl Reth {
    /// Bytes of the header.
    pub const LEN: usize = 16;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`Reth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self {
            virtual_address: u64_at(header, 0),
            remote_key: u32_at(header, 8),
            dma_length: u32_at(header, 12),
        })
    }

    /// Writes the header; returns [`Reth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<{ Self::LEN }>(out)?;
        put(out, 0, &self.virtual_address.to_be_bytes());
        put(out, 8, &self.remote_key.to_be_bytes());
        put(out, 12, &self.dma_length.to_be_bytes());
        Ok(Self::LEN)
    }
}

/// Acknowledge extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// Syndrome: kind in bits 6 and 5, credits, timer or error code in the low five.
    pub syndrome: u8,
    /// Message sequence number: the count of completed requests, modulo 2^24. It is not a PSN but wraps like
    /// one.
    pub message_sequence_number: Psn,
}

impl Aeth {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`Aeth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self { syndrome: header[0], message_sequence_number: Psn::from_low_bits(u24_at(header, 1)) })
    }

    /// Whether it is a positive acknowledgement.
    #[inline]
    pub const fn is_positive(self) -> bool {
        self.syndrome >> 5 & 3 == 0b00
    }

    /// Whether the receiver was not ready (RNR NAK).
    #[inline]
    pub const fn is_receiver_not_ready(self) -> bool {
        self.syndrome >> 5 & 3 == 0b01
    }

    /// Whether it is a negative acknowledgement. Code 0, a PSN sequence error, indicates loss.
    #[inline]
    pub const fn is_negative(self) -> bool {
        self.syndrome >> 5 & 3 == 0b11
    }

    /// Whether it is a negative acknowledgement of a request that has not arrived (a PSN sequence error).
    #[inline]
    pub const fn is_sequence_error(self) -> bool {
        self.is_negative() && self.syndrome & 0x1f == 0
    }

    /// Writes the header; returns [`Aeth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<{ Self::LEN }>(out)?;
        let [_, number @ ..] = self.message_sequence_number.number().to_be_bytes();
        put(out, 0, &[self.syndrome]);
        put(out, 1, &number);
        Ok(Self::LEN)
    }
}

/// Datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deth {
    /// Queue key.
    pub queue_key: u32,
    /// The sender's queue pair.
    pub source_qp: QueuePair,
}

impl Deth {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`Deth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self { queue_key: u32_at(header, 0), source_qp: QueuePair::from_low_bits(u24_at(header, 5)) })
    }

    /// Writes the header; returns [`Deth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<{ Self::LEN }>(out)?;
        put(out, 0, &self.queue_key.to_be_bytes());
        put(out, 4, &self.source_qp.number().to_be_bytes());
        Ok(Self::LEN)
    }
}
