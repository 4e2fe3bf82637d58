//! Tests between two hosts.

mod bench;
mod bottleneck;
mod congestion;
mod direct_int;
mod flows;
mod transports;
