use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use units::{Priority, PrioritySet};

use super::*;
use crate::ethernet::{HEADER_LEN, MIN_FRAME_LEN, MacAddress};
use crate::testing::*;
use crate::{BufferTooSmall, ParseError, Protocol};

const ROCE: u16 = 4_791;
const OURS: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

fn priority(number: u8) -> Priority {
    Priority::from_low_bits(number)
}

/// Half of the bandwidth for priority 3, half for the others.
fn halves() -> Ets {
    let [mut classes, mut bandwidths, mut selections] = [[0; 8]; 3];
    classes[3] = 1;
    bandwidths[..2].copy_from_slice(&[50, 50]);
    selections[..2].copy_from_slice(&[2, 2]);
    Ets { classes, bandwidths, selections: selections.map(Selection), ..Ets::default() }
}

/// All that a message can say.
fn message() -> Message {
    Message {
        chassis: Id::of_chassis(OURS),
        port: Id::of_port("lh0"),
        ttl_seconds: 121,
        system_name: Octets::new(b"gateway"),
        management: Some(Ipv4Addr::new(192, 0, 2, 1).into()),
        max_frame: Some(1_522),
        ets: Some(Ets { max_classes: 2, ..halves() }),
        ets_recommendation: Some(halves()),
        pfc: Some(Pfc {
            willing: true,
            macsec_bypass: false,
            capability: 8,
            enabled: PrioritySet::from_bits(8),
        }),
        applications: [Application { selector: Selector::UDP, protocol: ROCE, priority: priority(3) }]
            .into_iter()
            .collect(),
        cee: false,
    }
}

fn frame(message: &Message) -> Vec<u8> {
    let mut out = [0xa5; LONGEST_EMITTED];
    let length = message.emit(OURS, &mut out).unwrap();
    out[..length].to_vec()
}

fn parsed(frame: &[u8]) -> Received {
    Message::parse(&frame[HEADER_LEN..]).unwrap()
}

/// A TLV.
fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    [&(u16::from(kind) << 9 | value.len() as u16).to_be_bytes()[..], value].concat()
}

/// An LLDPDU with these TLVs behind the mandatory ones.
fn with(tlvs: &[Vec<u8>]) -> Vec<u8> {
    let head = [tlv(1, &[4, 2, 0, 0, 0, 0, 9]), tlv(2, b"\x05dc0"), tlv(3, &[0, 120])];
    head.iter().chain(tlvs).flatten().copied().collect()
}

fn of_802_1(subtype: u8, value: &[u8]) -> Vec<u8> {
    tlv(127, &[&[0, 0x80, 0xc2, subtype], value].concat())
}

#[test]
fn a_frame_of_lldpd_is_read_as_tshark_dissects_it() {
    let [announced, shutdown, ..] = &frames(LLDP)[..] else { panic!("two frames of lldpd") };
    let Received { message, discarded } = parsed(announced);
    assert_eq!(discarded, 0);
    assert_eq!(message.chassis.chassis_text().to_string(), "02:00:00:00:02:02");
    assert_eq!(message.port.port_text().to_string(), "02:00:00:00:02:02");
    assert_eq!((message.ttl_seconds, message.system_name.as_bytes()), (120, &b"host7"[..]));
    assert_eq!(message.management, Some(IpAddr::from([192, 0, 2, 7])));
    assert_eq!(message.max_frame, None);
    let ets = Ets { classes: [0, 0, 0, 0, 0, 0, 0, 1], ..halves() };
    assert_eq!((message.ets, message.ets_recommendation), (Some(ets), Some(ets)));
    let enabled = PrioritySet::from_bits(0b1_1000);
    let pfc = Pfc { willing: false, macsec_bypass: false, capability: 8, enabled };
    assert_eq!(message.pfc, Some(pfc));
    assert_eq!(message.applications.of_udp(ROCE), Some(priority(3)));
    let Received { message: end, .. } = parsed(shutdown);
    assert_eq!((end.ttl_seconds, end.chassis, end.port), (0, message.chassis, message.port));
    assert_eq!(end.pfc, None);
}

#[test]
fn the_frames_of_two_lldpad_are_read_as_tshark_dissects_them() {
    let [.., willing, unwilling] = &frames(LLDP)[..] else { panic!("two frames of lldpad") };
    let (willing, unwilling) = (parsed(willing), parsed(unwilling));
    assert_eq!((willing.discarded, unwilling.discarded), (0, 0));
    let pfc = Pfc { willing: true, capability: 8, ..Pfc::default() };
    assert_eq!(willing.message.pfc, Some(pfc));
    assert_eq!(willing.message.ets, Some(Ets { willing: true, ..Ets::default() }));
    let pfc = Pfc { capability: 8, enabled: PrioritySet::from_bits(8), ..Pfc::default() };
    assert_eq!(unwilling.message.pfc, Some(pfc));
    let mut halves = halves();
    halves.classes[6] = 2;
    assert_eq!(unwilling.message.ets, Some(halves));
    assert_eq!(unwilling.message.ets_recommendation, Some(halves));
    assert_eq!(unwilling.message.applications, Applications::default(), "its table has no entries");
}

#[test]
fn a_message_is_written_with_these_bytes_and_read_again() {
    let head = "0180c200000e02000000000188cc\
                020704020000000001 0404056c6830 06020079 0a0767617465776179 100c0501c0000201010000000000";
    let of_802_3 = "fe0600120f0405f2";
    let ets = "fe190080c2090200010000 3232000000000000 0202000000000000";
    let recommendation = "fe190080c20a0000010000 3232000000000000 0202000000000000";
    let rest = "fe060080c20b8808 fe080080c20c006312b7 0000";
    let expected = [head, of_802_3, ets, recommendation, rest].concat().replace(' ', "");
    let written = frame(&message());
    assert_eq!(written, hex(&expected));
    assert_eq!(parsed(&written), Received { message: message(), discarded: 0 });
}

#[test]
fn the_longest_message_fits_and_a_short_one_is_padded() {
    let longest = Octets::new(&[b'x'; 300]);
    assert_eq!(longest.as_bytes().len(), Octets::CAPACITY);
    let id = Id { subtype: 7, octets: longest };
    let entry = |protocol| Application { selector: Selector::TCP, protocol, priority: priority(1) };
    let message = Message {
        chassis: id,
        port: id,
        system_name: longest,
        management: Some(Ipv6Addr::LOCALHOST.into()),
        applications: (0..40).map(entry).collect(),
        ..message()
    };
    assert_eq!(message.applications.iter().count(), Applications::CAPACITY);
    assert_eq!(parsed(&frame(&message)), Received { message, discarded: 0 });
    let mut small = [0; LONGEST_EMITTED - 1];
    let error = BufferTooSmall { needed: LONGEST_EMITTED, available: LONGEST_EMITTED - 1 };
    assert_eq!(message.emit(OURS, &mut small), Err(error));
    let (chassis, port) = (Id::of_chassis(OURS), Id::of_port("a"));
    assert_eq!(frame(&Message { chassis, port, ..Message::default() }).len(), MIN_FRAME_LEN);
}

#[test]
fn the_first_three_tlvs_are_the_mandatory_ones_in_their_order_and_come_once() {
    let refused = |bytes: &[u8], field, value| {
        let error = ParseError::Invalid { protocol: Protocol::Lldp, field, value };
        assert_eq!(Message::parse(bytes), Err(error));
    };
    let [chassis, port, ttl] = [tlv(1, &[4, 9]), tlv(2, &[5, 9]), tlv(3, &[0, 1])];
    refused(&[port.clone(), chassis.clone()].concat(), "first TLV type", 2);
    refused(&[chassis.clone(), ttl.clone()].concat(), "second TLV type", 3);
    refused(&[chassis.clone(), port.clone(), tlv(5, b"x")].concat(), "third TLV type", 5);
    refused(&tlv(1, &[4]), "chassis ID length", 1);
    refused(&tlv(1, &[4; 257]), "chassis ID length", 257);
    refused(&[chassis.clone(), tlv(2, &[5])].concat(), "port ID length", 1);
    refused(&[chassis.clone(), port.clone(), tlv(3, &[0])].concat(), "time to live length", 1);
    for again in [chassis, port, ttl] {
        refused(&with(std::slice::from_ref(&again)), "repeated TLV type", u32::from(again[0] >> 1));
    }
    refused(&with(&[tlv(0, &[1])]), "End Of LLDPDU length", 1);
    refused(&with(&[vec![0; LONGEST_LLDPDU]]), "length", with(&[]).len() as u32 + 1_500);
    assert!(Message::parse(&with(&[])).is_ok(), "the end needs no TLV");
}

#[test]
fn an_lldpdu_that_is_not_all_there_is_refused() {
    let whole = with(&[tlv(5, b"name")]);
    let starts = [0, 9, 15, 19, 25];
    for available in 0..whole.len() {
        let outcome = Message::parse(&whole[..available]);
        match starts[3..].contains(&available) {
            true => assert!(outcome.is_ok(), "{available}"),
            false => assert!(matches!(outcome, Err(ParseError::Truncated { .. })), "{available}"),
        }
    }
}

#[test]
fn a_malformed_or_repeated_tlv_is_discarded_alone() {
    let pfc = of_802_1(0x0b, &[8, 8]);
    for (tlvs, discarded) in [
        (vec![pfc.clone(), of_802_1(0x0b, &[8, 0xff])], 1),
        (vec![of_802_1(0x0b, &[8]), pfc.clone()], 2),
        (vec![tlv(127, &[0, 0x80, 0xc2]), pfc.clone()], 1),
        (vec![of_802_1(0x09, &[0; 20]), of_802_1(0x0a, &[0xff; 21]), of_802_1(0x0c, &[]), pfc.clone()], 3),
        (vec![of_802_1(0x0c, &[0, 0x63, 0x12]), tlv(127, &[0, 0x12, 0x0f, 4, 1]), pfc.clone()], 2),
        (vec![tlv(8, &[]), tlv(8, &[5, 1, 1, 2, 3]), tlv(8, &[0, 1, 0, 0, 0, 0, 0]), pfc.clone()], 3),
        (vec![tlv(8, &[2, 1, 9, 1, 0, 0, 0, 0, 3, 1]), tlv(5, b"a"), tlv(5, b"b"), pfc.clone()], 2),
        (vec![tlv(9, b"x"), of_802_1(0x70, b"x"), tlv(127, &[9, 9, 9, 1]), pfc.clone()], 0),
    ] {
        let received = Message::parse(&with(&tlvs)).unwrap();
        assert_eq!(received.discarded, discarded, "{tlvs:?}");
        let repaired = discarded == 2 && tlvs[0].len() == 7;
        assert_eq!(received.message.pfc.is_some(), !repaired, "{tlvs:?}");
    }
}

#[test]
fn a_name_cannot_drive_a_terminal() {
    let name = Octets::new(b"a\x1b[2J\n\"\xff");
    assert_eq!(name.to_string(), "a\\x1b[2J\\n\\\"\\xff");
    let named = Id { subtype: 7, octets: name };
    assert!(named.port_text().to_string().is_ascii());
    let address = Id { subtype: 5, octets: Octets::new(&[1, 10, 0, 0, 1]) };
    assert_eq!(address.chassis_text().to_string(), "10.0.0.1");
    let mut octets = [0; 17];
    (octets[0], octets[16]) = (2, 1);
    let address = Id { subtype: 4, octets: Octets::new(&octets) };
    assert_eq!(address.port_text().to_string(), "::1");
}

fn any_ets() -> impl Strategy<Value = Ets> {
    let classes = proptest::array::uniform8(0..8_u8);
    (any::<(bool, bool)>(), 0..8_u8, classes, any::<([u8; 8], [u8; 8])>()).prop_map(
        |((willing, credit_based), max_classes, classes, (bandwidths, selections))| Ets {
            willing,
            credit_based,
            max_classes,
            classes,
            bandwidths,
            selections: selections.map(Selection),
        },
    )
}

fn any_pfc() -> impl Strategy<Value = Pfc> {
    (any::<(bool, bool, u8)>(), 0..16_u8).prop_map(|((willing, macsec_bypass, enabled), capability)| Pfc {
        willing,
        macsec_bypass,
        capability,
        enabled: PrioritySet::from_bits(enabled),
    })
}

fn any_id() -> impl Strategy<Value = Id> {
    let octets = proptest::collection::vec(any::<u8>(), 1..=64);
    (any::<u8>(), octets).prop_map(|(subtype, octets)| Id { subtype, octets: Octets::new(&octets) })
}

fn any_message() -> impl Strategy<Value = Message> {
    let address = prop_oneof![any_ipv4().prop_map(IpAddr::V4), any_ipv6().prop_map(IpAddr::V6)];
    let entry = (0..8_u8, any::<u16>(), 0..8_u8).prop_map(|(selector, protocol, number)| Application {
        selector: Selector(selector),
        protocol,
        priority: priority(number),
    });
    let option = proptest::option::of::<BoxedStrategy<Ets>>;
    let dcbx = (
        option(any_ets().boxed()),
        option(any_ets().prop_map(|it| it.recommended()).boxed()),
        proptest::option::of(any_pfc()),
        proptest::collection::vec(entry, 0..=Applications::CAPACITY),
    );
    (any_id(), any_id(), any::<(u16, Option<u16>)>(), any_bytes(64), proptest::option::of(address), dcbx)
        .prop_map(|(chassis, port, (ttl_seconds, max_frame), name, management, dcbx)| {
            let (ets, ets_recommendation, pfc, applications) = dcbx;
            Message {
                chassis,
                port,
                ttl_seconds,
                system_name: Octets::new(&name),
                management,
                max_frame,
                ets,
                ets_recommendation,
                pfc,
                applications: applications.into_iter().collect(),
                cee: false,
            }
        })
}

#[test]
fn the_older_form_of_dcbx_is_noticed_and_not_read() {
    let cee =
        |subtype| tlv(127, &[&[0x00, 0x1b, 0x21, subtype][..], &[6, 6, 0, 0, 0x80, 0, 0x10, 8]].concat());
    let found = |subtype| Message::parse(&with(&[cee(subtype)])).unwrap().message;
    assert!(found(2).cee && !found(9).cee);
    assert_eq!(found(2).pfc, None);
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in any_message()) {
        prop_assert_eq!(parsed(&frame(&message)), Received { message, discarded: 0 });
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        tlvs in proptest::collection::vec((0..=127_u8, any_bytes(40)), 0..12),
        raw in any_bytes(60),
        mandatory: bool,
    ) {
        let tlvs: Vec<_> = tlvs.iter().map(|(kind, value)| tlv(*kind, value)).collect();
        let bytes = if mandatory { with(&tlvs) } else { [tlvs.concat(), raw].concat() };
        if let Ok(Received { message, .. }) = Message::parse(&bytes) {
            prop_assert_eq!(parsed(&frame(&message)), Received { message, discarded: 0 });
        }
    }
}
