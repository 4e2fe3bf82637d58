//! Grant frames: slots of BifrostX, credits, grants for far ports, pages of destinations, hellos, sessions, and statuses of
//! repair.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::grants::Message;
use wire::rate_feedback::Key;

fuzz_target!(|data: &[u8]| {
    let Ok(message) = Message::parse(data) else { return };
    let mut out = [0xa5; 256];
    let length = message.frame_len();
    assert_eq!(message.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut out), Ok(length));
    assert_eq!(out[HEADER_LEN..length], data[..length - HEADER_LEN]);
    if let Message::Hello(hello) = message {
        assert!(hello.sealed(&Key([7; 16])).is_sealed_by(&Key([7; 16])));
    }
    if let Message::Session(session) = message {
        assert!(session.sealed(&Key([7; 16])).is_sealed_by(&Key([7; 16])));
    }
    if let Message::Repair(status) = message {
        assert!(status.sealed(&Key([7; 16])).is_sealed_by(&Key([7; 16])));
    }
});
