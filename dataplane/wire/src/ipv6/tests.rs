use etherparse::{IpNumber, Ipv6FlowLabel};
use proptest::prelude::*;

use super::*;
use crate::testing::*;

fn any_header() -> impl Strategy<Value = Header> {
    let class = (any_dscp(), any_ecn(), 0..=FLOW_LABEL);
    (class, any::<u16>(), any::<u8>(), any::<u8>(), any_ipv6(), any_ipv6()).prop_map(
        |((dscp, ecn, flow_label), payload_length, next_header, hop_limit, source, destination)| {
            let next_header = IpProtocol(next_header);
            Header { dscp, ecn, flow_label, payload_length, next_header, hop_limit, source, destination }
        },
    )
}

/// A packet with `payload`, whose first header is `first`.
fn packet(first: IpProtocol, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        flow_label: 0x12345,
        payload_length: payload.len() as u16,
        next_header: first,
        hop_limit: 64,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::UNSPECIFIED,
    };
    let mut bytes = vec![0; HEADER_LEN];
    header.emit(&mut bytes).unwrap();
    bytes.extend(payload);
    bytes
}

#[test]
fn a_packet_cut_off_anywhere_is_refused() {
    let bytes = packet(IpProtocol::UDP, &[0; 16]);
    assert_truncated_below(56, &bytes, |bytes| View::parse(bytes).map(|_| ()));
}

#[test]
fn a_lone_header_has_its_payload_length_checked_against_the_wire() {
    let bytes = packet(IpProtocol::UDP, &[0; 16]);
    assert_eq!(View::parse_head(&bytes[..44], 56).unwrap().payload().len(), 4);
    assert!(View::parse_head(&bytes[..44], 55).is_err());
}

#[test]
fn another_version_is_refused() {
    let error = ParseError::Invalid { protocol: Protocol::Ipv6, field: "version", value: 4 };
    assert_eq!(View::parse(&[0x45; HEADER_LEN][..]).map(|_| ()), Err(error));
}

#[test]
fn a_payload_of_length_zero_is_empty() {
    let bytes = packet(IpProtocol::NO_NEXT_HEADER, &[]);
    let view = View::parse(&bytes[..]).unwrap();
    assert!(view.payload().is_empty());
    assert_eq!(view.upper_layer().unwrap().protocol, IpProtocol::NO_NEXT_HEADER);
}

#[test]
fn a_packet_on_its_last_hop_is_not_forwarded() {
    let mut bytes = packet(IpProtocol::UDP, &[]);
    let mut view = View::parse(&mut bytes[..]).unwrap();
    for (hops, left) in [(0, None), (1, None), (2, Some(1)), (255, Some(254))] {
        view.set_hop_limit(hops);
        assert_eq!((view.decrement_hop_limit(), view.hop_limit()), (left, left.unwrap_or(hops)));
    }
}

#[test]
fn the_payload_ends_before_the_padding() {
    let mut bytes = packet(IpProtocol::UDP, &[1, 2, 3]);
    bytes.extend([0; 7]);
    let mut view = View::parse(&mut bytes[..]).unwrap();
    assert_eq!(view.payload(), [1, 2, 3]);
    assert_eq!(view.payload_mut(), [1, 2, 3]);
}

#[test]
fn a_packet_may_end_with_its_extension_headers() {
    let bytes = packet(IpProtocol::HOP_BY_HOP, &hex("3b00000000000000"));
    let layer = View::parse(&bytes[..]).unwrap().upper_layer().unwrap();
    assert_eq!((layer.protocol, layer.offset), (IpProtocol::NO_NEXT_HEADER, 48));
}

#[test]
fn a_chain_of_extension_headers_leads_to_the_upper_layer() {
    // Hop-by-hop (16 bytes), destination options, routing, authentication (24 bytes), fragment.
    let mut payload = hex("3c010000000000000000000000000000");
    payload.extend(hex("2b00000000000000"));
    payload.extend(hex("3300000000000000"));
    payload.extend(hex("2c0400000000000000000000000000000000000000000000"));
    payload.extend(hex("1100000100000007"));
    payload.extend([0; 8]);
    let bytes = packet(IpProtocol::HOP_BY_HOP, &payload);
    let layer = View::parse(&bytes[..]).unwrap().upper_layer().unwrap();
    let fragment = Some(Fragment { offset: 0, more: true });
    assert_eq!(layer, UpperLayer { protocol: IpProtocol::UDP, offset: 40 + 64, fragment });
}

#[test]
fn behind_the_header_of_a_later_fragment_there_is_no_header() {
    let bytes = packet(IpProtocol::FRAGMENT, &hex("3c0000100000000700ff000000000000"));
    let layer = View::parse(&bytes[..]).unwrap().upper_layer().unwrap();
    assert_eq!(layer.protocol, IpProtocol::DESTINATION_OPTIONS);
    assert_eq!((layer.offset, layer.fragment), (48, Some(Fragment { offset: 2, more: false })));
}

#[test]
fn a_chain_longer_than_the_frame_is_refused() {
    // The second header claims 264 bytes.
    let bytes = packet(IpProtocol::HOP_BY_HOP, &hex("3c000000000000001120000000000000"));
    let error = ParseError::Truncated { protocol: Protocol::Ipv6, needed: 264, available: 8 };
    assert_eq!(View::parse(&bytes[..]).unwrap().upper_layer(), Err(error));
    for length in 0..8 {
        let bytes = packet(IpProtocol::HOP_BY_HOP, &[0; 8][..length]);
        assert!(View::parse(&bytes[..]).unwrap().upper_layer().is_err());
    }
}

#[test]
fn a_chain_without_end_is_given_up() {
    let chain = |headers: usize| packet(IpProtocol::HOP_BY_HOP, &hex("3c00000000000000").repeat(headers));
    let bytes = chain(20);
    let upper_layer = View::parse(&bytes[..]).unwrap().upper_layer();
    assert!(matches!(upper_layer, Err(ParseError::Invalid { value: 60, .. })));
}

proptest! {
    #[test]
    fn the_header_is_that_of_etherparse(header in any_header()) {
        let mut bytes = [0; HEADER_LEN];
        prop_assert_eq!(header.emit(&mut bytes), Ok(HEADER_LEN));
        let theirs = etherparse::Ipv6Header {
            traffic_class: traffic_class(header.dscp, header.ecn),
            flow_label: Ipv6FlowLabel::try_new(header.flow_label).unwrap(),
            payload_length: header.payload_length,
            next_header: IpNumber(header.next_header.0),
            hop_limit: header.hop_limit,
            source: header.source.octets(),
            destination: header.destination.octets(),
        };
        prop_assert_eq!(theirs.to_bytes(), bytes);
        let view = View::parse_head(&bytes[..], usize::from(u16::MAX) + HEADER_LEN).unwrap();
        prop_assert_eq!(view.header(), header);
    }

    #[test]
    fn setters_change_their_field_alone(header in any_header(), ecn in any_ecn(), dscp in any_dscp()) {
        let mut bytes = [0; HEADER_LEN];
        prop_assert!(header.emit(&mut bytes).is_ok());
        let mut view = View::parse_head(&mut bytes[..], usize::from(u16::MAX) + HEADER_LEN).unwrap();
        view.set_ecn(ecn);
        view.set_dscp(dscp);
        let hop_limit = view.decrement_hop_limit().unwrap_or(header.hop_limit);
        view.swap_addresses();
        let (source, destination) = (header.destination, header.source);
        prop_assert_eq!(view.header(), Header { ecn, dscp, hop_limit, source, destination, ..header });
    }

    #[test]
    fn the_walk_agrees_with_that_of_etherparse(
        payload in any_bytes(120),
        first in prop::sample::select(vec![0u8, 17, 43, 44, 51, 60]),
        steer in prop::collection::vec(prop::sample::select(vec![17u8, 43, 44, 51, 60]), 8),
    ) {
        // Small lengths and known next headers make long chains.
        let mut payload = payload;
        for (header, next) in payload.as_chunks_mut::<8>().0.iter_mut().zip(steer) {
            (header[0], header[1], header[2], header[3]) = (next, header[1] & 1, 0, header[3] & 1);
        }
        let bytes = packet(IpProtocol(first), &payload);
        if let Ok(layer) = View::parse(&bytes[..]).unwrap().upper_layer() {
            prop_assert!(layer.offset <= bytes.len());
            if let Ok((_, next, rest)) = etherparse::Ipv6Extensions::from_slice(IpNumber(first), &payload) {
                // etherparse stops at a second header of a kind; our parser continues.
                if rest.len() == bytes.len() - layer.offset {
                    prop_assert_eq!(next.0, layer.protocol.0);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in any_bytes(120), version: bool) {
        if let (true, Some(first)) = (version, bytes.first_mut()) {
            *first = 0x60 | (*first & 0x0f);
        }
        let available = bytes.len();
        if let Ok(mut view) = View::parse(&mut bytes[..]) {
            prop_assert!(view.total_len() <= available);
            let _ = (view.header(), view.payload().len(), view.upper_layer());
            view.set_ecn(Ecn::Ce);
            prop_assert_eq!(view.ecn(), Ecn::Ce);
        }
    }
}
