use proptest::prelude::*;

use super::*;
use crate::testing::*;

const REQUESTER: PortIdentity = PortIdentity { clock: 0x4a1f_07ff_fe0b_c470, port: 1 };
const RESPONDER: PortIdentity = PortIdentity { clock: 0x9ad2_24ff_fe4e_f007, port: 1 };
const MACS: [MacAddress; 2] =
    [MacAddress([0x4a, 0x1f, 7, 0x0b, 0xc4, 0x70]), MacAddress([0x9a, 0xd2, 0x24, 0x4e, 0xf0, 7])];

/// The exchange of the capture, as tshark dissects it.
fn exchange() -> [Message; 3] {
    let message = |source, body| Message { source, sequence: 2, correction: 0, body };
    let at = |nanoseconds| Timestamp { seconds: 1_795_415_067, nanoseconds };
    [
        message(REQUESTER, Body::Request { log_interval: 0x7f }),
        message(RESPONDER, Body::Response { received: at(133_294_100), requester: REQUESTER }),
        message(RESPONDER, Body::FollowUp { sent: at(133_347_756), requester: REQUESTER }),
    ]
}

fn frame(message: &Message, source: MacAddress) -> [u8; FRAME_LEN] {
    let mut out = [0xa5; FRAME_LEN];
    assert_eq!(message.emit(source, &mut out), Ok(FRAME_LEN));
    out
}

#[test]
fn the_exchange_of_two_ptp4l_is_read_as_tshark_dissects_it_and_written_with_the_same_bytes() {
    let [one, other] = MACS;
    let captured = frames(PDELAY);
    assert_eq!(captured.len(), 3);
    for ((captured, message), source) in captured.iter().zip(exchange()).zip([one, other, other]) {
        assert!(is_frame(captured));
        assert_eq!(Ptp::parse(&captured[14..]), Ok(Ptp::PeerDelay(message)));
        assert_eq!(frame(&message, source)[..], captured[..]);
    }
    assert_eq!(MACS.map(|mac| PortIdentity::of_mac(mac, 1)), [REQUESTER, RESPONDER]);
}

#[test]
fn a_frame_for_another_address_or_of_another_type_is_none_of_gptp() {
    let [request, ..] = exchange().map(|it| frame(&it, MACS[0]));
    assert!(!is_frame(&request[..13]));
    for at in [5, 13] {
        let mut other = request;
        other[at] ^= 1;
        assert!(!is_frame(&other), "byte {at}");
    }
}

#[test]
fn a_field_that_gptp_fixes_is_named_where_it_is_another() {
    let [request, response, _] = exchange().map(|it| frame(&it, MACS[0]));
    let refused = |frame: [u8; FRAME_LEN], at: usize, value: u8, field, seen| {
        let mut message = frame[14..].to_vec();
        message[at] = value;
        let error = ParseError::Invalid { protocol: Protocol::Ptp, field, value: seen };
        assert_eq!(Ptp::parse(&message), Err(error));
    };
    refused(request, 0, 0x02, "majorSdoId", 0);
    refused(request, VERSION_AT, 0x11, "versionPTP", 1);
    refused(request, LENGTH_AT + 1, 53, "messageLength", 53);
    refused(request, DOMAIN_AT, 7, "domainNumber", 7);
    refused(request, MINOR_SDO_AT, 1, "minorSdoId", 1);
    refused(response, FLAGS_AT, 0, "twoStepFlag", 0);
    refused(response, TIMESTAMP_AT + 6, 0x40, "nanosecondsField", 0x40f1_e814);
}

#[test]
fn the_minor_version_of_a_later_standard_is_taken() {
    let [request, ..] = exchange();
    let mut bytes = frame(&request, MACS[0])[14..].to_vec();
    bytes[VERSION_AT] = 0x12;
    assert_eq!(Ptp::parse(&bytes), Ok(Ptp::PeerDelay(request)));
}

#[test]
fn a_message_that_is_not_all_there_is_refused() {
    for message in exchange() {
        let bytes = frame(&message, MACS[0]);
        assert_truncated_below(MESSAGE_LEN, &bytes[14..], Ptp::parse);
        let mut longer = bytes[14..].to_vec();
        longer[LENGTH_AT + 1] += 1;
        let error = ParseError::Truncated { protocol: Protocol::Ptp, needed: 55, available: 54 };
        assert_eq!(Ptp::parse(&longer), Err(error));
        longer.push(0);
        assert!(Ptp::parse(&longer).is_ok());
    }
}

#[test]
fn of_another_message_the_type_alone_is_read() {
    for message_type in (0..16).filter(|it| ![REQUEST, RESPONSE, FOLLOW_UP].contains(it)) {
        assert_eq!(Ptp::parse(&[0x10 | message_type]), Ok(Ptp::Other(message_type)));
    }
}

#[test]
fn timestamps_are_compared_across_seconds_and_not_beyond_what_a_difference_holds() {
    let at = |seconds, nanoseconds| Timestamp { seconds, nanoseconds };
    assert_eq!(Timestamp::from(Nanos(3_000_000_007)), at(3, 7));
    assert_eq!(at(3, 7).since_ns(at(2, 999_999_999)), Some(8));
    assert_eq!(at(2, 999_999_999).since_ns(at(3, 7)), Some(-8));
    assert_eq!(at((1 << 48) - 1, 0).since_ns(at(0, 0)), None);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (clock, port, sequence, correction) in any::<(u64, u16, u16, i64)>(),
        (which, seconds, nanoseconds) in (0..3_u8, 0..1_u64 << 48, 0..1_000_000_000_u32),
        (requester, requesting_port, log_interval) in any::<(u64, u16, i8)>(),
    ) {
        let requester = PortIdentity { clock: requester, port: requesting_port };
        let at = Timestamp { seconds, nanoseconds };
        let body = match which {
            0 => Body::Request { log_interval },
            1 => Body::Response { received: at, requester },
            _ => Body::FollowUp { sent: at, requester },
        };
        let message = Message { source: PortIdentity { clock, port }, sequence, correction, body };
        prop_assert_eq!(Ptp::parse(&frame(&message, MACS[0])[14..]), Ok(Ptp::PeerDelay(message)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut raw in any_bytes(60), kind: Option<u8>) {
        if let (Some(kind), Some(head)) = (kind, raw.first_chunk_mut()) {
            *head = [0x10 | kind & 0xf, 2, 0, 54];
        }
        if let Ok(Ptp::PeerDelay(message)) = Ptp::parse(&raw) {
            let again = frame(&message, MACS[0]);
            prop_assert_eq!(Ptp::parse(&again[14..]), Ok(Ptp::PeerDelay(message)));
        }
    }
}
