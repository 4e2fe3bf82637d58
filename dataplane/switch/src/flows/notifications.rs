//! Control frames of schemes to senders, while they wait for a link.

use crate::frame::ControlFrame;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Bytes;
use wire::ethernet::MacAddress;
use wire::roce::{cnp, direct_int};

/// The notifications that can wait at a port.
const CAPACITY: usize = 128;

/// A control frame to a sender. It is kept in few words, and written when it leaves. Another kind of frame is another
/// variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notification {
    /// A congestion notification packet.
    Cnp(cnp::Frame),
    /// Direct in-band telemetry.
    Int(direct_int::Frame),
}

// Two cache lines.
const _: () = assert!(size_of::<Notification>() <= 120);

impl Notification {
    /// Bytes of the frame.
    pub const fn length(&self) -> Bytes {
        match self {
            Self::Cnp(frame) => Bytes(frame.length() as u64),
            Self::Int(frame) => Bytes(frame.length() as u64),
        }
    }

    /// The receiving host.
    pub fn receiver(&self) -> IpAddr {
        let way = match self {
            Self::Cnp(frame) => frame,
            Self::Int(frame) => &frame.way,
        };
        match way.addresses {
            cnp::Addresses::V4 { destination, .. } => destination.into(),
            cnp::Addresses::V6 { destination, .. } => destination.into(),
        }
    }

    /// The notification with the MAC addresses of another link.
    #[must_use]
    pub const fn readdressed(self, source_mac: MacAddress, destination_mac: MacAddress) -> Self {
        match self {
            Self::Cnp(frame) => Self::Cnp(cnp::Frame { source_mac, destination_mac, ..frame }),
            Self::Int(frame) => {
                let way = cnp::Frame { source_mac, destination_mac, ..frame.way };
                Self::Int(direct_int::Frame { way, ..frame })
            }
        }
    }

    /// The frame; `None` if it is longer than any control frame.
    pub fn frame(&self) -> Option<ControlFrame> {
        let mut control = ControlFrame::zeroed(u8::try_from(self.length().0).ok()?);
        match self {
            Self::Cnp(frame) => frame.emit(control.bytes_mut()).ok()?,
            Self::Int(frame) => frame.emit(control.bytes_mut()).ok()?,
        };
        Some(control)
    }
}

/// The fate of a notification that a scheme offers to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Taken,
    /// There is no room; the port calls when it has some.
    Full,
    /// There is no way to the sender.
    Unreachable,
}

/// The notifications of one port. They have their own store and leave before data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notifications(VecDeque<Notification>);

impl Notifications {
    pub fn new() -> Self {
        Self(VecDeque::with_capacity(CAPACITY))
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one; `false` if there is no room.
    pub fn push(&mut self, notification: Notification) -> bool {
        let room = self.0.len() < CAPACITY;
        if room {
            self.0.push_back(notification);
        }
        room
    }

    pub fn pop(&mut self) -> Option<Notification> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ip::{Dscp, Ecn};
    use wire::roce::QueuePair;

    const CNP: cnp::Frame = cnp::Frame {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        tag: None,
        addresses: cnp::Addresses::V4 {
            source: core::net::Ipv4Addr::new(10, 0, 0, 2),
            destination: core::net::Ipv4Addr::new(10, 0, 0, 1),
            identification: 7,
        },
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        ttl: 64,
        source_port: 0,
        destination_qp: QueuePair::from_low_bits(0x10),
    };

    fn numbered(source_port: u16) -> Notification {
        Notification::Cnp(cnp::Frame { source_port, ..CNP })
    }

    #[test]
    fn as_many_notifications_as_there_is_room_for_leave_in_their_order() {
        let mut waiting = Notifications::new();
        assert!((0..128).all(|number| waiting.push(numbered(number))));
        assert!(!waiting.push(numbered(128)) && !waiting.is_empty());
        for number in 0..128 {
            assert_eq!(waiting.pop(), Some(numbered(number)));
        }
        assert_eq!((waiting.pop(), waiting.is_empty()), (None, true));
    }

    #[test]
    fn a_notification_on_another_link_differs_in_its_mac_addresses_alone() {
        let [source_mac, destination_mac] = [3, 4].map(|station| MacAddress([2, 0, 0, 0, 0, station]));
        let there = Notification::Cnp(CNP).readdressed(source_mac, destination_mac);
        assert_eq!(there, Notification::Cnp(cnp::Frame { source_mac, destination_mac, ..CNP }));
        let mut bytes = [0; 74];
        cnp::Frame { source_mac, destination_mac, ..CNP }.emit(&mut bytes).unwrap();
        let frame = there.frame().unwrap();
        assert_eq!((frame.bytes(), there.length()), (&bytes[..], Bytes(74)));
    }
}
