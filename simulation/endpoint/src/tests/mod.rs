//! Hosts against each other.

mod bench;
mod congestion;
mod flows;
