//! Extended transport headers: InfiniBand specification volume 1, sections 9.3 to 9.5.
//!
//! They are small and of fixed length, so each is parsed into a value; there are no views. The opcode of the
//! BTH determines which of them follow, see [`Headers`].

use super::bth::{Psn, QueuePair};
use super::opcode::Opcode;
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

/// Atomic extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicEth {
    /// Virtual address in the responder's memory.
    pub virtual_address: u64,
    /// Key that authorizes the access.
    pub remote_key: u32,
    /// Value to swap in, or to add.
    pub swap_or_add: u64,
    /// Value to compare with, in a compare-and-swap.
    pub compare: u64,
}

impl AtomicEth {
    /// Bytes of the header.
    pub const LEN: usize = 28;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`AtomicEth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self {
            virtual_address: u64_at(header, 0),
            remote_key: u32_at(header, 8),
            swap_or_add: u64_at(header, 12),
            compare: u64_at(header, 20),
        })
    }

    /// Writes the header; returns [`AtomicEth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<{ Self::LEN }>(out)?;
        put(out, 0, &self.virtual_address.to_be_bytes());
        put(out, 8, &self.remote_key.to_be_bytes());
        put(out, 12, &self.swap_or_add.to_be_bytes());
        put(out, 20, &self.compare.to_be_bytes());
        Ok(Self::LEN)
    }
}

/// Atomic acknowledge extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicAckEth {
    /// The value before the operation.
    pub original: u64,
}

impl AtomicAckEth {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`AtomicAckEth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self { original: u64_at(header, 0) })
    }

    /// Writes the header; returns [`AtomicAckEth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        *room::<{ Self::LEN }>(out)? = self.original.to_be_bytes();
        Ok(Self::LEN)
    }
}

/// Immediate data, delivered in the receiver's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImmDt(pub [u8; 4]);

impl ImmDt {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Reads the data at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`ImmDt::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        checked_head(Protocol::ExtendedTransport, bytes).map(|data| Self(*data))
    }

    /// Writes the data; returns [`ImmDt::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        *room::<{ Self::LEN }>(out)? = self.0;
        Ok(Self::LEN)
    }
}

/// Invalidate extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ieth {
    /// The key to invalidate.
    pub remote_key: u32,
}

impl Ieth {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// Truncated below [`Ieth::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = checked_head::<{ Self::LEN }>(Protocol::ExtendedTransport, bytes)?;
        Ok(Self { remote_key: u32_at(header, 0) })
    }

    /// Writes the header; returns [`Ieth::LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        *room::<{ Self::LEN }>(out)? = self.remote_key.to_be_bytes();
        Ok(Self::LEN)
    }
}

/// The extended headers between a BTH and its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// In datagrams.
    pub deth: Option<Deth>,
    /// In the first or only packet of an RDMA WRITE, and in READ requests.
    pub reth: Option<Reth>,
    /// In atomic operations.
    pub atomic_eth: Option<AtomicEth>,
    /// In acknowledgements, and in READ responses other than middle ones.
    pub aeth: Option<Aeth>,
    /// In acknowledgements of atomic operations.
    pub atomic_ack_eth: Option<AtomicAckEth>,
    /// Immediate data.
    pub immediate: Option<ImmDt>,
    /// In SENDs with invalidate.
    pub ieth: Option<Ieth>,
}

impl Headers {
    /// Parses the headers that `opcode` announces from `bytes`, the payload of the BTH. Returns them and
    /// their length in bytes; an unknown opcode has none.
    ///
    /// # Errors
    /// Truncated, where they are not all there.
    pub fn parse(opcode: Opcode, bytes: &[u8]) -> Result<(Self, usize), ParseError> {
        let mut at = 0;
        // Parses one header, if the opcode has it, and advances past it.
        macro_rules! next {
            ($present:expr, $header:ty) => {
                if $present {
                    let header = <$header>::parse(bytes.get(at..).unwrap_or_default())?;
                    at += <$header>::LEN;
                    Some(header)
                } else {
                    None
                }
            };
        }
        // In wire order.
        let headers = Self {
            deth: next!(opcode.has_deth(), Deth),
            reth: next!(opcode.has_reth(), Reth),
            atomic_eth: next!(opcode.has_atomic_eth(), AtomicEth),
            aeth: next!(opcode.has_aeth(), Aeth),
            atomic_ack_eth: next!(opcode.has_atomic_ack_eth(), AtomicAckEth),
            immediate: next!(opcode.has_immediate(), ImmDt),
            ieth: next!(opcode.has_ieth(), Ieth),
        };
        Ok((headers, at))
    }
}
