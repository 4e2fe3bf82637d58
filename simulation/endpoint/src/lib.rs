//! RoCEv2 hosts, sans-IO like the switch: `now` comes in, frames come in, frames and the next deadline
//! go out.
//!
//! A [`Host`] is a station with one port: it keeps both ends of its queue pairs, paces and windows what it
//! sends as its congestion control says, obeys PFC, and answers what it receives. Frames are real: whoever
//! drives a host sees the bytes that a NIC would send.
//!
//! | call | what happens |
//! |---|---|
//! | [`Host::connect`] | both ends of a flow are opened |
//! | [`Host::ingress`] | a frame that arrived is parsed and acted upon |
//! | [`Host::egress`] | frames whose turn on the wire has come are given out |
//! | [`Host::next_deadline`] | when to call again if nothing arrives |
//! | [`Host::take_event`] | what happened to flows since |
//! | [`Host::close`] | the receiving end of a flow is closed, when its sender is done |

mod control;
mod host;
mod pacer;
mod packet;
mod receiver;
mod sender;
mod settings;
mod transport;

pub use host::{Event, FlowState, Host, HostCounters, Transmit};
pub use packet::data_length;
pub use settings::{
    CongestionControl, Connection, Dcqcn, End, FlowId, GoBackN, HostSettings, Hpcc, Irn, NewReno, Station,
    Timely, Transport,
};

#[cfg(test)]
mod tests;
