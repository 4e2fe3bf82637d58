//! The shared parts of the end-to-end tests in `tests/`: a bench around the switch core that behaves like a
//! driver, frames, settings, neighbours that obey PFC, whole networks in virtual time, and the check that nothing
//! is lost.

pub mod bench;
pub mod capture;
pub mod connection;
pub mod conservation;
pub mod flow;
pub mod frame;
pub mod lanes;
pub mod long_haul;
pub mod model;
pub mod network;
pub mod peer;
pub mod settings;
pub mod simulated;
pub mod two_gateways;

pub use bench::{Sent, Testbench};
pub use capture::SharedCapture;
pub use connection::Connection;
pub use flow::Flow;
pub use frame::TestFrame;
pub use lanes::Lanes;
pub use network::Network;
pub use peer::Peer;

use units::{Bytes, Cells, PortId, Priority};

/// The bytes of the buffer that a frame of `length` bytes costs: 1,024 for one of 1,000.
pub const fn cost(length: u64) -> u64 {
    Cells::of_frame(Bytes(length)).bytes().0
}

/// Port 0: where most tests let frames in.
pub const A: PortId = PortId(0);
/// Port 1: where most tests let them out.
pub const B: PortId = PortId(1);
/// Port 2.
pub const C: PortId = PortId(2);
/// Port 3.
pub const D: PortId = PortId(3);

/// Priority 1: lossy in the settings here.
pub const P1: Priority = Priority::from_low_bits(1);
/// Priority 3: lossless in the settings here.
pub const P3: Priority = Priority::from_low_bits(3);
/// Priority 4: lossless in the settings here.
pub const P4: Priority = Priority::from_low_bits(4);
