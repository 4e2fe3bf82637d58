//! A base transport header and the extended headers behind it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::roce::bth::{self, HEADER_LEN};
use wire::roce::extended::{Aeth, Deth, Reth};

fuzz_target!(|data: &[u8]| {
    let Ok(view) = bth::View::parse(data) else { return };
    let header = view.header();
    let mut out = [0; HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(HEADER_LEN));
    let again = bth::View::parse(&out[..]).expect("it was just written");
    assert_eq!(again.header(), header);
    let _ = (header.opcode.to_string(), header.opcode.transport());

    // Reserved bits are not kept, so what was written is compared as values.
    macro_rules! round_trip {
        ($header:ty) => {
            if let Ok(value) = <$header>::parse(view.payload()) {
                let mut out = [0; <$header>::LEN];
                assert_eq!(value.emit(&mut out), Ok(<$header>::LEN));
                assert_eq!(<$header>::parse(&out), Ok(value));
            }
        };
    }
    round_trip!(Aeth);
    round_trip!(Deth);
    round_trip!(Reth);
});
