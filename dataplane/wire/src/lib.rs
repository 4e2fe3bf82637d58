//! Frame formats: one file per protocol, a checked view beside a value.
//!
//! A *view* (`View<T>`) lies over bytes that stay where they are. [`parse`](ethernet::View::parse)
//! checks once what the protocol fixes: lengths, versions, the fields that say where the next
//! header starts. After that every accessor reads at a fixed offset and cannot fail, and setters
//! write in place where the bytes are mutable. A *value* (`Header`, `Packet`, `Frame`) is the same
//! header as an owned struct; `emit` writes it into the caller's buffer and returns its length.
//!
//! Nothing here allocates, reads a clock, does I/O or panics on any bytes.
//!
//! Some frames come with fewer bytes in hand than they had on the wire: the simulator carries
//! headers and a length, and a long mbuf is a chain. The views whose header states a length have
//! `parse_head` beside `parse` for that: it takes the length on the wire, and the payload is what
//! is there of it.

pub mod arp;
mod bytes;
pub mod checksum;
mod error;
pub mod ethernet;
pub mod icmpv4;
pub mod icmpv6;
pub mod int;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod mac_control;
pub mod pause;
pub mod pfc;
pub mod rate_feedback;
pub mod roce;
pub mod tcp;
pub mod udp;
pub mod vlan;

pub use error::{BufferTooSmall, ParseError, Protocol};

#[cfg(test)]
mod testing;
