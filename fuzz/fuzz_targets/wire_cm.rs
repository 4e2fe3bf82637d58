//! A connection management datagram.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::roce::{bth, cm};

fuzz_target!(|data: &[u8]| {
    if let Ok(bth) = bth::View::parse(data) {
        let _ = cm::View::in_packet(&bth).map(|view| view.message());
    }
    let Ok(view) = cm::View::parse(data) else { return };
    let message = view.message();
    assert_eq!(message.attribute_id(), view.attribute_id());
    let mut out = [0; cm::DATAGRAM_LEN];
    assert_eq!(message.emit(view.transaction_id(), &mut out), Ok(cm::DATAGRAM_LEN));
    let again = cm::View::parse(&out[..]).expect("it was just written");
    assert_eq!((again.message(), again.transaction_id()), (message, view.transaction_id()));
});
