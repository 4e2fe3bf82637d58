//! LLDPDUs with the TLVs of DCBX.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::lldp::{LONGEST_EMITTED, Message, Received};

fuzz_target!(|data: &[u8]| {
    let Ok(Received { message, .. }) = Message::parse(data) else { return };
    let mut out = [0xa5; LONGEST_EMITTED];
    let length = message.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut out).expect("there is room for all");
    assert_eq!(Message::parse(&out[HEADER_LEN..length]), Ok(Received { message, discarded: 0 }));
    assert!(message.chassis.chassis_text().to_string().is_ascii());
    assert!(message.port.port_text().to_string().is_ascii());
});
