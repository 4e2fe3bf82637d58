//! Fast CNPs: whatever is read can be written and read again, and no border takes it for something else.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::ip::{Dscp, Ecn};
use wire::roce::fast_cnp::{Frame, MAX_FRAME_LEN, Notice, OptionType, is_candidate};

fuzz_target!(|data: &[u8]| {
    let option = OptionType::EXPERIMENTAL;
    let is_candidate = is_candidate(data);
    let Ok(notice) = Notice::parse(data, option) else { return };
    assert!(is_candidate);
    let frame = Frame {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        tag: None,
        source: notice.source,
        sender: notice.sender,
        option,
        receiver: notice.receiver,
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        hop_limit: 64,
        source_port: 0,
        receiver_qp: notice.receiver_qp,
    };
    let mut out = [0xa5; MAX_FRAME_LEN];
    let length = frame.emit(&mut out).expect("the longest one fits");
    assert_eq!(Notice::parse(&out[HEADER_LEN..length], option), Ok(notice));
});
