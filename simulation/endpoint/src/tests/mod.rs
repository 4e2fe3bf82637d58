//! Tests between two hosts.

mod bench;
mod bottleneck;
mod congestion;
mod connections;
mod direct_int;
mod flows;
mod ipv6;
mod transports;
