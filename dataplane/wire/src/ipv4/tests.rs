use etherparse::{IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Options};
use proptest::prelude::*;

use super::*;
use crate::testing::*;

fn any_header() -> impl Strategy<Value = Header> {
    let class = (any_dscp(), any_ecn());
    let fragment = (any::<u16>(), any::<bool>(), any::<bool>(), 0..=FRAGMENT_OFFSET);
    (class, 20u16.., fragment, any::<u8>(), any::<u8>(), any_ipv4(), any_ipv4()).prop_map(
        |((dscp, ecn), total_length, fragment, ttl, protocol, source, destination)| {
            let (identification, dont_fragment, more_fragments, fragment_offset) = fragment;
            let protocol = IpProtocol(protocol);
            #[rustfmt::skip]
            let header = Header {
                dscp, ecn, total_length, identification, dont_fragment, more_fragments, fragment_offset, ttl,
                protocol, source, destination,
            };
            header
        },
    )
}

fn theirs(header: &Header) -> etherparse::Ipv4Header {
    let mut theirs = etherparse::Ipv4Header {
        dscp: IpDscp::try_new(header.dscp.number()).unwrap(),
        ecn: IpEcn::try_new(header.ecn.bits()).unwrap(),
        total_len: header.total_length,
        identification: header.identification,
        dont_fragment: header.dont_fragment,
        more_fragments: header.more_fragments,
        fragment_offset: IpFragOffset::try_new(header.fragment_offset).unwrap(),
        time_to_live: header.ttl,
        protocol: IpNumber(header.protocol.0),
        header_checksum: 0,
        source: header.source.octets(),
        destination: header.destination.octets(),
        options: Ipv4Options::default(),
    };
    theirs.header_checksum = theirs.calc_header_checksum();
    theirs
}

fn packet() -> Vec<u8> {
    vector(VECTOR_WRITE)[14..].to_vec()
}

#[test]
fn every_captured_packet_has_the_checksum_that_we_compute() {
    let packets = [roce_packets(VECTORS), roce_packets(SOFT_ROCE)].concat();
    assert_eq!(packets.len(), 5 + 643);
    for mut packet in packets {
        let before = packet.clone();
        let mut view = View::parse(&mut packet[..]).unwrap();
        assert!(view.verify_checksum());
        view.fill_checksum();
        assert_eq!(packet, before);
    }
}

#[test]
fn the_write_vector_reads_as_specified() {
    let packet = packet();
    let view = View::parse(&packet[..]).unwrap();
    assert_eq!((view.dscp().number(), view.ecn()), (26, Ecn::Ect0));
    assert_eq!((view.identification(), view.dont_fragment(), view.is_fragment()), (1, true, false));
    assert_eq!(view.source(), Ipv4Addr::new(10, 0, 17, 1));
    assert_eq!(view.destination(), Ipv4Addr::new(10, 0, 18, 1));
    assert_eq!((view.total_len(), view.payload().len()), (124, 104));
}

#[test]
fn a_packet_cut_off_anywhere_is_refused() {
    assert_truncated_below(124, &packet(), |bytes| View::parse(bytes).map(|_| ()));
}

#[test]
fn a_lone_header_has_its_total_length_checked_against_the_wire() {
    let packet = packet();
    let view = View::parse_head(&packet[..40], 124).unwrap();
    assert_eq!((view.total_len(), view.payload().len()), (124, 20));
    assert!(View::parse_head(&packet[..40], 123).is_err());
}

#[test]
fn padding_after_the_packet_is_no_payload() {
    let mut packet = packet();
    packet.extend([0; 7]);
    assert_eq!(View::parse(&packet[..]).unwrap().payload().len(), 104);
}

#[test]
fn wrong_fields_are_refused_by_name() {
    for (at, value, field, found) in [
        (0, 0x65, "version", 6),
        (0, 0x44, "header length (IHL)", 4),
        (3, 19, "total length", 19),
        (3, 0, "total length", 0),
    ] {
        let mut packet = packet();
        packet[at] = value;
        let error = ParseError::Invalid { protocol: Protocol::Ipv4, field, value: found };
        assert_eq!(View::parse(&packet[..]).map(|_| ()), Err(error));
    }
}

#[test]
fn options_past_the_bytes_are_refused() {
    let mut packet = packet();
    packet[0] = 0x4f;
    assert!(View::parse(&packet[..60]).is_err());
    assert!(matches!(
        View::parse_head(&packet[..59], 124).map(|_| ()),
        Err(ParseError::Truncated { needed: 60, available: 59, .. })
    ));
    assert_eq!(View::parse_head(&packet[..60], 124).unwrap().header_len(), 60);
}

#[test]
fn a_packet_may_end_with_its_options() {
    let mut packet = packet();
    packet[0] = 0x46;
    packet[2..4].copy_from_slice(&[0, 24]);
    assert!(View::parse(&packet[..24]).is_ok_and(|view| view.payload().is_empty()));
}

#[test]
fn a_damaged_header_has_a_wrong_checksum() {
    for options in [0, 4] {
        let mut packet = packet();
        packet[0] += options / 4;
        View::parse(&mut packet[..]).unwrap().fill_checksum();
        for at in 1..20 + usize::from(options) {
            packet[at] ^= 1;
            assert!(!View::known(&packet[..]).verify_checksum(), "{at}");
            packet[at] ^= 1;
        }
        assert!(View::known(&packet[..]).verify_checksum());
    }
}

#[test]
fn a_packet_on_its_last_hop_is_not_forwarded() {
    for ttl in [0, 1] {
        let mut packet = packet();
        let mut view = View::parse(&mut packet[..]).unwrap();
        view.set_ttl(ttl);
        assert_eq!((view.decrement_ttl(), view.ttl()), (None, ttl));
    }
}

#[test]
fn a_hop_keeps_every_checksum_right() {
    let header = View::parse(&packet()[..]).unwrap().header();
    for identification in 0..=u16::MAX {
        let mut bytes = [0; MIN_HEADER_LEN];
        Header { identification, ..header }.emit(&mut bytes).unwrap();
        assert!(View::known(&mut bytes).decrement_ttl().is_some());
        assert!(View::known(&bytes).verify_checksum(), "{identification}");
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let header = View::parse(&packet()[..]).unwrap().header();
    assert_eq!(header.emit(&mut [0; 19]), Err(BufferTooSmall { needed: 20, available: 19 }));
}

proptest! {
    #[test]
    fn the_header_is_that_of_etherparse(header in any_header()) {
        let mut bytes = [0; MIN_HEADER_LEN];
        prop_assert_eq!(header.emit(&mut bytes), Ok(MIN_HEADER_LEN));
        prop_assert_eq!(&theirs(&header).to_bytes()[..], &bytes[..]);
        let view = View::parse_head(&bytes[..], usize::from(u16::MAX)).unwrap();
        prop_assert_eq!(view.header(), header);
        prop_assert_eq!(view.traffic_class(), traffic_class(header.dscp, header.ecn));
        prop_assert!(view.verify_checksum());
        let is_fragment = header.more_fragments || header.fragment_offset != 0;
        prop_assert_eq!(view.is_fragment(), is_fragment);
    }

    #[test]
    fn an_incremental_checksum_equals_a_recomputation(header in any_header(), ecn in any_ecn(), dscp in any_dscp()) {
        let mut bytes = [0; MIN_HEADER_LEN];
        prop_assert!(header.emit(&mut bytes).is_ok());
        let mut view = View::parse_head(&mut bytes[..], usize::from(u16::MAX)).unwrap();
        view.set_ecn(ecn);
        view.set_dscp(dscp);
        let ttl = view.decrement_ttl().unwrap_or(header.ttl);
        view.swap_addresses();
        let (source, destination) = (header.destination, header.source);
        let expected = Header { ecn, dscp, ttl, source, destination, ..header };
        prop_assert_eq!(view.header(), expected);
        let incremental = view.checksum();
        view.fill_checksum();
        prop_assert_eq!(view.checksum(), incremental);
    }

    #[test]
    fn options_are_stepped_over_and_summed(options in proptest::collection::vec(any::<[u8; 4]>(), 0..=10)) {
        let options = options.concat();
        let mut bytes = packet();
        bytes.splice(20..20, options.iter().copied());
        bytes[0] = 0x40 | (5 + options.len() / 4) as u8;
        bytes[2..4].copy_from_slice(&(124 + options.len() as u16).to_be_bytes());
        let mut view = View::parse(&mut bytes[..]).unwrap();
        view.fill_checksum();
        prop_assert!(view.verify_checksum());
        prop_assert_eq!(view.payload(), &packet()[20..]);
        prop_assert_eq!(view.payload_mut(), &packet()[20..]);
        prop_assert!(etherparse::Ipv4HeaderSlice::from_slice(&bytes).is_ok_and(|slice|
            slice.to_header().calc_header_checksum() == slice.header_checksum()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in any_bytes(80), version: bool) {
        if let (true, Some(first)) = (version, bytes.first_mut()) {
            *first = 0x40 | (*first & 0x0f);
        }
        let available = bytes.len();
        if let Ok(mut view) = View::parse(&mut bytes[..]) {
            prop_assert!(view.total_len() <= available);
            prop_assert_eq!(view.payload().len(), view.total_len() - view.header_len());
            view.set_ecn(Ecn::Ce);
            view.decrement_ttl();
            view.fill_checksum();
            prop_assert!(view.verify_checksum());
        }
    }
}
