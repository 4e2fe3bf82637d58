//! A base transport header and the extended headers behind it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::roce::bth::{self, HEADER_LEN};
use wire::roce::extended::Headers;

fuzz_target!(|data: &[u8]| {
    let Ok(view) = bth::View::parse(data) else { return };
    let header = view.header();
    let mut out = [0; HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(HEADER_LEN));
    let again = bth::View::parse(&out[..]).expect("it was just written");
    assert_eq!(again.header(), header);
    let _ = (header.opcode.to_string(), header.opcode.transport());

    let mut copy = data.to_vec();
    let mut changed = bth::View::parse(&mut copy[..]).expect("it was parsed before");
    changed.set_becn(!header.becn);
    changed.set_fecn(!header.fecn);
    changed.set_becn(header.becn);
    changed.set_fecn(header.fecn);
    changed.set_destination_qp(header.destination_qp);
    changed.set_psn(header.psn);
    assert_eq!(copy, data);

    let payload = view.into_payload();
    let Ok((headers, length)) = Headers::parse(header.opcode, payload) else { return };
    let mut out = vec![0; length];
    let mut at = 0;
    // Reserved bits are not kept, so what was written is compared as values.
    at += headers.deth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.reth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.atomic_eth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.aeth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.atomic_ack_eth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.immediate.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    at += headers.ieth.map_or(0, |it| it.emit(&mut out[at..]).expect("there is room"));
    assert_eq!(at, length);
    assert_eq!(Headers::parse(header.opcode, &out), Ok((headers, length)));
});
