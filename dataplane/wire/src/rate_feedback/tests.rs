use proptest::prelude::*;

use super::*;
use crate::testing::*;

const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

const NONCE: u64 = 0x2122_2324_2526_2728;

const RATE_MESSAGE: Message = Message {
    port: 7,
    content: Content::Rate {
        rate: BitRate::gigabits(100),
        sequence: 0x0102_0304_0506_0708,
        session: 0x1112_1314_1516_1718,
    },
};

const FRAME: Frame = Frame {
    source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
    source: Ipv4Addr::new(192, 0, 2, 1),
    destination: Ipv4Addr::new(192, 0, 2, 2),
    dscp: Dscp::from_low_bits(48),
    identification: 0x1234,
    message: RATE_MESSAGE,
};

const CHALLENGE_FRAME: Frame =
    Frame { message: Message { port: 7, content: Content::Challenge { nonce: NONCE } }, ..FRAME };

fn bytes(frame: &Frame, key: Option<&Key>) -> Vec<u8> {
    let mut out = vec![0xa5; FRAME_LEN + 1];
    assert_eq!(frame.emit(key, &mut out), Ok(FRAME_LEN));
    out.truncate(FRAME_LEN);
    out
}

/// [`FRAME`] as an answer to [`NONCE`].
fn answer() -> Vec<u8> {
    let mut out = vec![0xa5; FRAME_LEN];
    assert_eq!(FRAME.emit_answer(&KEY, NONCE, &mut out), Ok(FRAME_LEN));
    out
}

fn packet(key: Option<&Key>) -> Vec<u8> {
    bytes(&FRAME, key)[ethernet::HEADER_LEN..].to_vec()
}

fn message(key: Option<&Key>) -> Vec<u8> {
    packet(key)[ipv4::MIN_HEADER_LEN..].to_vec()
}

fn message_of(frame: &[u8]) -> Vec<u8> {
    frame[ethernet::HEADER_LEN + ipv4::MIN_HEADER_LEN..].to_vec()
}

fn rate(bits_per_second: u64) -> BitRate {
    BitRate::new(bits_per_second).unwrap()
}

/// The field and value of an error.
fn refusal<T>(result: Result<T, ParseError>) -> (&'static str, u32) {
    match result {
        Err(ParseError::Invalid { protocol: Protocol::RateFeedback, field, value }) => (field, value),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// `bytes` with the byte at `at` set to `value`.
fn with(mut bytes: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    bytes[at] = value;
    bytes
}

/// The expected bytes come from a short independent program with its own SipHash. tshark decodes both as ICMP
/// of type 253 to the nearest non-TPMR bridge, with valid checksums.
#[test]
fn every_kind_of_frame_has_the_bytes_of_an_independent_encoder() {
    let head = "0180c2000003020000000001080045c0003812344000ff01e4ccc0000201c0000202";
    let plain = "fd0019ee0200000701020304050607081112131415161718000186a00000000000000000";
    let tagged = "fd005b930201000701020304050607081112131415161718000186a02cc0d7c0bb61fe76";
    let answered = "fd00634e0203000701020304050607081112131415161718000186a06c306ecdc4b316eb";
    let challenge = "fd01e5b1020100070000000000000000212223242526272800000000bfa9694532c62efa";
    let whole = |message: &str| hex(&format!("{head}{message}"));
    assert_eq!(bytes(&FRAME, None), whole(plain));
    assert_eq!(bytes(&FRAME, Some(&KEY)), whole(tagged));
    assert_eq!(answer(), whole(answered));
    assert_eq!(bytes(&CHALLENGE_FRAME, Some(&KEY)), whole(challenge));
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
fn a_message_has_exactly_36_bytes() {
    for mut message in [message(None), message(Some(&KEY)), message_of(&answer())] {
        assert_eq!(message.len(), 36);
        assert_truncated_below(36, &message, |bytes| View::parse(bytes).map(|_| ()));
        message.push(0);
        assert_eq!(refusal(View::parse(&message)), ("length", 37));
    }
}

#[test]
fn a_message_of_another_version_is_refused_for_that_whatever_its_length() {
    let first = message(None);
    for (version, length) in [(1, 28), (1, 36), (3, 44), (0, 5)] {
        let mut other = with(first.clone(), VERSION_AT, version);
        other.resize(length, 0xff);
        assert_eq!(refusal(View::parse(other)), (VERSION_FIELD, version.into()));
    }
}

#[test]
fn another_kind_of_message_is_refused() {
    for (at, value, field) in [
        (0, 8, "type"),
        (CODE_AT, 2, "code"),
        (FLAGS_AT, 0x02, "tag"),
        (FLAGS_AT, 0x05, "flags"),
        (FLAGS_AT, 0x81, "flags"),
        (FLAGS_AT, 0, "tag"),
    ] {
        let got = refusal(View::parse(with(message(Some(&KEY)), at, value))).0;
        assert_eq!(got, field, "{at}: {value}");
    }
    assert_eq!(
        refusal(View::parse(with(message(None), FLAGS_AT, 0x02))),
        ("flags", 2),
        "an answer has a tag"
    );
    let mut zero = message(None);
    zero[RATE_AT..RATE_AT + 4].fill(0);
    assert_eq!(refusal(View::parse(zero)), ("rate", 0));
}

#[test]
fn a_challenge_has_a_tag_and_a_nonce_and_nothing_else() {
    let right = message_of(&bytes(&CHALLENGE_FRAME, Some(&KEY)));
    let view = View::parse(&right[..]).unwrap();
    assert_eq!(view.message(), CHALLENGE_FRAME.message);
    assert!(view.verify_tag(FRAME.source, FRAME.destination, &KEY, None));
    for (at, value, refused) in [
        (FLAGS_AT, 0x03, ("flags", 3)),
        (RATE_AT, 1, ("rate", 1 << 24)),
        (SEQUENCE_AT, 1, ("sequence", 1 << 24)),
    ] {
        assert_eq!(refusal(View::parse(with(right.clone(), at, value))), refused);
    }
    let untagged = message_of(&bytes(&CHALLENGE_FRAME, None));
    assert_eq!(refusal(View::parse(untagged)), ("flags", 0), "no one could answer it");
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
    assert!(view.is_authenticated() && view.verify_tag(here, there, &KEY, None));
    assert!(view.verify_tag(here, there, &KEY, Some(NONCE)), "a message that answers nothing needs no nonce");
    assert!(!view.verify_tag(there, here, &KEY, None), "it cannot be reflected");
    assert!(!view.verify_tag(here, there, &Key([0; 16]), None));
}

#[test]
fn an_answer_counts_only_for_its_challenge() {
    let message = message_of(&answer());
    let view = View::parse(&message[..]).unwrap();
    assert_eq!(view.message(), RATE_MESSAGE);
    let verified = |bytes: &[u8], nonce| {
        View::parse(bytes).unwrap().verify_tag(FRAME.source, FRAME.destination, &KEY, nonce)
    };
    assert!(view.is_answer() && verified(&message, Some(NONCE)));
    assert!(!verified(&message, Some(NONCE + 1)) && !verified(&message, None));
    let no_answer = with(message, FLAGS_AT, AUTHENTICATED);
    assert!(!verified(&no_answer, None) && !verified(&no_answer, Some(NONCE)));
    let made_one = with(self::message(Some(&KEY)), FLAGS_AT, AUTHENTICATED | ANSWER);
    assert!(!verified(&made_one, Some(NONCE)) && !verified(&made_one, Some(0)) && !verified(&made_one, None));
}

#[test]
fn a_message_without_a_tag_never_verifies() {
    let message = message(None);
    let view = View::parse(&message[..]).unwrap();
    assert!(!view.is_authenticated() && !view.verify_tag(FRAME.source, FRAME.destination, &KEY, None));
}

#[test]
fn every_flipped_bit_makes_the_checksum_wrong_and_all_but_those_of_the_checksum_the_tag() {
    let challenge = bytes(&CHALLENGE_FRAME, Some(&KEY));
    for right in [message(Some(&KEY)), message_of(&answer()), message_of(&challenge)] {
        let mut views = 0;
        for bit in 0..right.len() * 8 {
            let flipped = with(right.clone(), bit / 8, right[bit / 8] ^ 1 << (bit % 8));
            let Ok(view) = View::parse(&flipped[..]) else { continue };
            views += 1;
            assert!(!view.verify_checksum(), "bit {bit}");
            let in_checksum = (CHECKSUM_AT..CHECKSUM_AT + 2).contains(&(bit / 8));
            let verified = view.verify_tag(FRAME.source, FRAME.destination, &KEY, Some(NONCE));
            assert_eq!(verified, in_checksum, "bit {bit}");
        }
        assert!(views >= 8 * (2 + 2 + 8 + 8), "checksum, port, session or nonce, and tag are never refused");
    }
}

#[test]
fn what_is_drawn_depends_on_everything() {
    let drawn = KEY.draw(*b"session\0", 1, Nanos(2));
    assert_eq!(drawn, KEY.draw(*b"session\0", 1, Nanos(2)));
    let others = [
        KEY.draw(*b"nonce\0\0\0", 1, Nanos(2)),
        KEY.draw(*b"session\0", 3, Nanos(2)),
        KEY.draw(*b"session\0", 1, Nanos(3)),
        Key([0; 16]).draw(*b"session\0", 1, Nanos(2)),
    ];
    assert!(others.iter().all(|other| *other != drawn), "{others:x?}");
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let error = BufferTooSmall { needed: 70, available: 69 };
    assert_eq!(FRAME.emit(Some(&KEY), &mut [0; 69]), Err(error));
    assert_eq!(FRAME.emit(None, &mut [0; 69]), Err(error));
    assert_eq!(FRAME.emit_answer(&KEY, NONCE, &mut [0; 69]), Err(error));
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
        session: u64,
        nonce: u64,
        bits_per_second in 1_u64..,
        key in proptest::option::of(any::<[u8; 16]>().prop_map(Key)),
    ) {
        let rate = rate(bits_per_second);
        let content = Content::Rate { rate, sequence, session };
        let frame = Frame {
            source_mac, source, destination, dscp, identification, message: Message { port, content },
        };
        let out = bytes(&frame, key.as_ref());
        let link = ethernet::View::parse(&out[..]).unwrap();
        prop_assert_eq!(link.destination(), MacAddress::NEAREST_NON_TPMR_BRIDGE);
        prop_assert_eq!((link.source(), link.ether_type()), (source_mac, EtherType::IPV4));
        let ip = ipv4::View::parse(link.payload()).unwrap();
        prop_assert!(ip.verify_checksum() && ip.dont_fragment());
        prop_assert_eq!((ip.dscp(), ip.ecn(), ip.identification()), (dscp, Ecn::NotEct, identification));
        let received = Received::parse(link.payload()).unwrap();
        prop_assert_eq!((received.source, received.destination), (source, destination));
        let content = Content::Rate { rate: Message::carried(rate), sequence, session };
        prop_assert_eq!(received.message.message(), Message { port, content });
        prop_assert!(received.message.verify_checksum());
        prop_assert_eq!(received.message.is_authenticated(), key.is_some());
        prop_assert_eq!(received.verify_tag(&key.unwrap_or(KEY), None), key.is_some());

        let Some(key) = key else { return Ok(()) };
        let mut out = vec![0; FRAME_LEN];
        frame.emit_answer(&key, nonce, &mut out).unwrap();
        let answer = Received::parse(&out[ethernet::HEADER_LEN..]).unwrap();
        prop_assert_eq!(answer.message.message(), Message { port, content });
        prop_assert!(answer.message.verify_checksum() && answer.verify_tag(&key, Some(nonce)));
        let message = Message { port, content: Content::Challenge { nonce } };
        let out = bytes(&Frame { message, ..frame }, Some(&key));
        let challenge = Received::parse(&out[ethernet::HEADER_LEN..]).unwrap();
        prop_assert_eq!(challenge.message.message(), message);
        prop_assert!(challenge.message.verify_checksum() && challenge.verify_tag(&key, None));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(80), likely: bool, code in 0_u8..2, flags in 0_u8..4) {
        let mut bytes = bytes;
        if likely && bytes.len() >= MESSAGE_LEN {
            put(&mut bytes, 0, &[Type::EXPERIMENT_1.0, code]);
            put(&mut bytes, VERSION_AT, &[VERSION, flags]);
        }
        let _ = Received::parse(&bytes);
        if let Ok(view) = View::parse(&bytes) {
            if let Content::Rate { rate, .. } = view.message().content {
                prop_assert_eq!(Message::carried(rate), rate);
            }
            let _ = (view.verify_checksum(), view.verify_tag(FRAME.source, FRAME.destination, &KEY, Some(NONCE)));
        }
    }
}
