//! Writes a capture of RoCEv2 frames for a benchmark.
//!
//! `make_capture FILE FRAMES FRAME_BYTES`

use benches::core::rocev2_headers;
use replay::capture::CaptureWriter;
use std::process::ExitCode;
use units::Nanos;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, frames, frame_bytes] = arguments.as_slice() else { return usage() };
    let (Ok(frames), Ok(frame_bytes)) = (frames.parse::<u64>(), frame_bytes.parse::<u64>()) else {
        return usage();
    };
    match write(file, frames, frame_bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make_capture: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: make_capture FILE FRAMES FRAME_BYTES (64 to 9216)");
    ExitCode::from(2)
}

/// One frame a microsecond.
fn write(file: &str, frames: u64, frame_bytes: u64) -> Result<(), replay::capture::CaptureError> {
    let mut frame = rocev2_headers(frame_bytes).to_vec();
    frame.resize(frame_bytes as usize, 0xa5);
    let mut writer = CaptureWriter::create(file)?;
    for number in 0..frames {
        writer.write(Nanos(1_000_000_000_000 + number * 1_000), &frame, frame_bytes as u32)?;
    }
    writer.finish()?;
    Ok(())
}
