//! Bytes of an independent program, and arbitrary packets.

use super::*;
use proptest::prelude::*;

/// A short independent program made these bytes, with its own CRC-32 (zlib). tshark 4.0 dissects them as IPv6, Destination
/// Options with PadN and an experimental option of 16 bytes, UDP and InfiniBand with opcode 129.
const BYTES: &str = concat!(
    "02000000000a02000000000b86dd",
    "6c20000000403c40",
    "20010db8000000000000000000000099",
    "20010db8000a00000000000000000001",
    "110201020000",
    "1e10",
    "20010db8000b00000000000000000002",
    "c12312b700280000",
    "8100ffff400002a700000000",
    "00000000000000000000000000000000",
    "d809a8e1",
);

fn frame() -> Frame {
    Frame {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 10]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 11]),
        tag: None,
        source: "2001:db8::99".parse().unwrap(),
        sender: "2001:db8:a::1".parse().unwrap(),
        option: OptionType::EXPERIMENTAL,
        receiver: "2001:db8:b::2".parse().unwrap(),
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        hop_limit: 64,
        source_port: 0xc123,
        receiver_qp: QueuePair::from_low_bits(0x2a7),
    }
}

const NOTICE: fn() -> Notice = || {
    let Frame { source, sender, receiver, receiver_qp, .. } = frame();
    Notice { source, sender, receiver, receiver_qp }
};

fn bytes() -> Vec<u8> {
    (0..BYTES.len()).step_by(2).map(|at| u8::from_str_radix(&BYTES[at..at + 2], 16).unwrap()).collect()
}

fn parse(packet: &[u8]) -> Result<Notice, ParseError> {
    Notice::parse(packet, OptionType::EXPERIMENTAL)
}

/// A packet whose Destination Options have these bytes after their first two, with a right ICRC.
fn with_options(options: &[u8]) -> Vec<u8> {
    let whole = bytes();
    let (ip, datagram) = (&whole[14..54], &whole[78..]);
    let mut packet = [ip, &[17, (options.len() as u8 + 2) / 8 - 1], options, datagram].concat();
    packet[4..6].copy_from_slice(&((2 + options.len() + datagram.len()) as u16).to_be_bytes());
    let (udp, end) = (42 + options.len(), packet.len() - 4);
    let crc = checksum(&packet, udp, end);
    packet[end..].copy_from_slice(&crc);
    packet
}

fn option(kind: u8) -> Vec<u8> {
    [&[kind, 16], &NOTICE().receiver.octets()[..]].concat()
}

#[test]
fn a_frame_has_the_bytes_of_an_independent_program_and_is_read_back() {
    let (mut out, expected) = ([0xa5; MAX_FRAME_LEN], bytes());
    assert_eq!((frame().emit(&mut out), frame().length()), (Ok(118), 118));
    assert_eq!(out[..118], expected);
    assert!(frame().emit(&mut out[..117]).is_err());
    assert_eq!(parse(&expected[14..]), Ok(NOTICE()));
    assert!(is_candidate(&expected[14..]));
    let tagged = Frame { tag: Some(Tag::from_tci(0xc007)), ..frame() };
    assert_eq!(tagged.emit(&mut out), Ok(122));
    assert_eq!(
        (&out[..18], &out[18..122]),
        (&[&expected[..12], &[0x81, 0, 0xc0, 7, 0x86, 0xdd]].concat()[..], &expected[14..])
    );
}

#[test]
fn marks_and_hops_on_the_way_change_no_icrc_and_every_other_byte_does() {
    let original = bytes().split_off(14);
    // Traffic class, flow label, hop limit; UDP checksum; FECN and BECN.
    let free = |at: usize| matches!(at, 1..=3 | 7 | 70 | 71 | 76);
    for at in 0..original.len() {
        let mut packet = original.clone();
        packet[at] ^= if at == 0 { 0x0f } else { 0x01 };
        let changed = parse(&packet);
        assert_eq!(changed == Ok(NOTICE()), at == 0 || free(at), "byte {at}: {changed:?}");
    }
}

#[test]
fn padding_and_options_that_may_be_skipped_are_skipped_wherever_they_are() {
    let wanted = option(0x1e);
    let trace = [&[0x11, 2, 7, 7][..], &wanted, &[PAD_N, 6, 0, 0, 0, 0, 0, 0]].concat();
    for options in [[&wanted[..], &[PAD_1; 4]].concat(), [&[PAD_1; 4], &wanted[..]].concat(), trace] {
        assert_eq!(parse(&with_options(&options)), Ok(NOTICE()), "{options:?}");
    }
}

#[test]
fn a_packet_without_exactly_one_option_with_an_address_is_refused() {
    let (wanted, pad) = (option(0x1e), [PAD_1; 4]);
    let refused = |options: &[&[u8]]| match parse(&with_options(&options.concat())) {
        Err(ParseError::Invalid { protocol: Protocol::FastCnp, field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[&[PAD_N, 4, 0, 0, 0, 0]]), "option");
    assert_eq!(refused(&[&option(0x3e)[..], &pad]), "option", "of another type");
    assert_eq!(refused(&[&wanted, &wanted, &[PAD_N, 0]]), "second option");
    assert_eq!(refused(&[&[0x1e, 4, 1, 2, 3, 4]]), "option length");
    assert_eq!(refused(&[&[0x1e, 5, 1, 2, 3, 4]]), "option", "that reaches too far");
    assert_eq!(refused(&[&wanted, &[0x5e, 2, 0, 0]]), "option that must be understood");
}

#[test]
fn a_border_takes_a_cnp_behind_other_extension_headers_as_well() {
    // Hop-by-Hop Options with a PadN in front, and then so many that nobody follows them.
    for (count, known) in [(1, true), (9, true)] {
        let mut packet = bytes().split_off(14);
        let first = core::mem::replace(&mut packet[6], 0);
        for number in 0..count {
            let next = if number == 0 { first } else { 0 };
            packet.splice(40..40, [next, 0, 1, 4, 0, 0, 0, 0]);
        }
        assert!(parse(&packet).is_err());
        assert_eq!(is_candidate(&packet), known, "{count} headers");
    }
    let mut plain = bytes().split_off(14);
    plain[6] = 6;
    assert!(!is_candidate(&plain), "TCP");
}

#[test]
fn what_is_not_a_whole_cnp_behind_destination_options_is_refused() {
    let original = bytes().split_off(14);
    for length in 0..original.len() {
        assert!(parse(&original[..length]).is_err(), "{length} bytes");
    }
    for (at, value, candidate) in
        [(6, 17, false), (40, 6, false), (40, 44, false), (66, 0, false), (72, 0x64, false), (103, 0, true)]
    {
        let mut packet = original.clone();
        packet[at] = value;
        assert!(parse(&packet).is_err(), "byte {at}");
        assert_eq!(is_candidate(&packet), candidate, "byte {at}");
    }
    let padded = [&original[..], &[0; 9]].concat();
    assert_eq!(parse(&padded), Ok(NOTICE()));
    assert!(is_candidate(&original[..73]) && !is_candidate(&original[..72]), "as much as shows the opcode");
}

#[test]
fn a_type_that_nodes_would_not_skip_or_that_changes_on_the_way_is_none() {
    let valid = (0..=u8::MAX).filter_map(OptionType::new);
    assert!(valid.map(OptionType::number).eq(2..=0x1f));
}

proptest! {
    #[test]
    fn whatever_is_read_can_be_written_and_read_again(
        mut packet in proptest::collection::vec(any::<u8>(), 0..200),
        start in proptest::option::of(0_usize..104),
    ) {
        let original = bytes().split_off(14);
        if let Some(start) = start {
            let length = packet.len().min(original.len() - start);
            packet = [&original[..start], &packet[..length], &original[start + length..]].concat();
        }
        let _ = is_candidate(&packet);
        if let Ok(notice) = parse(&packet) {
            let Notice { source, sender, receiver, receiver_qp } = notice;
            let mut out = [0; MAX_FRAME_LEN];
            let length = Frame { source, sender, receiver, receiver_qp, ..frame() }.emit(&mut out).unwrap();
            prop_assert_eq!(parse(&out[14..length]), Ok(notice));
            prop_assert!(is_candidate(&packet), "a border lets no Fast CNP through");
        }
    }
}
