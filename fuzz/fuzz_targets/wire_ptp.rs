//! Peer delay messages of gPTP.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::ptp::{FRAME_LEN, Ptp};

fuzz_target!(|data: &[u8]| {
    let Ok(Ptp::PeerDelay(message)) = Ptp::parse(data) else { return };
    let mut out = [0xa5; FRAME_LEN];
    assert_eq!(message.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut out), Ok(FRAME_LEN));
    assert_eq!(Ptp::parse(&out[HEADER_LEN..]), Ok(Ptp::PeerDelay(message)));
});
