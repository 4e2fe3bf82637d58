//! `longspan capture` and `longspan events`, whose streams reach their readers at once and say how they ended.

use crate::configuration::{LOSSLESS, two_ports};
use crate::lab::{Flow, Lab, Process, Sender, ping, tshark, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::process::Stdio;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_capture_is_written_as_frames_pass_and_is_whole_after_sigterm", ends_by_signal),
        on_the_wire("a_capture_whose_reader_stands_still_counts_what_it_loses_and_gives_the_rest", stalls),
        on_the_wire("streams_of_a_gateway_that_ends_are_cut_off_and_fail", cut_off),
    ]
}

fn ends_by_signal(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let file = lab.path("frames.pcapng");
    let mut command = pair.gateway.command(&["capture", "--port", "dc0", "--frames", "all", "--for", "300s"]);
    command.arg("--out").arg(&file);
    let capture = Process::start("capture", command, lab.directory());
    let size = || fs::metadata(&file).map_or(0, |about| about.len());
    wait_until("the header", || size() > 0);
    let header = size();
    ping(&pair.near, &pair.far, 5);
    wait_until("frames", || size() > header && tshark(&file, "icmp", &["frame.len"]).len() == 10);
    capture.signal(Signal::TERM);
    let ended = capture.ended();
    assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
    assert!(ended.stdout.contains("frames captured, 0 lost"), "{}", ended.stdout);
}

fn stalls(lab: &Lab) {
    /// All buffers of a capture of whole frames: 8 MiB.
    const BUFFERS: u64 = 8_388_608 / 9_216;
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let mut command = pair.gateway.command(&["capture", "--port", "dc0", "--frames", "all", "--for", "1s"]);
    command.args(["--direction", "received", "--snap", "9216", "--out", "-"]);
    let mut capture = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = capture.stdout.take().expect("it has a pipe");
    let mut read = vec![0; 4];
    out.read_exact(&mut read).unwrap();
    // Two seconds of frames, of which sockets and pipes hold a few hundred.
    let (dscp, priority) = LOSSLESS;
    let flow = Flow { port: 1, dscp, priority, bps: 10_000_000, count: Some(10_000) };
    let sent = Sender::start(lab, &pair.near, &pair.far, 250, 1_000_000_000, &[flow]).finished();
    out.read_to_end(&mut read).unwrap();
    let output = capture.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}: {text}", output.status);
    let numbers = text.split_whitespace().filter_map(|word| word.replace(',', "").parse::<u64>().ok());
    let [lost, captured, lost_too] = numbers.collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(lost, lost_too);
    assert!(lost > 0 && captured >= BUFFERS && captured + lost <= sent.sent[&1] + 100, "{text}");
    let file = lab.path("stalled.pcapng");
    fs::write(&file, read).unwrap();
    assert_eq!(tshark(&file, "frame", &["frame.number"]).len() as u64, captured);
}

fn cut_off(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let file = lab.path("frames.pcapng");
    let mut command = pair.gateway.command(&["capture", "--port", "dc0", "--for", "300s"]);
    command.arg("--out").arg(&file);
    let capture = Process::start("capture", command, lab.directory());
    // An event that is there before the first new one.
    assert!(pair.gateway.reload(&two_ports("1G", "1G")).status.success());
    let mut events = Process::start("events", pair.gateway.command(&["events"]), lab.directory());
    events.wait_for_output("reload");
    wait_until("the capture to begin", || file.exists());
    assert!(pair.gateway.end().status.success());
    for stream in [capture, events] {
        let ended = stream.ended();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("cut"), "{}", ended.stderr);
    }
    assert!(tshark(&file, "frame", &["frame.number"]).is_empty(), "but it is whole");
}
