//! Writes a capture of RoCEv2 frames for a benchmark.
//!
//! `make_capture FILE FRAMES FRAME_BYTES [FLOWS [out|in]]`
//!
//! Flows take turns; there is one where nothing is said. `in` is the other direction of the same connections.

use benches::packets::Packets;
use replay::capture::CaptureWriter;
use std::process::ExitCode;
use units::Nanos;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, frames, packets)) = read(&arguments) else { return usage() };
    match write(file, frames, &packets) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make_capture: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Option<(&str, u64, Packets)> {
    let [file, frames, frame_bytes, rest @ ..] = arguments else { return None };
    let (flows, way) = match rest {
        [] => ("1", "out"),
        [flows] => (flows.as_str(), "out"),
        [flows, way] => (flows.as_str(), way.as_str()),
        _ => return None,
    };
    let outward = match way {
        "out" => true,
        "in" => false,
        _ => return None,
    };
    let frame_bytes = frame_bytes.parse().ok().filter(|bytes| (64..=9216).contains(bytes))?;
    let flows = flows.parse().ok().filter(|flows| (1..=1 << 22).contains(flows))?;
    Some((file, frames.parse().ok()?, Packets { frame_bytes, flows, outward }))
}

fn usage() -> ExitCode {
    eprintln!("usage: make_capture FILE FRAMES FRAME_BYTES (64 to 9216) [FLOWS (to 4194304) [out|in]]");
    ExitCode::from(2)
}

/// One frame a microsecond.
fn write(file: &str, frames: u64, packets: &Packets) -> Result<(), replay::capture::CaptureError> {
    let mut writer = CaptureWriter::create(file)?;
    for number in 0..frames {
        let frame = packets.packet(number);
        writer.write(Nanos(1_000_000_000_000 + number * 1_000), &frame, frame.len() as u32)?;
    }
    writer.finish()?;
    Ok(())
}
