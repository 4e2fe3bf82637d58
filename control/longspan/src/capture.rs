//! `longspan capture`.

use crate::ask;
use crate::cli::capture::{CaptureArgs, DirectionArg, FramesArg};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use gateway::socket::{self, CaptureClass, CaptureLine, CaptureRequest, Lines, Request, Response};
use replay::capture::{CaptureInterface, PcapngWriter};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use telemetry::table::thousands;
use units::Nanos;

/// Captures frames of a running gateway.
///
/// # Errors
/// [`Failure::Usage`] for control frames that are also data, [`Failure::Ask`] if no gateway answers, [`Failure::Busy`] or [`Failure::Unexpected`] if it refuses, [`Failure::Write`]
/// if the file cannot be written.
pub fn run(args: &CaptureArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::heard()?;
    let request = request(args)?;
    let to_screen = args.out.as_os_str() == "-";
    let failed = |running| move |source| Failure::Write { path: args.out.clone(), source, running };
    let mut lines = match socket::listen(&ask::path(&args.whom)?, &Request::Capture(request))? {
        (Response::Streaming, lines) => lines,
        (other, _) => return Err(Failure::unexpected(&other)),
    };
    let sink: Box<dyn Write> = match to_screen {
        true => Box::new(io::stdout()),
        false => Box::new(File::create(&args.out).map_err(failed(false))?),
    };
    let application = concat!("Longspan ", env!("CARGO_PKG_VERSION"));
    let writer = PcapngWriter::new(BufWriter::new(sink), application, &interfaces(args), args.snap.into());
    let mut file =
        CaptureOutput { writer: writer.map_err(failed(true))?, frames: 0, last: Nanos::ZERO, lost: vec![] };
    while interrupt.flow().is_continue() {
        let Some(line) = next(&mut lines)? else { break };
        file.take(line).map_err(failed(true))?;
    }
    let (frames, lost) = (file.frames, file.lost.iter().sum::<u64>());
    file.writer.finish(file.last, &file.lost).map_err(failed(true))?;
    if lost > 0 {
        console::complain(&format!(
            "{} matching frames were not captured: the reader was behind",
            thousands(lost)
        ));
    }
    match to_screen {
        true => Ok(()),
        false => {
            console::print(&format!("{} frames captured, {} lost\n", thousands(frames), thousands(lost)))
        }
    }
}

/// The request to the gateway.
fn request(args: &CaptureArgs) -> Result<CaptureRequest, Failure> {
    let class = args.class().ok_or_else(|| {
        Failure::usage(
            "--frames control captures nothing with --priority, --host or --qp: control frames have none of them",
        )
    })?;
    Ok(CaptureRequest {
        ports: args.ports.clone(),
        received: args.direction != DirectionArg::Sent,
        sent: args.direction != DirectionArg::Received,
        class: match class {
            FramesArg::All => CaptureClass::All,
            FramesArg::Control => CaptureClass::Control,
            FramesArg::Marked => CaptureClass::Marked,
        },
        priorities: args.priorities.clone(),
        addresses: args.hosts.clone(),
        queue_pair: args.qp,
        snap_bytes: args.snap.into(),
        for_ns: args.duration.0,
        frames_max: args.count,
        bytes_max: args.bytes,
    })
}

/// Two interfaces for each port: the frames that it receives, and those that it sends.
fn interfaces(args: &CaptureArgs) -> Vec<CaptureInterface> {
    let directions = [("received", false), ("sent", true)];
    let interface = |port: &str, (word, outbound): (&str, bool)| CaptureInterface {
        name: format!("{port} {word}"),
        description: format!("frames that port {port} {word}"),
        outbound,
    };
    args.ports.iter().flat_map(|port| directions.map(|direction| interface(port, direction))).collect()
}

/// The next line of the gateway that says something; `Some(None)` where it only says that it is there.
fn next(lines: &mut Lines) -> Result<Option<Option<CaptureLine>>, Failure> {
    let Some(line) = lines.next_line()? else { return Ok(None) };
    if line.is_empty() {
        return Ok(Some(None));
    }
    let parsed = serde_json::from_str(&line);
    Ok(Some(Some(parsed.map_err(|error| Failure::Unexpected(format!("{error} in a capture")))?)))
}

/// The capture so far.
struct CaptureOutput<W> {
    writer: PcapngWriter<W>,
    frames: u64,
    /// The time of the last frame.
    last: Nanos,
    /// Frames that are missing, by interface.
    lost: Vec<u64>,
}

impl<W: Write> CaptureOutput<W> {
    fn take(&mut self, line: Option<CaptureLine>) -> io::Result<()> {
        match line {
            None => Ok(()),
            Some(CaptureLine::Lost(lost)) => {
                self.lost = lost.into_iter().flatten().collect();
                Ok(())
            }
            Some(CaptureLine::Frame { at_ns, port, sent, length, data }) => {
                self.frames += 1;
                self.last = self.last.max(Nanos(at_ns));
                let interface = port.saturating_mul(2).saturating_add(sent.into());
                self.writer.write(interface, Nanos(at_ns), &bytes(&data), length)
            }
        }
    }
}

/// The bytes of hexadecimal digits, up to the first that is none.
fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.map_while(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_bytes_up_to_the_first_that_is_none() {
        assert_eq!(bytes("00ff1a"), [0, 255, 26]);
        assert_eq!(bytes("00fg1a"), [0]);
        assert!(bytes("0").is_empty());
    }
}
