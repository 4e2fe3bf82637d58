//! Hosts against each other.

mod bench;
mod flows;
