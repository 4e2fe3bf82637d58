//! Any bytes as a capture: read or refused, never a panic, and no frame longer than it says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use replay::capture::{CaptureReader, FrameSource};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut capture) = CaptureReader::new(bytes, "fuzz") else { return };
    let mut captured = 0;
    while let Ok(Some(frame)) = capture.next_frame() {
        assert!(frame.data.len() <= frame.original_length as usize);
        captured += frame.data.len();
    }
    assert!(captured <= bytes.len());
    assert!(matches!(capture.advance(), Ok(false)), "nothing follows the end");
});
