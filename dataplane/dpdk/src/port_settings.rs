//! How a port is to be.

use units::Bytes;

use crate::Pool;

/// What [`crate::Port::configure`] is told.
#[derive(Clone, Debug)]
pub struct PortSettings<'a> {
    /// Where received frames go.
    pub pool: &'a Pool,
    /// Descriptors of the receive queue; the device may round or bound them.
    pub rx_descriptors: u16,
    /// Descriptors of each transmit queue; the device may round or bound them.
    pub tx_descriptors: u16,
    /// Whether control frames are to have a transmit queue of their own, where the device has one.
    pub control_queue: bool,
    /// The longest frame, without FCS.
    pub frame_max: Bytes,
    /// Whether all frames are received, or only those to the port's own address and to groups.
    pub promiscuous: bool,
}

impl<'a> PortSettings<'a> {
    /// 1024 descriptors each way, a control queue, frames of up to 9216 bytes, promiscuous.
    pub fn new(pool: &'a Pool) -> Self {
        Self {
            pool,
            rx_descriptors: 1_024,
            tx_descriptors: 1_024,
            control_queue: true,
            frame_max: Bytes(9_216),
            promiscuous: true,
        }
    }
}
