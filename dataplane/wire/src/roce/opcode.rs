//! Operation codes: InfiniBand specification volume 1, section 9.2, "OpCode".

use core::fmt;

/// A BTH operation code: the transport in the high three bits, the operation in the low five.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub u8);

/// Declares each code once, for its constant and for [`Opcode::name`].
macro_rules! opcodes {
    ($($name:ident = $code:literal, $doc:literal;)*) => {
        impl Opcode {
            $(#[doc = $doc] pub const $name: Self = Self($code);)*

            /// The name; `None` for a reserved or vendor code, or a transport that RoCEv2 does not use.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

opcodes! {
    RC_SEND_FIRST = 0x00, "Reliable connection: SEND, first packet.";
    RC_SEND_MIDDLE = 0x01, "Reliable connection: SEND, middle packet.";
    RC_SEND_LAST = 0x02, "Reliable connection: SEND, last packet.";
    RC_SEND_LAST_IMMEDIATE = 0x03, "Reliable connection: SEND, last packet, with immediate data.";
    RC_SEND_ONLY = 0x04, "Reliable connection: SEND, only packet.";
    RC_SEND_ONLY_IMMEDIATE = 0x05, "Reliable connection: SEND, only packet, with immediate data.";
    RC_WRITE_FIRST = 0x06, "Reliable connection: RDMA WRITE, first packet.";
    RC_WRITE_MIDDLE = 0x07, "Reliable connection: RDMA WRITE, middle packet.";
    RC_WRITE_LAST = 0x08, "Reliable connection: RDMA WRITE, last packet.";
    RC_WRITE_LAST_IMMEDIATE = 0x09, "Reliable connection: RDMA WRITE, last packet, with immediate data.";
    RC_WRITE_ONLY = 0x0a, "Reliable connection: RDMA WRITE, only packet.";
    RC_WRITE_ONLY_IMMEDIATE = 0x0b, "Reliable connection: RDMA WRITE, only packet, with immediate data.";
    RC_READ_REQUEST = 0x0c, "Reliable connection: RDMA READ request.";
    RC_READ_RESPONSE_FIRST = 0x0d, "Reliable connection: RDMA READ response, first packet.";
    RC_READ_RESPONSE_MIDDLE = 0x0e, "Reliable connection: RDMA READ response, middle packet.";
    RC_READ_RESPONSE_LAST = 0x0f, "Reliable connection: RDMA READ response, last packet.";
    RC_READ_RESPONSE_ONLY = 0x10, "Reliable connection: RDMA READ response, only packet.";
    RC_ACKNOWLEDGE = 0x11, "Reliable connection: acknowledgement, positive or negative.";
    RC_ATOMIC_ACKNOWLEDGE = 0x12, "Reliable connection: acknowledgement of an atomic operation.";
    RC_COMPARE_SWAP = 0x13, "Reliable connection: atomic compare and swap.";
    RC_FETCH_ADD = 0x14, "Reliable connection: atomic fetch and add.";
    RC_SEND_LAST_INVALIDATE = 0x16, "Reliable connection: SEND, last packet, with invalidate.";
    RC_SEND_ONLY_INVALIDATE = 0x17, "Reliable connection: SEND, only packet, with invalidate.";
    UC_SEND_FIRST = 0x20, "Unreliable connection: SEND, first packet.";
    UC_SEND_MIDDLE = 0x21, "Unreliable connection: SEND, middle packet.";
    UC_SEND_LAST = 0x22, "Unreliable connection: SEND, last packet.";
    UC_SEND_LAST_IMMEDIATE = 0x23, "Unreliable connection: SEND, last packet, with immediate data.";
    UC_SEND_ONLY = 0x24, "Unreliable connection: SEND, only packet.";
    UC_SEND_ONLY_IMMEDIATE = 0x25, "Unreliable connection: SEND, only packet, with immediate data.";
    UC_WRITE_FIRST = 0x26, "Unreliable connection: RDMA WRITE, first packet.";
    UC_WRITE_MIDDLE = 0x27, "Unreliable connection: RDMA WRITE, middle packet.";
    UC_WRITE_LAST = 0x28, "Unreliable connection: RDMA WRITE, last packet.";
    UC_WRITE_LAST_IMMEDIATE = 0x29, "Unreliable connection: RDMA WRITE, last packet, with immediate data.";
    UC_WRITE_ONLY = 0x2a, "Unreliable connection: RDMA WRITE, only packet.";
    UC_WRITE_ONLY_IMMEDIATE = 0x2b, "Unreliable connection: RDMA WRITE, only packet, with immediate data.";
    UD_SEND_ONLY = 0x64, "Unreliable datagram: SEND.";
    UD_SEND_ONLY_IMMEDIATE = 0x65, "Unreliable datagram: SEND with immediate data.";
    CNP = 0x81, "Congestion notification packet (annex A17).";
}

/// The transport of an operation: the high three bits of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// 000: reliable connection.
    ReliableConnection,
    /// 001: unreliable connection.
    UnreliableConnection,
    /// 010: reliable datagram.
    ReliableDatagram,
    /// 011: unreliable datagram.
    UnreliableDatagram,
    /// 100: congestion notification.
    CongestionNotification,
    /// 101: extended reliable connection.
    ExtendedReliableConnection,
    /// 110 and 111: manufacturer-specific.
    Manufacturer,
}

impl Opcode {
    /// Direct in-band telemetry ([`direct_int`](super::direct_int)). It is our own, in the range that the specification leaves
    /// to manufacturers, and so has no name.
    pub const DIRECT_INT: Self = Self(0xc1);

    /// The transport of the operation.
    #[inline]
    pub const fn transport(self) -> Transport {
        match self.0 >> 5 {
            0 => Transport::ReliableConnection,
            1 => Transport::UnreliableConnection,
            2 => Transport::ReliableDatagram,
            3 => Transport::UnreliableDatagram,
            4 => Transport::CongestionNotification,
            5 => Transport::ExtendedReliableConnection,
            _ => Transport::Manufacturer,
        }
    }

    /// Whether it is a congestion notification.
    #[inline]
    pub const fn is_cnp(self) -> bool {
        self.0 == Self::CNP.0
    }

    /// Whether it is an RDMA READ request.
    #[inline]
    pub const fn is_read_request(self) -> bool {
        matches!(self, Self::RC_READ_REQUEST)
    }

    /// Whether it is an RDMA READ response.
    #[inline]
    pub const fn is_read_response(self) -> bool {
        matches!(self.0, 0x0d..=0x10)
    }

    /// Whether a responder sends it: acknowledgements and READ responses. The destination queue pair is the
    /// requester's, and the PSN repeats one of the requester's.
    #[inline]
    pub const fn is_response(self) -> bool {
        matches!(self.0, 0x0d..=0x12)
    }

    /// Whether it is a SEND, of any transport that RoCEv2 uses.
    #[inline]
    pub const fn is_send(self) -> bool {
        matches!(self.0, 0x00..=0x05 | 0x16 | 0x17 | 0x20..=0x25 | 0x64 | 0x65)
    }

    /// Whether it is an RDMA WRITE.
    #[inline]
    pub const fn is_write(self) -> bool {
        matches!(self.0, 0x06..=0x0b | 0x26..=0x2b)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:#04x}", self.0),
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
