//! Hosts against each other.

mod bench;
mod bottleneck;
mod congestion;
mod flows;
mod transports;
