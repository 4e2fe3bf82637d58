//! `longspan capture`.

use crate::ask;
use crate::cli::capture::{CaptureArgs, DirectionArg, FramesArg};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use gateway::socket::{self, CaptureClass, CaptureLine, CaptureRequest, Lines, Request, Response};
use replay::capture::{CaptureInterface, PcapngWriter};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use telemetry::table::thousands;
use units::Nanos;

/// Why a capture has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// At one of its limits, or by a signal.
    AsAsked,
    /// The gateway cut it off.
    CutOff,
    /// The reader of standard output wants no more.
    Unread,
}

/// Captures frames of a running gateway.
///
/// # Errors
/// [`Failure::Usage`] for conditions that no frame meets, [`Failure::Ask`] if no gateway answers, [`Failure::Busy`] or
/// [`Failure::Rejected`] if it refuses, [`Failure::CutOff`] if it ends before the capture does, [`Failure::Write`] if the
/// file cannot be written.
pub fn run(args: &CaptureArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::any_heard()?;
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
    let ended = match copy(&mut lines, &mut file, &interrupt) {
        Err(CopyError::File(error)) if to_screen && error.kind() == ErrorKind::BrokenPipe => Ended::Unread,
        Err(CopyError::File(error)) => return Err(failed(true)(error)),
        Err(CopyError::Gateway(failure)) => return Err(failure),
        Ok(ended) => ended,
    };
    let (frames, lost) = (file.frames, file.lost.iter().sum::<u64>());
    if ended != Ended::Unread {
        file.writer.finish(file.last, &file.lost).map_err(failed(true))?;
    }
    tell(frames, lost, to_screen)?;
    if ended == Ended::CutOff { Err(Failure::CutOff("capture")) } else { Ok(()) }
}

/// Why frames cannot be copied.
enum CopyError {
    File(io::Error),
    Gateway(Failure),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Failure> for CopyError {
    fn from(failure: Failure) -> Self {
        Self::Gateway(failure)
    }
}

/// Copies frames until the end. A reader gets them as soon as the gateway has no more of them at once.
fn copy<W: Write>(
    lines: &mut Lines,
    file: &mut CaptureOutput<W>,
    interrupt: &Interrupt,
) -> Result<Ended, CopyError> {
    while interrupt.flow().is_continue() {
        if !lines.has_more() {
            file.writer.flush()?;
        }
        match next(lines)? {
            Next::Line(CaptureLine::End) => return Ok(Ended::AsAsked),
            Next::Line(line) => file.take(line)?,
            Next::Nothing => {}
            Next::Over => return Ok(Ended::CutOff),
        }
    }
    Ok(Ended::AsAsked)
}

/// Prints how many frames there are: beside the capture where that is printed.
fn tell(frames: u64, lost: u64, to_screen: bool) -> Result<(), Failure> {
    if lost > 0 {
        console::complain(&format!(
            "{} matching frames were not captured: the reader was behind",
            thousands(lost)
        ));
    }
    let text = format!("{} frames captured, {} lost", thousands(frames), thousands(lost));
    match to_screen {
        true => console::complain(&text),
        false => console::print(&(text + "\n"))?,
    }
    Ok(())
}

/// The request to the gateway.
fn request(args: &CaptureArgs) -> Result<CaptureRequest, Failure> {
    let class = args.class().ok_or_else(|| {
        Failure::usage(
            "--frames control captures nothing with --priority, --host or --qp: control frames have none of them",
        )
    })?;
    if args.hosts.len() > 2 || args.hosts.windows(2).any(|pair| pair[0].is_ipv4() != pair[1].is_ipv4()) {
        return Err(Failure::usage(
            "a packet has two addresses of one family: give --host at most two of them",
        ));
    }
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

/// The next thing from the gateway.
enum Next {
    Line(CaptureLine),
    /// It only says that it is there.
    Nothing,
    /// The stream is over.
    Over,
}

fn next(lines: &mut Lines) -> Result<Next, Failure> {
    let Some(line) = lines.next_line()? else { return Ok(Next::Over) };
    if line.is_empty() {
        return Ok(Next::Nothing);
    }
    let parsed = serde_json::from_str(&line);
    Ok(Next::Line(parsed.map_err(|error| Failure::Unexpected(format!("{error} in a capture")))?))
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
    fn take(&mut self, line: CaptureLine) -> io::Result<()> {
        match line {
            CaptureLine::End => Ok(()),
            CaptureLine::Lost(lost) => {
                self.lost = lost.into_iter().flatten().collect();
                Ok(())
            }
            CaptureLine::Frame { at_ns, port, sent, length, data } => {
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
