use proptest::prelude::*;

use super::*;
use crate::testing::{assert_truncated_below, hex};

const R100: BitRate = BitRate::gigabits(100);

fn rate(rate: BitRate) -> LinkRate {
    LinkRate::of(rate).unwrap()
}

fn any_hop() -> impl Strategy<Value = Hop> {
    (1..RATES.len() as u8, 0..1_u32 << 24, 0..1_u32 << 20, any::<u16>())
        .prop_map(|(code, timestamp, sent, queue)| Hop { rate: LinkRate(code), timestamp, sent, queue })
}

const FORMATS: [Format; 2] = [Format::Five, Format::Eight];
/// Bytes of the paper's header.
const LEN: usize = 42;

fn any_format() -> impl Strategy<Value = Format> {
    prop::sample::select(FORMATS.to_vec())
}

#[test]
fn the_header_of_the_paper_has_42_bytes_and_the_one_for_eight_hops_66() {
    assert_eq!(FORMATS.map(Format::bytes), [LEN, 66]);
    for format in FORMATS {
        let length = format.bytes();
        assert_truncated_below(length, &vec![0; length], |bytes| View::parse(bytes, format).map(|_| ()));
    }
}

#[test]
fn two_hops_have_the_bytes_that_the_documentation_shows() {
    let mut bytes = [0; LEN];
    let first = Hop::new(rate(R100), Nanos(0x1_2345_6789), 256 * 0x12_3456, 1_024 * 7 + 1_023);
    stamp(&mut bytes, Format::Five, HopNumber::from_low_bits(0xabc), first);
    let second = Hop::new(rate(BitRate::gigabits(400)), Nanos(1), 1_023, u64::MAX);
    stamp(&mut bytes, Format::Five, HopNumber::from_low_bits(0x111), second);
    // 100G is code 9: 9 456789 23456 0007. 400G is code 11: b 000001 00000 ffff.
    let expected = ["2bad", "9456789234560007", "b00000100000ffff", &"0".repeat(48)].concat();
    assert_eq!(bytes[..], hex(&expected));
}

#[test]
fn common_rates_have_a_code_and_others_have_none() {
    for gigabits in [1, 5, 10, 20, 25, 40, 50, 100, 200, 400, 800, 1_600, 3_200] {
        let given = BitRate::gigabits(gigabits);
        assert_eq!(rate(given).rate(), given);
    }
    assert_eq!(rate(BitRate::new(2_500_000_000).unwrap()).rate().bits_per_second(), 2_500_000_000);
    assert_eq!(LinkRate::of(BitRate::gigabits(30)), None);
    assert_eq!(LinkRate::VALID.matches(['G', 'T']).count(), RATES.len() - 1);
}

#[test]
fn a_rate_is_shown_as_rates_are() {
    let hundred = BitRate::gigabits(100);
    assert_eq!(rate(hundred).to_string(), hundred.to_string());
}

#[test]
fn bytes_never_wrap_before_the_clock_does() {
    for code in 1..RATES.len() as u8 {
        let rate = LinkRate(code);
        let in_a_turn_of_the_clock = rate.rate().bytes_in(units::Interval(1 << TIMESTAMP_BITS));
        let said = rate.sent_unit() << SENT_BITS;
        assert!(said >= in_a_turn_of_the_clock && said / 2 <= in_a_turn_of_the_clock, "{rate}");
    }
}

#[test]
fn differences_hold_across_a_wrap() {
    let before = Hop::new(rate(R100), Nanos((1 << 24) - 100), (256 << 20) - 2_560, 0);
    let after = Hop::new(rate(R100), Nanos((1 << 24) + 900), (256 << 20) + 2_560, 5_000);
    assert_eq!((after.nanos_since(&before), after.bytes_since(&before)), (1_000, 5_120));
    assert_eq!(after.queue_bytes(), 4_096, "whole units, rounded down");
}

#[test]
fn a_hop_beyond_the_last_of_the_format_is_counted_and_not_recorded() {
    for (format, last) in [(Format::Five, 4), (Format::Eight, 7)] {
        let mut bytes = vec![0; format.bytes() + 4];
        for time in 0..20 {
            let hop = Hop::new(rate(R100), Nanos(time), 0, 0);
            stamp(&mut bytes, format, HopNumber::from_low_bits(1), hop);
        }
        let view = View::parse(&bytes[..], format).unwrap();
        assert_eq!((view.passed(), view.recorded()), (15, last + 1));
        assert_eq!(view.hop(last).map(|hop| hop.timestamp), Some(last as u32));
        assert_eq!(view.hop(last + 1), None);
        assert_eq!(bytes[format.bytes()..], [0; 4], "what follows the header is left alone");
    }
}

#[test]
fn both_formats_record_the_first_five_hops_in_the_same_bytes() {
    let [mut five, mut eight] = FORMATS.map(|format| vec![0; format.bytes()]);
    for time in 0..5 {
        let (number, hop) =
            (HopNumber::from_low_bits(time), Hop::new(rate(R100), Nanos(time.into()), 1_000, 2_000));
        stamp(&mut five, Format::Five, number, hop);
        stamp(&mut eight, Format::Eight, number, hop);
    }
    assert_eq!(eight, [&five[..], &[0; 24]].concat());
}

#[test]
fn the_number_of_a_hop_depends_on_all_of_its_address() {
    let number = |mac| HopNumber::of(MacAddress(mac)).number();
    assert_eq!(number([0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]), 0x123 ^ 0x456 ^ 0x789 ^ 0xabc);
    assert_ne!(number([2, 0, 0, 0, 0, 1]), number([2, 0, 0, 0, 0, 2]));
}

#[test]
fn a_rate_without_meaning_is_refused() {
    let mut bytes = [0; LEN];
    bytes[0] = 0x10;
    for code in [0, 15] {
        bytes[2] = code << 4;
        let value = code.into();
        let error = ParseError::Invalid { protocol: Protocol::Telemetry, field: "rate of a hop", value };
        assert_eq!(View::parse(bytes, Format::Five).map(|_| ()), Err(error));
    }
    bytes[0] = 0;
    assert!(View::parse(bytes, Format::Five).is_ok(), "what no hop has written does not matter");
}

proptest! {
    #[test]
    fn stamping_writes_what_the_value_says(
        format in any_format(), hops in prop::collection::vec((any_hop(), any::<u16>()), 0..=8),
    ) {
        let mut bytes = vec![0; format.bytes()];
        let mut value = Header::default();
        for (index, (hop, number)) in hops.iter().take(format.hops()).enumerate() {
            let number = HopNumber::from_low_bits(*number);
            stamp(&mut bytes, format, number, *hop);
            value.hops[index] = Some(*hop);
            value.passed += 1;
            value.path.0 ^= number.0;
        }
        let mut emitted = vec![0xa5; format.bytes()];
        prop_assert_eq!(value.emit(format, &mut emitted), Ok(format.bytes()));
        prop_assert_eq!(&bytes, &emitted);
        prop_assert_eq!(View::parse(bytes, format).unwrap().header(), value);
    }

    #[test]
    fn any_bytes_are_read_or_refused(format in any_format(), bytes in prop::collection::vec(any::<u8>(), 0..90)) {
        if let Ok(view) = View::parse(&bytes[..], format) {
            let mut emitted = vec![0; format.bytes()];
            prop_assert_eq!(view.header().emit(format, &mut emitted), Ok(format.bytes()));
            prop_assert_eq!(View::parse(emitted, format).unwrap().header(), view.header());
        }
        let mut copy = bytes;
        stamp(&mut copy, format, HopNumber::from_low_bits(7), Hop::new(rate(R100), Nanos(7), 7, 7));
    }
}
