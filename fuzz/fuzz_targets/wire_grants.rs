//! Grant frames of BifrostX.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::grants::{FRAME_LEN, MESSAGE_LEN, Message};

fuzz_target!(|data: &[u8]| {
    let Ok(message) = Message::parse(data) else { return };
    let mut out = [0xa5; FRAME_LEN];
    assert_eq!(message.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut out), Ok(FRAME_LEN));
    assert_eq!(&out[HEADER_LEN..], &data[..MESSAGE_LEN]);
});
