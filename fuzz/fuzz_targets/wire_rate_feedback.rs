//! Rate feedback messages of LSCC, as whole IPv4 packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::ipv4;
use wire::rate_feedback::{Frame, Key, MAX_FRAME_LEN, Message, Received, View};

fuzz_target!(|data: &[u8]| {
    if let Ok(view) = View::parse(data) {
        let _ = (view.message(), view.verify_checksum());
    }
    let Ok(received) = Received::parse(data) else { return };
    let key = Key([7; 16]);
    let message = received.message.message();
    assert_eq!(Message::carried(message.rate), message.rate);
    let _ = (received.message.verify_checksum(), received.verify_tag(&key));

    let ip = ipv4::View::parse(data).expect("it was parsed as part of the message");
    let (source, destination) = (received.source, received.destination);
    let (dscp, identification) = (ip.dscp(), ip.identification());
    let source_mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frame = Frame { source_mac, source, destination, dscp, identification, message };
    for key in [None, Some(&key)] {
        let mut out = [0xa5; MAX_FRAME_LEN];
        let length = frame.emit(key, &mut out).expect("the longest one fits");
        assert_eq!(length, Frame::length(key.is_some()));
        assert!(frame.emit(key, &mut out[..length - 1]).is_err());
        let again = Received::parse(&out[HEADER_LEN..length]).expect("it was just written");
        assert_eq!(again.message.message(), message);
        assert_eq!((again.source, again.destination), (source, destination));
        assert!(again.message.verify_checksum());
        assert_eq!(key.is_some_and(|key| again.verify_tag(key)), again.message.is_authenticated());
    }
});
