//! The settings of a port.

use units::Bytes;

use crate::Pool;
use switch::lanes::PairHash;

/// The settings of [`crate::Port::configure`].
#[derive(Clone, Debug)]
pub struct PortSettings<'a> {
    /// The pool of received frames.
    pub pool: &'a Pool,
    /// Pairs of a receive queue and a transmit queue for data; at most [`PortSettings::MOST_QUEUES`].
    pub queues: u16,
    /// The hash by which a device spreads received frames over several queues, if it takes one.
    pub hash: PairHash,
    /// Descriptors of each receive queue; the device may round or limit them.
    pub rx_descriptors: u16,
    /// Descriptors of each transmit queue; the device may round or limit them.
    pub tx_descriptors: u16,
    /// Whether control frames should have their own transmit queue, if the device has one.
    pub control_queue: bool,
    /// The longest frame, without FCS.
    pub frame_max: Bytes,
    /// Whether to receive all frames, or only those to the port's own address and to groups.
    pub promiscuous: bool,
}

impl<'a> PortSettings<'a> {
    /// The most pairs of queues that a port may have.
    pub const MOST_QUEUES: u16 = 16;

    /// One pair of queues, 1024 descriptors each way, a control queue, frames of up to 9216 bytes, promiscuous.
    pub fn new(pool: &'a Pool) -> Self {
        Self {
            pool,
            queues: 1,
            hash: PairHash::default(),
            rx_descriptors: 1_024,
            tx_descriptors: 1_024,
            control_queue: true,
            frame_max: Bytes(9_216),
            promiscuous: true,
        }
    }
}
