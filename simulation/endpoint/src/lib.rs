//! RoCEv2 hosts, sans-IO like the switch: `now` and frames go in, and frames and the next deadline come out.
//!
//! A [`Host`] is a station with one port. It holds queue pairs as sender and receiver, paces and limits its
//! sending by congestion control, obeys PFC, and answers received packets. Frames are real: the caller sees
//! the bytes that a NIC would send.
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

pub use host::{Event, Host, HostCounters, Transmit};
pub use sender::FlowState;
pub use settings::{
    CongestionControl, Connection, Dcqcn, End, FlowId, GoBackN, HostSettings, Hpcc, Irn, NewReno, Station,
    Timely, Transport,
};

#[cfg(test)]
mod tests;
