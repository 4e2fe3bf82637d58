use proptest::prelude::*;

use super::*;
use crate::testing::*;

const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

const FRAME: Frame = Frame {
    source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
    source: Ipv4Addr::new(192, 0, 2, 1),
    destination: Ipv4Addr::new(192, 0, 2, 2),
    dscp: Dscp::from_low_bits(48),
    identification: 0x1234,
    message: Message {
        port: 7,
        sequence: 0x0102_0304_0506_0708,
        timestamp: Nanos(0x1112_1314_1516_1718),
        rate: BitRate::gigabits(100),
    },
};

fn bytes(frame: &Frame, key: Option<&Key>) -> Vec<u8> {
    let mut out = vec![0xa5; MAX_FRAME_LEN];
    let length = frame.emit(key, &mut out).unwrap();
    assert_eq!(length, Frame::length(key.is_some()));
    out.truncate(length);
    out
}

fn packet(key: Option<&Key>) -> Vec<u8> {
    bytes(&FRAME, key)[ethernet::HEADER_LEN..].to_vec()
}

fn message(key: Option<&Key>) -> Vec<u8> {
    packet(key)[ipv4::MIN_HEADER_LEN..].to_vec()
}

fn rate(bits_per_second: u64) -> BitRate {
    BitRate::new(bits_per_second).unwrap()
}

/// What an error of this message says: field and value.
fn refusal<T>(result: Result<T, ParseError>) -> (&'static str, u32) {
    match result {
        Err(ParseError::Invalid { protocol: Protocol::RateFeedback, field, value }) => (field, value),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// `bytes` with `value` at `at`.
fn with(mut bytes: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    bytes[at] = value;
    bytes
}

/// Built field by field by a program of a few lines with a SipHash of its own; tshark decodes both as ICMP
/// of type 253 to the nearest non-TPMR bridge, with good checksums.
#[test]
fn frames_with_and_without_a_tag_have_the_bytes_of_an_independent_encoder() {
    let plain = "0180c2000003020000000001080045c0003012344000ff01e4d4c0000201c0000202\
                 fd001aee0100000701020304050607081112131415161718000186a0";
    let tagged = "0180c2000003020000000001080045c0003812344000ff01e4ccc0000201c0000202\
                  fd0022c90101000701020304050607081112131415161718000186a0d67c593decc3dba5";
    assert_eq!(bytes(&FRAME, None), hex(plain));
    assert_eq!(bytes(&FRAME, Some(&KEY)), hex(tagged));
}

#[test]
fn a_key_is_not_shown() {
    assert_eq!(format!("{KEY:?}"), "Key");
}

#[test]
fn a_rate_is_carried_in_whole_megabits_rounded_down() {
    let carried = |bits| Message::carried(rate(bits)).bits_per_second();
    assert_eq!(carried(100_000_000_000), 100_000_000_000);
    assert_eq!(carried(2_999_999), 2_000_000);
    assert_eq!(carried(1), 1_000_000, "a message never says zero");
    assert_eq!(carried(u64::MAX), u64::from(u32::MAX) * 1_000_000);
}

#[test]
fn a_message_has_exactly_the_length_that_its_flags_give() {
    for (key, length) in [(None, MESSAGE_LEN), (Some(&KEY), TAGGED_MESSAGE_LEN)] {
        let mut message = message(key);
        assert_eq!(message.len(), length);
        assert_truncated_below(length, &message, |bytes| View::parse(bytes).map(|_| ()));
        message.push(0);
        assert_eq!(refusal(View::parse(&message)), ("length", length as u32 + 1));
    }
}

#[test]
fn another_kind_of_message_is_refused() {
    for (at, value, field) in [
        (0, 8, "type"),
        (CODE_AT, 1, "code"),
        (VERSION_AT, 2, "version"),
        (FLAGS_AT, 0x02, "flags"),
        (FLAGS_AT, 0x81, "flags"),
    ] {
        let message = with(message(Some(&KEY)), at, value);
        assert_eq!(refusal(View::parse(message)), (field, u32::from(value)));
    }
    let mut zero = message(None);
    zero[RATE_AT..RATE_AT + 4].fill(0);
    assert_eq!(refusal(View::parse(zero)), ("rate", 0));
}

#[test]
fn a_packet_that_a_router_has_forwarded_is_refused() {
    let forwarded = with(packet(None), 8, TTL - 1);
    assert_eq!(refusal(Received::parse(&forwarded)), ("TTL", 254));
}

#[test]
fn fragments_and_other_protocols_are_refused() {
    assert_eq!(refusal(Received::parse(&with(packet(None), 6, 0x20))), ("fragment offset", 0));
    assert_eq!(refusal(Received::parse(&with(packet(None), 7, 1))), ("fragment offset", 1));
    assert_eq!(refusal(Received::parse(&with(packet(None), 9, 17))), ("protocol", 17));
}

#[test]
fn a_tag_counts_only_with_its_key_and_its_addresses() {
    let message = message(Some(&KEY));
    let view = View::parse(&message[..]).unwrap();
    let (here, there) = (FRAME.source, FRAME.destination);
    assert!(view.is_authenticated() && view.verify_tag(here, there, &KEY));
    assert!(!view.verify_tag(there, here, &KEY), "it cannot be reflected");
    assert!(!view.verify_tag(here, there, &Key([0; 16])));
}

#[test]
fn a_message_without_a_tag_never_verifies() {
    let message = message(None);
    let view = View::parse(&message[..]).unwrap();
    assert!(!view.is_authenticated() && !view.verify_tag(FRAME.source, FRAME.destination, &KEY));
}

#[test]
fn every_flipped_bit_makes_the_checksum_wrong_and_all_but_those_of_the_checksum_the_tag() {
    let right = message(Some(&KEY));
    for bit in 0..right.len() * 8 {
        let flipped = with(right.clone(), bit / 8, right[bit / 8] ^ 1 << (bit % 8));
        let Ok(view) = View::parse(&flipped[..]) else { continue };
        assert!(!view.verify_checksum(), "bit {bit}");
        let in_checksum = (CHECKSUM_AT..CHECKSUM_AT + 2).contains(&(bit / 8));
        assert_eq!(view.verify_tag(FRAME.source, FRAME.destination, &KEY), in_checksum, "bit {bit}");
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let error = BufferTooSmall { needed: 70, available: 69 };
    assert_eq!(FRAME.emit(Some(&KEY), &mut [0; 69]), Err(error));
    assert!(FRAME.emit(None, &mut [0; 61]).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        source_mac in any_mac(),
        source in any_ipv4(),
        destination in any_ipv4(),
        dscp in any_dscp(),
        identification: u16,
        port: u16,
        sequence: u64,
        timestamp: u64,
        bits_per_second in 1_u64..,
        key in proptest::option::of(any::<[u8; 16]>().prop_map(Key)),
    ) {
        let (timestamp, rate) = (Nanos(timestamp), rate(bits_per_second));
        let message = Message { port, sequence, timestamp, rate };
        let frame = Frame { source_mac, source, destination, dscp, identification, message };
        let out = bytes(&frame, key.as_ref());
        let link = ethernet::View::parse(&out[..]).unwrap();
        prop_assert_eq!(link.destination(), MacAddress::NEAREST_NON_TPMR_BRIDGE);
        prop_assert_eq!((link.source(), link.ether_type()), (source_mac, EtherType::IPV4));
        let ip = ipv4::View::parse(link.payload()).unwrap();
        prop_assert!(ip.verify_checksum() && ip.dont_fragment());
        prop_assert_eq!((ip.dscp(), ip.ecn(), ip.identification()), (dscp, Ecn::NotEct, identification));
        let received = Received::parse(link.payload()).unwrap();
        prop_assert_eq!((received.source, received.destination), (source, destination));
        prop_assert_eq!(received.message.message(), Message { rate: Message::carried(rate), ..message });
        prop_assert!(received.message.verify_checksum());
        prop_assert_eq!(received.message.is_authenticated(), key.is_some());
        prop_assert_eq!(received.verify_tag(&key.unwrap_or(KEY)), key.is_some());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(80), likely: bool, flags in 0_u8..2) {
        let mut bytes = bytes;
        if likely && bytes.len() >= MESSAGE_LEN {
            put(&mut bytes, 0, &[Type::EXPERIMENT_1.0, 0]);
            put(&mut bytes, VERSION_AT, &[VERSION, flags]);
        }
        let _ = Received::parse(&bytes);
        if let Ok(view) = View::parse(&bytes) {
            prop_assert!(Message::carried(view.rate()) == view.rate());
            let _ = (view.verify_checksum(), view.verify_tag(FRAME.source, FRAME.destination, &KEY));
        }
    }
}
