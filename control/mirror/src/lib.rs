//! The routes and neighbours of a kernel, as its netlink messages tell them.
//!
//! [`netlink`] reads messages and writes requests; a [`Mirror`] keeps what they say and makes the routes of the switch of it.
//! Neither does I/O: the caller carries the bytes. A netlink library would do, but those we know lack next hop objects, which
//! FRR uses.

mod mirror;
pub mod netlink;

pub use mirror::{Beyond, Mirror, NEIGHBOURS_MAX, ROUTES_MAX, Tap};
