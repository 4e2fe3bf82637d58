//! A whole replay: the first bytes choose the gateway, the rest is a capture. Nothing panics, no
//! frame is lost track of, and what is written can be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use replay::capture::{
    CaptureReader, CaptureSink, CaptureWriter, FrameSource, Pace, SourceMatch, Speed, Splitter,
};
use replay::{Input, Outputs, Replay, Side};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use switch::Program;
use units::{BitRate, PortId};
use wire::ethernet::MacAddress;

/// Bytes that choose the gateway and how it is played.
const CHOICES: usize = 8;

/// A capture that can be looked at when it is written.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CaptureSink for Memory {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.borrow_mut().cut(length)
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choices, capture)) = data.split_first_chunk::<CHOICES>() else { return };
    let Ok(gateway) = config::parse(&gateway(choices), "fuzzed.toml") else {
        panic!("every choice makes a gateway: {}", gateway(choices));
    };
    let Ok(source) = CaptureReader::new(capture, "fuzzed.pcap") else { return };
    replay_whole(&gateway.program, Input { source, pace: pace(choices), side: side(choices) });
});

fn replay_whole(program: &Arc<Program>, input: Input<CaptureReader<&[u8]>>) {
    let Ok(replay) = Replay::new(program.clone(), vec![input]) else { return };
    let captures = program.settings().ports.iter().map(|_| Memory::default());
    let captures: Vec<_> = captures.collect();
    let writers = captures.iter().map(|capture| Some(CaptureWriter::new(capture.clone(), "out.pcap")));
    // An instant that pcap cannot hold ends the replay.
    let complete = match replay.run("fuzzed", Outputs::new(writers), |_| std::ops::ControlFlow::Continue(()))
    {
        Ok(outcome) => {
            assert!(outcome.report.conservation.holds, "{}", outcome.report.to_json());
            Some(outcome.report)
        }
        Err(_) => None,
    };
    for (port, capture) in captures.iter().enumerate() {
        let written = capture.0.borrow();
        let mut reader = CaptureReader::new(&written[..], "out.pcap").expect("it has a header");
        let mut frames = 0;
        while reader.next_frame().expect("it is whole").is_some() {
            frames += 1;
        }
        if let Some(report) = &complete {
            let port = &report.ports[port];
            assert_eq!(frames, port.out.frames + port.control_out.frames);
        }
    }
}

fn gateway(choices: &[u8; CHOICES]) -> String {
    let [mode, buffer, trust, haul, window, thresholds, queue, _] = *choices;
    let pick = |choice: u8, words: &[&str]| words[usize::from(choice) % words.len()].to_owned();
    let forwarding = pick(
        mode,
        &[
            "mode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]",
            "mode = \"bridge\"",
            "mode = \"route\"\n\
             neighbour = [{ address = \"10.0.0.2\", mac = \"52:54:00:00:00:02\", port = \"lh0\" }]\n\
             route = [{ prefix = \"0.0.0.0/0\", next_hops = [\"10.0.0.2\"] }]",
        ],
    );
    let shared = pick(buffer, &["64KiB", "256KiB", "4MiB"]);
    let trust = pick(trust, &["dscp", "pcp", "nothing"]);
    let rate = pick(haul, &["1M", "10M", "1G", "100G", "400G"]);
    let tx_window = pick(window, &["0us", "2us", "20us"]);
    let xoff = pick(thresholds, &["xoff = \"3kB\"\nxon = \"2kB\"", "xoff = \"20kB\"\nxon = \"20kB\""]);
    let queue = pick(queue, &["scheduling = \"strict\"", "weight = 3", "weight = 200"]);
    format!(
        r#"
[buffer]
shared = "{shared}"
headroom = "64KiB"

[forwarding]
{forwarding}

[[port]]
name = "dc0"
rate = "100G"
mac = "52:54:00:00:00:aa"
addresses = ["10.0.1.1/24"]
classify = {{ trust = "{trust}" }}
[[port.lossless]]
priorities = [0, 3]
{xoff}
headroom = "32KiB"

[[port]]
name = "lh0"
rate = "{rate}"
mac = "52:54:00:00:00:bb"
addresses = ["10.0.0.1/24"]
tx_window = "{tx_window}"
[[port.lossless]]
priorities = [3]
{xoff}
headroom = "32KiB"
[[port.queue]]
priorities = [3, 4]
{queue}
ecn = {{ kmin = "2kB", kmax = "9kB", pmax = 0.5 }}
"#
    )
}

fn pace(choices: &[u8; CHOICES]) -> Pace {
    match choices[7] % 4 {
        0 => Pace::AsCaptured,
        1 => Pace::LineRate(BitRate::gigabits(100)),
        2 => Pace::Scaled(Speed::new(1_000, 1).expect("both are above zero")),
        _ => Pace::Scaled(Speed::new(1, 3).expect("both are above zero")),
    }
}

fn side(choices: &[u8; CHOICES]) -> Side {
    if choices[7] & 4 == 0 {
        return Side::Port(PortId(0));
    }
    let left = SourceMatch::Mac(MacAddress([0x52, 0x54, 0, 0, 0, 1]));
    let right = "10.0.0.0/8".parse().expect("it is a prefix");
    Side::Split(Splitter::new([(left, PortId(0)), (right, PortId(1))]))
}
