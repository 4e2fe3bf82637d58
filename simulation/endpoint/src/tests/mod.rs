//! Tests between two hosts.

mod bench;
mod bottleneck;
mod congestion;
mod flows;
mod transports;
