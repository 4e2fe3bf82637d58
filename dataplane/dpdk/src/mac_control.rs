//! MAC control frames that the kernel's driver of an interface has received, by ethtool's netlink messages: those that a card
//! counts whose driver in DPDK does not tell.
//!
//! The numbers are those of linux/genetlink.h and linux/ethtool_netlink.h. Linux has the messages since 5.13.

use core::sync::atomic::{AtomicU32, Ordering};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// The bytes in front of the attributes of a message: its own header, and that of generic netlink.
const HEADERS: usize = 16 + 4;
/// The most bytes of an answer. Longer ones are cut.
const LONGEST: usize = 8_192;
/// The type of a message in which the kernel refuses another one.
const REFUSED: u16 = 2;
/// A message that asks for something.
const IS_REQUEST: u16 = 1;
/// An attribute that consists of attributes.
const NESTED: u16 = 0x8000;

/// The family that knows all families, its command to find one, and the attributes of number and name.
const FAMILIES: u16 = 0x10;
const FIND_FAMILY: u8 = 3;
const FAMILY_NUMBER: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// The command of ethtool for statistics, and attributes of its request: interface, and groups as a set of bits.
const STATISTICS: u8 = 32;
const INTERFACE: u16 = 2;
const INTERFACE_NUMBER: u16 = 1;
const GROUPS: u16 = 3;
const BITS_WITHOUT_MASK: u16 = 1;
const BITS_SIZE: u16 = 2;
const BITS_VALUE: u16 = 4;
/// Attributes of the answer: a group, and a statistic in it.
const GROUP: u16 = 4;
const STATISTIC: u16 = 4;
/// The bit of the group of MAC control, and the statistic `aMACControlFramesReceived` (IEEE 802.3 clause 30.3.3.4) in it.
const CONTROL_GROUP: u32 = 2;
const RECEIVED: u16 = 1;

/// The counter of an interface.
#[derive(Debug)]
pub(crate) struct MacControl {
    socket: OwnedFd,
    family: u16,
    interface: u32,
    /// The number of the last request.
    requests: AtomicU32,
}

impl MacControl {
    /// That of the interface with this number; `None` if the kernel has none.
    pub(crate) fn of(interface: u32) -> Option<Self> {
        let (kind, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let generic = Some(netlink::GENERIC);
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, generic).ok()?;
        let mut counter = Self { socket, family: FAMILIES, interface, requests: AtomicU32::new(0) };
        let families = counter.ask(FIND_FAMILY, &attribute(FAMILY_NAME, b"ethtool\0"))?;
        let number = attributes(&families).find(|(kind, _)| *kind == FAMILY_NUMBER)?.1;
        counter.family = u16::from_ne_bytes(number.get(..2)?.try_into().ok()?);
        counter.received().is_some().then_some(counter)
    }

    /// The MAC control frames that have come in; `None` if the kernel does not tell.
    pub(crate) fn received(&self) -> Option<u64> {
        let interface = attribute(INTERFACE_NUMBER, &self.interface.to_ne_bytes());
        let groups = [
            attribute(BITS_WITHOUT_MASK, &[]),
            attribute(BITS_SIZE, &(CONTROL_GROUP + 1).to_ne_bytes()),
            attribute(BITS_VALUE, &(1_u32 << CONTROL_GROUP).to_ne_bytes()),
        ];
        let wanted =
            [attribute(INTERFACE | NESTED, &interface), attribute(GROUPS | NESTED, &groups.concat())];
        received_in(&self.ask(STATISTICS, &wanted.concat())?)
    }

    /// The attributes of the kernel's answer. It answers before the request returns.
    fn ask(&self, command: u8, attributes: &[u8]) -> Option<Vec<u8>> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let request = request(self.family, command, number, attributes);
        rustix::net::send(&self.socket, &request, SendFlags::empty()).ok()?;
        let mut answer = vec![0; LONGEST];
        loop {
            let (_, length) = rustix::net::recv(&self.socket, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
            let (kind, about, attributes) = parts(answer.get(..length)?)?;
            // The answer to a request that failed before may still be there.
            if about == number {
                return (kind == self.family).then(|| attributes.to_vec());
            }
        }
    }
}

fn request(family: u16, command: u8, number: u32, attributes: &[u8]) -> Vec<u8> {
    let length = (HEADERS + attributes.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(family.to_ne_bytes().into_iter().chain(IS_REQUEST.to_ne_bytes()));
    // The kernel fills in who asks.
    message.extend(number.to_ne_bytes().into_iter().chain([0; 4]));
    // Of all commands used here, this is the first version.
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    message
}

/// An attribute, padded to the next one.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (4 + value.len()) as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The type, the number and the attributes of an answer; `None` if it is cut, or a refusal.
fn parts(message: &[u8]) -> Option<(u16, u32, &[u8])> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let number = u32::from_ne_bytes(message.get(8..12)?.try_into().ok()?);
    if kind == REFUSED {
        return None;
    }
    Some((kind, number, message.get(HEADERS..)?))
}

/// The kinds and the values of attributes, up to one that is cut.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    core::iter::from_fn(move || {
        let (head, _) = bytes.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = bytes.get(4..length)?;
        let kind = u16::from_ne_bytes([head[2], head[3]]) & !NESTED;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The counter in the attributes of an answer about the group of MAC control.
fn received_in(answer: &[u8]) -> Option<u64> {
    let groups = attributes(answer).filter(|(kind, _)| *kind == GROUP);
    let all = groups.flat_map(|(_, group)| attributes(group)).filter(|(kind, _)| *kind == STATISTIC);
    let (_, value) = all.flat_map(|(_, one)| attributes(one)).find(|(kind, _)| *kind == RECEIVED)?;
    Some(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of Linux 6.18 about the interface `lo`, whose driver has no such counter.
    const OF_LOOPBACK: &[u8] = b"\x14\x00\x02\x80\x08\x00\x01\x00\x01\x00\x00\x00\x07\x00\x02\x00lo\x00\x00\
        \x08\x00\x05\x00\x00\x00\x00\x00\x14\x00\x04\x80\x08\x00\x02\x00\x02\x00\x00\x00\x08\x00\x03\x00\x13\x00\x00\x00";

    #[cfg(target_endian = "little")]
    #[test]
    fn an_answer_without_the_counter_has_none_and_one_with_it_has_its_value() {
        assert_eq!(received_in(OF_LOOPBACK), None);
        let statistic =
            |kind, value: u64| attribute(STATISTIC | NESTED, &attribute(kind, &value.to_ne_bytes()));
        let group =
            [attribute(2, &CONTROL_GROUP.to_ne_bytes()), statistic(0, 7), statistic(RECEIVED, 1 << 40)];
        let answer = [OF_LOOPBACK, &attribute(GROUP | NESTED, &group.concat())].concat();
        assert_eq!(received_in(&answer), Some(1 << 40));
        for length in 0..answer.len() {
            assert_eq!(received_in(&answer[..length]), None, "cut to {length} bytes");
        }
    }

    #[test]
    fn attributes_of_no_length_end_a_message_and_do_not_hold_it_up() {
        assert_eq!(attributes(&[0; 64]).count(), 0);
        assert_eq!(attributes(&[0xff; 64]).count(), 0);
    }

    #[test]
    fn an_interface_without_the_counter_has_none_whether_or_not_it_exists() {
        assert!([1, u32::MAX].map(MacControl::of).iter().all(Option::is_none));
    }

    /// If the kernel understood the request, it answers with the group, which is empty for the loopback interface.
    #[test]
    fn the_kernel_understands_the_request() {
        let socket =
            rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::GENERIC)).unwrap();
        let counter = MacControl { socket, family: FAMILIES, interface: 1, requests: AtomicU32::new(0) };
        let families = counter.ask(FIND_FAMILY, &attribute(FAMILY_NAME, b"ethtool\0")).unwrap();
        let (_, number) = attributes(&families).find(|(kind, _)| *kind == FAMILY_NUMBER).unwrap();
        let counter = MacControl { family: u16::from_ne_bytes(number.try_into().unwrap()), ..counter };
        assert_eq!(counter.received(), None);
        let interface = attribute(INTERFACE | NESTED, &attribute(INTERFACE_NUMBER, &1_u32.to_ne_bytes()));
        assert!(counter.ask(STATISTICS, &interface).is_none(), "no group is an error");
    }
}
