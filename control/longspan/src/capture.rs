//! `longspan capture`.

use crate::ask;
use crate::cli::capture::{CaptureArgs, DirectionArg, FramesArg};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use gateway::socket::{CaptureClass, CaptureLine, CaptureRequest, Lines, Request};
use replay::capture::{CaptureInterface, PcapngWriter};
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use units::Nanos;
use units::human::thousands;

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
    let mut lines = ask::listen(&args.whom, &Request::Capture(request))?;
    let sink: Box<dyn Write> = match to_screen {
        true => Box::new(io::stdout()),
        false => Box::new(File::create(&args.out).map_err(Failure::uncreated(&args.out))?),
    };
    let application = concat!("Longspan ", env!("CARGO_PKG_VERSION"));
    let writer = PcapngWriter::new(BufWriter::new(sink), application, &interfaces(args), args.snap.into());
    let writer = writer.map_err(Failure::unwritten(&args.out))?;
    let mut file = CaptureOutput { writer, frames: 0, last: Nanos::ZERO, lost: vec![] };
    let ended = match copy(&mut lines, &mut file, || interrupt.flow().is_break()) {
        Err(CopyError::File(error)) if to_screen && error.kind() == ErrorKind::BrokenPipe => Ended::Unread,
        Err(CopyError::File(error)) => return Err(Failure::unwritten(&args.out)(error)),
        Err(CopyError::Gateway(failure)) => return Err(failure),
        Ok(ended) => ended,
    };
    let summary = file.summary(ended == Ended::AsAsked);
    if ended != Ended::Unread {
        let lost = summary.is_whole.then_some(&*file.lost);
        file.writer.finish(file.last, lost).map_err(Failure::unwritten(&args.out))?;
    }
    print(&summary, to_screen)?;
    if ended == Ended::CutOff { Err(Failure::CutOff("capture")) } else { Ok(()) }
}

/// Why frames cannot be copied.
enum CopyError {
    File(io::Error),
    Gateway(Failure),
}

/// Copies frames until the end, or until the gateway has told what is lost after `is_to_end` holds. A reader gets them as soon
/// as the gateway has no more of them at once.
fn copy<W: Write>(
    lines: &mut Lines,
    file: &mut CaptureOutput<W>,
    is_to_end: impl Fn() -> bool,
) -> Result<Ended, CopyError> {
    loop {
        let is_last = is_to_end();
        if !lines.has_more() {
            file.writer.flush().map_err(CopyError::File)?;
        }
        let line = lines.next_line().map_err(|error| CopyError::Gateway(error.into()))?;
        let Some(line) = line else { return Ok(Ended::CutOff) };
        // An empty line only says that the gateway is there.
        if line.is_empty() {
            continue;
        }
        let line = serde_json::from_str(&line)
            .map_err(|error| CopyError::Gateway(Failure::Unexpected(format!("{error} in a capture"))))?;
        let is_account = matches!(line, CaptureLine::Lost(_));
        if matches!(line, CaptureLine::End) {
            return Ok(Ended::AsAsked);
        }
        file.take(line).map_err(CopyError::File)?;
        if is_last && is_account {
            return Ok(Ended::AsAsked);
        }
    }
}

/// How many frames there are.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    captured: u64,
    /// Frames that the gateway has reported as lost.
    lost: u64,
    /// Whether no more can be lost: the gateway told of them at the end.
    is_whole: bool,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames captured, ", thousands(self.captured))?;
        match (self.is_whole, self.lost) {
            (true, lost) => write!(f, "{} lost", thousands(lost)),
            (false, 0) => f.write_str("an unknown number lost"),
            (false, lost) => write!(f, "{} lost, and an unknown number after that", thousands(lost)),
        }
    }
}

/// Prints how many frames there are: on standard error if the capture is printed.
fn print(summary: &Summary, to_screen: bool) -> Result<(), Failure> {
    if summary.lost > 0 {
        let lost = thousands(summary.lost);
        console::complain(&format!("{lost} matching frames were not captured: the reader was behind"));
    }
    match to_screen {
        true => console::complain(&summary.to_string()),
        false => console::print(&format!("{summary}\n"))?,
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
    fn summary(&self, is_whole: bool) -> Summary {
        Summary { captured: self.frames, lost: self.lost.iter().sum(), is_whole }
    }

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
    use gateway::socket;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;
    use std::thread;

    /// What a gateway that says `lines` and hangs up has captured, for a user who ends the capture at once if `is_ended`.
    fn captured(lines: &[CaptureLine], is_ended: bool) -> (Ended, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let said = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect::<String>();
        let gateway = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            (&stream).write_all(format!("\"streaming\"\n{said}").as_bytes()).unwrap();
        });
        let (_, mut lines) = socket::listen(&path, &Request::Show).unwrap();
        gateway.join().unwrap();
        let interface = CaptureInterface { name: "a".into(), description: "b".into(), outbound: false };
        let writer = PcapngWriter::new(Vec::new(), "test", &[interface.clone(), interface], 100).unwrap();
        let mut file = CaptureOutput { writer, frames: 0, last: Nanos::ZERO, lost: vec![] };
        let Ok(ended) = copy(&mut lines, &mut file, || is_ended) else { panic!("it ends") };
        (ended, file.summary(ended == Ended::AsAsked).to_string())
    }

    #[test]
    fn a_capture_knows_what_was_lost_only_if_the_gateway_tells_at_its_end() {
        let frame = || CaptureLine::Frame { at_ns: 1, port: 0, sent: false, length: 2, data: "ff00".into() };
        let lost = |count| CaptureLine::Lost(vec![[count, 0]]);
        let cases = [
            (vec![frame(), lost(7), CaptureLine::End], Ended::AsAsked, "1 frames captured, 7 lost"),
            (vec![lost(0), frame()], Ended::CutOff, "1 frames captured, an unknown number lost"),
            (
                vec![lost(7), frame()],
                Ended::CutOff,
                "1 frames captured, 7 lost, and an unknown number after that",
            ),
        ];
        for (lines, ended, told) in cases {
            assert_eq!(captured(&lines, false), (ended, told.to_owned()));
        }
        let lines = [frame(), frame(), lost(5), frame(), lost(9)];
        assert_eq!(captured(&lines, true), (Ended::AsAsked, "2 frames captured, 5 lost".to_owned()));
    }

    #[test]
    fn hexadecimal_digits_are_bytes_up_to_the_first_that_is_none() {
        assert_eq!(bytes("00ff1a"), [0, 255, 26]);
        assert_eq!(bytes("00fg1a"), [0]);
        assert!(bytes("0").is_empty());
    }
}
