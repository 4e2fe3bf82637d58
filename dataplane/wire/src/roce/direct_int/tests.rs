use super::*;
use crate::ethernet::{self, MacAddress};
use crate::int::{HopNumber, LinkRate};
use crate::ip::{Dscp, Ecn};
use crate::roce::{QueuePair, icrc};
use crate::testing::{assert_truncated_below, hex};
use crate::vlan::Tag;
use proptest::prelude::*;
use units::Nanos;

fn rate(gigabits: u64) -> LinkRate {
    LinkRate::of(BitRate::gigabits(gigabits)).unwrap()
}

/// The content of the documentation: one hop of 100G with number 0xabc, and a pseudo-queue on a link of 200G.
fn content() -> Content {
    let mut collected = [0; HEADER_LEN];
    let hop = Hop::new(rate(100), Nanos(0x1_2345_6789), 256 * 0x12_3456, 1_024 * 7);
    int::stamp(&mut collected, int::Format::Five, HopNumber::from_low_bits(0xabc), hop);
    let pseudo_queue = Hop::new(rate(200), Nanos(0x46_0000), 512 * 0x34567, 2_048 * 0x89);
    Content::new(&collected, pseudo_queue, BitRate::megabits(120_000)).unwrap()
}

fn frame(addresses: cnp::Addresses, tag: Option<Tag>) -> Frame {
    let way = cnp::Frame {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        tag,
        addresses,
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        ttl: 64,
        source_port: 0xc123,
        destination_qp: QueuePair::from_low_bits(0x12_3456),
    };
    Frame { way, content: content() }
}

fn v4() -> cnp::Addresses {
    let [source, destination] = [[10, 0, 0, 2], [10, 0, 0, 1]].map(Into::into);
    cnp::Addresses::V4 { source, destination, identification: 7 }
}

fn v6() -> cnp::Addresses {
    let [source, destination] = [2, 1].map(|host| core::net::Ipv6Addr::from_bits(0xfd << 120 | host));
    cnp::Addresses::V6 { source, destination, flow_label: 0 }
}

/// scapy computes the same ICRC for these bytes, and tshark finds a BTH with opcode 0xc1 behind valid headers.
#[test]
fn the_frame_has_the_bytes_that_the_documentation_shows() {
    let mut bytes = [0; MAX_FRAME_LEN];
    let length = frame(v4(), None).emit(&mut bytes).unwrap();
    let expected = [
        "020000000001 020000000002 0800",
        "45c2 005c 0007 4000 40 11 25c6 0a000002 0a000001",
        "c123 12b7 0048 0000",
        "c1 30 ffff 00 123456 00 000000",
        "2abc 9456789234560007 a460000345670089 0000000000000000 0000000000000000 0000000000000000",
        "01d4c0 000000",
        "22c9209d",
    ];
    assert_eq!(bytes[..length], hex(&expected.concat().replace(' ', "")));
}

#[test]
fn every_form_is_as_long_as_it_says_and_its_icrc_covers_the_content() {
    let tag = Some(Tag::from_tci(0xc007));
    for (frame, length) in [
        (frame(v4(), None), 106),
        (frame(v4(), tag), 110),
        (frame(v6(), None), 126),
        (frame(v6(), tag), MAX_FRAME_LEN),
    ] {
        let mut bytes = [0xa5; MAX_FRAME_LEN];
        assert_eq!((frame.emit(&mut bytes), frame.length()), (Ok(length), length));
        assert!(frame.emit(&mut bytes[..length - 1]).is_err());
        let ip = ethernet::HEADER_LEN + if frame.way.tag.is_some() { 4 } else { 0 };
        assert_eq!(icrc::verify(&bytes[ip..length]), Ok(true));
        let payload = length - icrc::LEN - PADDING - LEN;
        assert_eq!(Content::parse(&bytes[payload..]), Ok(frame.content));
        bytes[payload + RATE_AT] ^= 1;
        assert_eq!(icrc::verify(&bytes[ip..length]), Ok(false));
    }
}

#[test]
fn what_was_written_is_read() {
    let content = content();
    let header = content.header();
    assert_eq!((header.passed, header.path.number()), (2, 0xabc));
    assert_eq!(header.hops[0].map(|hop| hop.queue_bytes()), Some(7 * 1_024));
    let hop = header.hops[1].unwrap();
    assert_eq!((hop.rate, hop.timestamp, hop.queue_bytes()), (rate(200), 0x46_0000, 2_048 * 0x89));
    assert_eq!(content.advertised(), BitRate::gigabits(120));
}

#[test]
fn a_rate_is_rounded_down_and_neither_zero_nor_above_24_bits() {
    let carried = |bits| carried_units(BitRate::new(bits).unwrap());
    assert_eq!([1, 1_999_999, u64::MAX].map(carried), [1, 1, 0xff_ffff]);
}

#[test]
fn what_is_short_or_has_a_rate_without_meaning_is_refused() {
    assert_truncated_below(LEN, &content().0, |bytes| Content::parse(bytes).map(|_| ()));
    for at in [2, 10] {
        let mut bytes = content().0;
        bytes[at] = 0xf0;
        assert!(Content::parse(&bytes).is_err(), "no rate has code 15");
    }
    for hops in [0, 6] {
        let mut bytes = content().0;
        bytes[0] = hops << 4;
        bytes[2..HEADER_LEN].fill(0x99);
        assert_eq!(Content::parse(&bytes), Err(invalid(Protocol::DirectInt, "hops", hops.into())));
    }
    let mut bytes = content().0;
    bytes[RATE_AT..].fill(0);
    assert_eq!(Content::parse(&bytes), Err(invalid(Protocol::DirectInt, "advertised rate", 0)));
}

#[test]
fn five_collected_hops_leave_no_room_for_the_pseudo_queue() {
    let (mut collected, hop) = ([0; HEADER_LEN], Hop::new(rate(100), Nanos(1), 2, 3));
    for passed in 0..7 {
        let made = Content::new(&collected, hop, BitRate::gigabits(1));
        assert_eq!(made.map(|it| it.header().passed), (passed < 5).then_some(passed + 1));
        int::stamp(&mut collected, FORMAT, HopNumber::from_low_bits(1), hop);
    }
}

proptest! {
    #[test]
    fn what_is_accepted_has_a_hop_and_a_rate(mut bytes: [u8; 32], rest: [u8; LEN - 32], codes: [u8; 5], hops in 0_u8..7) {
        bytes[0] = hops << 4 | bytes[0] & 0x0f;
        let mut all = [0; LEN];
        all[..32].copy_from_slice(&bytes);
        all[32..].copy_from_slice(&rest);
        for (index, code) in codes.iter().enumerate() {
            all[2 + 8 * index] = (code % 14 + 1) << 4 | all[2 + 8 * index] & 0x0f;
        }
        let content = Content::parse(&all);
        prop_assert_eq!(content.is_ok(), (1..=5).contains(&hops) && all[RATE_AT..] != [0; 3]);
        if let Ok(content) = content {
            let header = content.header();
            prop_assert_eq!(header.hops.iter().flatten().count(), usize::from(hops));
            prop_assert!(content.advertised().bits_per_second() >= RATE_UNIT);
        }
    }
}
