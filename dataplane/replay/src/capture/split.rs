//! Splitting a capture of both directions of a link by the side that frames came from.

use super::source::{Captured, Interface};
use core::str::FromStr;
use ipnet::IpNet;
use std::net::IpAddr;
use units::PortId;
use wire::ethernet::{EtherType, MacAddress};
use wire::{arp, ethernet, ipv4, ipv6, vlan};

/// A rule for the source of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceMatch {
    /// The source address of the Ethernet header.
    Mac(MacAddress),
    /// The source address of the IPv4 or IPv6 header, or the sender protocol address of ARP. VLAN tags are
    /// skipped.
    Prefix(IpNet),
    /// The interface of a pcapng capture, by its name or its number.
    Interface(String),
}

/// The text is neither a MAC address, nor a prefix, nor an interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\" is neither a MAC address, nor an IP prefix, nor an interface; \
     expected for example \"02:00:00:00:00:01\", \"10.0.0.0/8\", \"2001:db8::/32\" or \"interface:eth0\""
)]
pub struct ParseSourceMatchError {
    /// The input.
    pub text: String,
}

/// Parses `02:00:00:00:00:01`, `10.0.0.0/8`, `2001:db8::/32`, a plain IP address, `interface:eth0` or `interface:0`.
impl FromStr for SourceMatch {
    type Err = ParseSourceMatchError;

    fn from_str(text: &str) -> Result<Self, ParseSourceMatchError> {
        let trimmed = text.trim();
        if let Some(interface) = trimmed.strip_prefix("interface:").filter(|it| !it.is_empty()) {
            return Ok(Self::Interface(interface.into()));
        }
        let address = || trimmed.parse::<IpAddr>().map(IpNet::from);
        let mac = trimmed.parse().map(Self::Mac);
        mac.or_else(|_| trimmed.parse().or_else(|_| address()).map(Self::Prefix))
            .map_err(|_| ParseSourceMatchError { text: text.into() })
    }
}

/// Determines the ingress port of a frame by its source. The first matching rule applies.
#[derive(Clone, Debug)]
pub struct Splitter {
    /// MAC rules, sorted by address, each once, with the index of the rule.
    macs: Vec<(MacAddress, usize, PortId)>,
    /// Prefix rules in order, with their indices.
    prefixes: Vec<(IpNet, usize, PortId)>,
    /// Interface rules in order, with the number that the name may be, and their indices.
    interfaces: Vec<(String, Option<u32>, usize, PortId)>,
}

impl Splitter {
    /// A splitter by `rules`, in order of precedence.
    pub fn new(rules: impl IntoIterator<Item = (SourceMatch, PortId)>) -> Self {
        let (mut macs, mut prefixes, mut interfaces) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (rule, port)) in rules.into_iter().enumerate() {
            match rule {
                SourceMatch::Mac(mac) => macs.push((mac, place, port)),
                SourceMatch::Prefix(prefix) => prefixes.push((prefix, place, port)),
                SourceMatch::Interface(name) => {
                    let number = name.parse().ok();
                    interfaces.push((name, number, place, port));
                }
            }
        }
        macs.sort_unstable();
        macs.dedup_by_key(|&mut (mac, ..)| mac);
        Self { macs, prefixes, interfaces }
    }

    /// The port of the first rule that `frame` matches; `None` if it matches none or is too short.
    #[inline]
    pub fn port_of(&self, frame: &Captured<'_>) -> Option<PortId> {
        let by_interface = self.by_interface(frame.interface);
        let Ok(frame) = ethernet::View::parse(frame.data) else { return by_interface.map(|(_, port)| port) };
        let by_mac =
            self.by_mac(frame.source()).into_iter().chain(by_interface).min_by_key(|(place, _)| *place);
        let before = by_mac.map_or(usize::MAX, |(place, _)| place);
        // Only prefix rules before the matching rule of another kind can take precedence.
        let mut prefixes = self.prefixes.iter().take_while(|(_, place, _)| *place < before).peekable();
        let by_prefix = prefixes.peek().and(source_address(&frame)).and_then(|source| {
            prefixes.find(|(prefix, ..)| prefix.contains(&source)).map(|(.., port)| *port)
        });
        by_prefix.or(by_mac.map(|(_, port)| port))
    }

    fn by_interface(&self, interface: Interface<'_>) -> Option<(usize, PortId)> {
        let is_it = |name: &str, number| name == interface.name || number == Some(interface.number);
        let mut rules = self.interfaces.iter();
        rules.find(|(name, number, ..)| is_it(name, *number)).map(|(.., place, port)| (*place, *port))
    }

    fn by_mac(&self, source: MacAddress) -> Option<(usize, PortId)> {
        let index = self.macs.binary_search_by_key(&source, |(mac, ..)| *mac).ok()?;
        let (_, place, port) = self.macs[index];
        Some((place, port))
    }
}

/// The source network address in a frame. The capture may have truncated the frame, so lengths are not
/// checked against it.
fn source_address(frame: &ethernet::View<&[u8]>) -> Option<IpAddr> {
    let (mut ether_type, mut payload) = (frame.ether_type(), frame.into_payload());
    while ether_type.is_vlan() {
        let tag = vlan::View::parse(payload).ok()?;
        (ether_type, payload) = (tag.ether_type(), &payload[vlan::TAG_LEN..]);
    }
    match ether_type {
        EtherType::IPV4 => Some(ipv4::View::parse_head(payload, usize::MAX).ok()?.source().into()),
        EtherType::IPV6 => Some(ipv6::View::parse_head(payload, usize::MAX).ok()?.source().into()),
        EtherType::ARP => Some(arp::View::parse(payload).ok()?.sender_ip().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: PortId = PortId(0);
    const RIGHT: PortId = PortId(1);

    fn splitter(rules: &[(&str, PortId)]) -> Splitter {
        Splitter::new(rules.iter().map(|(text, port)| (text.parse().unwrap(), *port)))
    }

    fn at<'a>(interface: Interface<'a>, data: &'a [u8]) -> Captured<'a> {
        Captured { at: units::Nanos(0), data, original_length: data.len() as u32, interface }
    }

    fn port_of(splitter: &Splitter, frame: &[u8]) -> Option<PortId> {
        splitter.port_of(&at(Interface::default(), frame))
    }

    fn frame(source: u8, ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, source];
        frame.extend(ether_type.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn ipv4(source: [u8; 4]) -> Vec<u8> {
        let mut header = vec![0x45, 0, 0x05, 0xdc, 0, 0, 0, 0, 64, 17, 0, 0];
        header.extend(source);
        header.extend([10, 9, 9, 9]);
        header
    }

    fn ipv6(source: &str) -> Vec<u8> {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
        header.extend(source.parse::<std::net::Ipv6Addr>().unwrap().octets());
        header.extend([0; 16]);
        header
    }

    fn arp(sender: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9];
        packet.extend(sender);
        packet.extend([0; 10]);
        packet
    }

    #[test]
    fn the_source_address_decides_and_the_destination_does_not() {
        let splitter = splitter(&[("02:00:00:00:00:01", LEFT), ("02-00-00-00-00-02", RIGHT)]);
        assert_eq!(port_of(&splitter, &frame(1, 0x8808, &[])), Some(LEFT));
        assert_eq!(port_of(&splitter, &frame(2, 0x8808, &[])), Some(RIGHT));
        assert_eq!(port_of(&splitter, &frame(3, 0x8808, &[])), None);
    }

    #[test]
    fn prefixes_of_both_versions_and_the_sender_of_arp_decide() {
        let splitter = splitter(&[
            ("10.1.0.0/16", LEFT),
            ("2001:db8:1::/48", LEFT),
            ("10.0.0.0/8", RIGHT),
            ("::/0", RIGHT),
        ]);
        assert_eq!(port_of(&splitter, &frame(1, 0x0800, &ipv4([10, 1, 2, 3]))), Some(LEFT));
        assert_eq!(port_of(&splitter, &frame(1, 0x0800, &ipv4([10, 2, 2, 3]))), Some(RIGHT));
        assert_eq!(port_of(&splitter, &frame(1, 0x0800, &ipv4([11, 0, 0, 1]))), None);
        assert_eq!(port_of(&splitter, &frame(1, 0x86dd, &ipv6("2001:db8:1::7"))), Some(LEFT));
        assert_eq!(port_of(&splitter, &frame(1, 0x86dd, &ipv6("fe80::1"))), Some(RIGHT));
        assert_eq!(port_of(&splitter, &frame(1, 0x0806, &arp([10, 1, 0, 1]))), Some(LEFT));
    }

    #[test]
    fn vlan_tags_are_looked_past() {
        let splitter = splitter(&[("10.1.2.3", LEFT)]);
        let tagged = [&[0x60, 5, 0x81, 0, 0x60, 6, 0x08, 0][..], &ipv4([10, 1, 2, 3])].concat();
        assert_eq!(port_of(&splitter, &frame(1, 0x88a8, &tagged)), Some(LEFT));
    }

    #[test]
    fn the_first_rule_that_matches_counts_whatever_its_kind() {
        let bytes = frame(1, 0x0800, &ipv4([10, 1, 2, 3]));
        let mac_first = splitter(&[("02:00:00:00:00:01", LEFT), ("10.0.0.0/8", RIGHT)]);
        assert_eq!(port_of(&mac_first, &bytes), Some(LEFT));
        let prefix_first = splitter(&[("10.0.0.0/8", RIGHT), ("02:00:00:00:00:01", LEFT)]);
        assert_eq!(port_of(&prefix_first, &bytes), Some(RIGHT));
        let twice = splitter(&[("02:00:00:00:00:01", RIGHT), ("02:00:00:00:00:01", LEFT)]);
        assert_eq!(port_of(&twice, &bytes), Some(RIGHT));
    }

    #[test]
    fn an_interface_is_known_by_its_name_or_its_number() {
        let splitter = splitter(&[("interface:dc0 received", LEFT), ("interface:3", RIGHT), ("::/0", RIGHT)]);
        let of = |number, name| splitter.port_of(&at(Interface { number, name }, &frame(1, 0x8808, &[])));
        assert_eq!(
            [of(0, "dc0 received"), of(3, "dc0 sent"), of(1, "dc0 sent")],
            [Some(LEFT), Some(RIGHT), None]
        );
        let runt = at(Interface { number: 3, name: "" }, &[1]);
        assert_eq!(splitter.port_of(&runt), Some(RIGHT), "it needs no address");
    }

    #[test]
    fn a_frame_cut_anywhere_is_assigned_or_not_without_panic() {
        let splitter = splitter(&[("10.1.2.3", LEFT), ("02:00:00:00:00:01", RIGHT)]);
        for bytes in [
            frame(9, 0x0800, &ipv4([10, 1, 2, 3])),
            frame(9, 0x0806, &arp([10, 1, 2, 3])),
            frame(9, 0x8100, &[0, 5, 8, 0]),
            frame(9, 0x86dd, &ipv6("::1")),
        ] {
            for cut in 0..bytes.len() {
                assert_ne!(port_of(&splitter, &bytes[..cut]), Some(RIGHT));
            }
        }
        let stub = &frame(1, 0x0800, &[])[..];
        assert_eq!(port_of(&splitter, stub), Some(RIGHT), "the MAC address is enough");
    }

    #[test]
    fn a_rule_that_is_neither_is_refused_with_examples() {
        for text in ["", "02:00:00:00:00", "10.0.0.0/33", "eth0", "interface:"] {
            let error = text.parse::<SourceMatch>().unwrap_err();
            assert!(error.to_string().contains("expected for example"), "{text}");
        }
        let mac = SourceMatch::Mac(MacAddress([2, 0, 0, 0, 0, 1]));
        assert_eq!("02:00:00:00:00:01".parse(), Ok(mac));
        for text in ["10.0.0.0/8", "2001:db8::/32"] {
            assert_eq!(text.parse(), Ok(SourceMatch::Prefix(text.parse().unwrap())));
        }
    }
}
