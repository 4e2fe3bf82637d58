//! Rate feedback messages of LSCC, as whole IPv4 packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::ipv4;
use wire::rate_feedback::{Content, FRAME_LEN, Frame, Key, Message, Received, View};

const NONCE: u64 = 0x2122_2324_2526_2728;

fuzz_target!(|data: &[u8]| {
    if let Ok(view) = View::parse(data) {
        let _ = (view.message(), view.verify_checksum());
    }
    let Ok(received) = Received::parse(data) else { return };
    // The key of the seeds.
    let key = Key(core::array::from_fn(|place| place as u8));
    let message = received.message.message();
    if let Content::Rate { rate, .. } = message.content {
        assert_eq!(Message::carried(rate), rate);
    }
    let _ = (received.message.verify_checksum(), received.verify_tag(&key, None));
    let answers = received.verify_tag(&key, Some(NONCE)) && received.message.is_answer();
    assert!(!(answers && received.verify_tag(&key, Some(NONCE ^ 1))), "it answers one challenge");

    let ip = ipv4::View::parse(data).expect("it was parsed as part of the message");
    let (source, destination) = (received.source, received.destination);
    let (dscp, identification) = (ip.dscp(), ip.identification());
    let source_mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frame = Frame { source_mac, source, destination, dscp, identification, message };
    let is_rate = matches!(message.content, Content::Rate { .. });
    for (key, answers) in [(None, false), (Some(&key), false), (Some(&key), true)] {
        if !is_rate && (key.is_none() || answers) {
            continue;
        }
        let mut out = [0xa5; FRAME_LEN];
        let written = match key.filter(|_| answers) {
            Some(key) => frame.emit_answer(key, NONCE, &mut out),
            None => frame.emit(key, &mut out),
        };
        assert_eq!(written, Ok(FRAME_LEN));
        assert!(frame.emit(key, &mut out[..FRAME_LEN - 1]).is_err());
        let again = Received::parse(&out[HEADER_LEN..]).expect("it was just written");
        assert_eq!(again.message.message(), message);
        assert_eq!((again.source, again.destination), (source, destination));
        assert!(again.message.verify_checksum());
        assert_eq!((again.message.is_authenticated(), again.message.is_answer()), (key.is_some(), answers));
        if let Some(key) = key {
            assert!(again.verify_tag(key, answers.then_some(NONCE)));
            assert!(!answers || !again.verify_tag(key, None));
        }
    }
});
