//! Frame formats: one file per protocol, each with a checked view and a value.
//!
//! A *view* (`View<T>`) reads bytes in place. [`parse`](ethernet::View::parse) checks everything that the
//! protocol fixes once: lengths, versions, and the fields that locate the next header. After that, accessors
//! read at fixed offsets and cannot fail, and setters write in place if the bytes are mutable. A *value*
//! (`Header`, `Packet`, `Frame`) is the same header as an owned struct; `emit` writes it into the caller's
//! buffer and returns its length.
//!
//! The crate does not allocate, read a clock, do I/O or panic, whatever the bytes.
//!
//! Some frames are only partly in memory: the simulator carries headers and a length, and a long mbuf is a
//! chain. For these, views whose header states a length have `parse_head` beside `parse`. It takes the length
//! on the wire, and the payload is the part that is present.

pub mod arp;
pub mod bfd;
mod bytes;
pub mod checksum;
mod error;
pub mod ethernet;
pub mod grants;
pub mod icmpv4;
pub mod icmpv6;
pub mod int;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod lldp;
pub mod mac_control;
pub mod pause;
pub mod pfc;
pub mod ptp;
pub mod rate_feedback;
pub mod repair;
pub mod roce;
pub mod tcp;
pub mod udp;
pub mod vlan;

pub use error::{BufferTooSmall, ParseError, Protocol};

#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
