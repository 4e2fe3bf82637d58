//! PFC and PAUSE frames.

#![no_main]

use libfuzzer_sys::fuzz_target;
use units::Priority;
use wire::ethernet::{HEADER_LEN, MIN_FRAME_LEN, MacAddress};
use wire::mac_control::Message;
use wire::pfc;

fuzz_target!(|data: &[u8]| {
    let source = MacAddress([2, 0, 0, 0, 0, 1]);
    let mut out = [0xa5; MIN_FRAME_LEN];
    match Message::parse(data) {
        Ok(Message::Pfc(view)) => {
            for priority in Priority::all() {
                assert_eq!(view.time(priority).is_some(), view.enabled().contains(priority));
            }
            let frame = pfc::Frame { source, times: view.times() };
            assert_eq!(frame.enabled(), view.enabled());
            assert_eq!(frame.emit(&mut out), Ok(MIN_FRAME_LEN));
            let again = pfc::View::parse(&out[HEADER_LEN..]).expect("it was just written");
            assert_eq!(again.times(), view.times());
        }
        Ok(Message::Pause(view)) => assert_eq!(view.time().0.to_be_bytes(), data[2..4]),
        Ok(Message::Other(_)) | Err(_) => {}
    }
});
