//! Captures replayed through several lanes: each frame leaves once, flows keep their order, nothing lossless is lost, and the
//! totals are those of one lane. The seed of the configuration draws the schedule.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::SharedCapture;
use core::ops::ControlFlow;
use replay::capture::{CaptureError, CaptureFile, CaptureReader, CaptureWriter};
use replay::capture::{Captured, FrameSource, Interface, Pace, Splitter};
use replay::report::Report;
use replay::series::{Sampling, Series};
use replay::{Input, Outputs, Replay, Side};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::rc::Rc;
use switch::{Happening, LanesRefusal};
use units::{Interval, Nanos, PortId};

/// Hosts at 100 Gb/s behind a link of 10 Gb/s. Priority 3 is lossless.
const GATEWAY: &str = r#"
[buffer]
shared = "4MiB"
headroom = "8MiB"
egress_lossy = "4MiB"
[[port]]
name = "dc0"
rate = "100G"
distance = "100m"
[[port.lossless]]
priorities = [3]
xoff = "100kB"
headroom = "8MiB"
[[port]]
name = "lh0"
rate = "10G"
"#;

const FRAMES: u16 = 3_000;
const HOSTS: u16 = 16;

/// Frames that were made for a test, each with its time.
struct Made {
    frames: Vec<(Nanos, Vec<u8>)>,
    next: usize,
}

impl FrameSource for Made {
    fn advance(&mut self) -> Result<bool, CaptureError> {
        self.next += 1;
        Ok(self.next <= self.frames.len())
    }

    fn current(&self) -> Option<Captured<'_>> {
        let (at, data) = self.frames.get(self.next.checked_sub(1)?)?;
        Some(Captured { at: *at, data, original_length: data.len() as u32, interface: Interface::default() })
    }
}

/// Packet `number` between two of the hosts, in one direction or the other. Every fourth is best effort.
fn packet(number: u16, back: bool) -> Vec<u8> {
    let (host, dscp) = ((number % HOSTS) as u8, if (number / HOSTS).is_multiple_of(4) { 0 } else { 26 });
    let mut bytes = vec![0; 1_042];
    bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0x10, host, 8, 0]);
    bytes[14..24].copy_from_slice(&[0x45, dscp << 2, 4, 4, 0, 0, 0, 0, 64, 17]);
    let (near, far) = ([10, 0, 0, host], [10, 1, 0, host / 4]);
    let addresses = if back { [far, near] } else { [near, far] };
    bytes[26..34].copy_from_slice(addresses.as_flattened());
    bytes[60..62].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A stream at 83 Gb/s towards the link of 10 Gb/s, and a lighter one back.
fn streams() -> Vec<Input<Made>> {
    let stream = |(port, gap)| {
        let packet = |number| (Nanos(1_000_000_000 + u64::from(number) * gap), packet(number, port == 1));
        let source = Made { frames: (0..FRAMES).map(packet).collect(), next: 0 };
        Input { source, pace: Pace::AsCaptured, side: Side::Port(PortId(port)) }
    };
    [(0, 100), (1, 870)].map(stream).into()
}

struct Outcome {
    report: Report,
    /// The captures of the ports.
    captures: Vec<Vec<u8>>,
    series: Series,
    /// The frames of the events of drops.
    told: u64,
}

fn replay<S: FrameSource>(text: &str, inputs: Vec<Input<S>>, lanes: usize, seed: u64) -> Outcome {
    let text = format!("[gateway]\nname = \"gw\"\nseed = {seed}\n[dpdk]\nlanes = {lanes}\n{text}");
    let program = config::parse(&text, "gw.toml").unwrap().program;
    let sinks: Vec<SharedCapture> =
        program.settings().ports.iter().map(|_| SharedCapture::default()).collect();
    let writers = sinks.iter().map(|sink| Some(CaptureWriter::new(sink.clone(), "out")));
    let told = Rc::new(Cell::new(0));
    let sum = told.clone();
    let replay = Replay::new(program, inputs).unwrap().with_lanes(lanes).unwrap();
    let replay =
        replay.sample(Sampling { interval: Interval(1_000), rows: 10_000 }).record_events(move |it| {
            if let Happening::Dropped { volume, .. } = it.what {
                sum.set(sum.get() + volume.frames);
            }
        });
    let outcome = replay.run("gw", Outputs::new(writers), |_| ControlFlow::Continue(())).unwrap();
    let Some(series) = outcome.series else { panic!("it was requested") };
    assert!(
        outcome.report.conservation.holds,
        "seed {seed}, {lanes} lanes: {:#?}",
        outcome.report.conservation
    );
    assert_eq!(outcome.report.ending.state, "drained", "seed {seed}, {lanes} lanes");
    let captures = sinks.iter().map(|sink| sink.take()).collect();
    Outcome { report: outcome.report, captures, series, told: told.get() }
}

/// The frames of a capture.
fn frames(capture: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::new(Cursor::new(capture), "out").unwrap();
    core::iter::from_fn(|| reader.next_frame().unwrap().map(|frame| frame.data.to_vec())).collect()
}

/// The numbers of the packets of each flow, in the order of a capture.
fn flows(capture: &[u8]) -> BTreeMap<(Vec<u8>, u8), Vec<u16>> {
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    for frame in frames(capture).iter().filter(|frame| frame.len() > 1_000) {
        let number = u16::from_be_bytes([frame[60], frame[61]]);
        flows.entry((frame[26..34].to_vec(), frame[15])).or_default().push(number);
    }
    flows
}

/// For each port: frames in, out and dropped, and XOFFs less XONs.
fn totals(report: &Report) -> Vec<(u64, u64, u64, bool)> {
    let ports = report.ports.iter().map(|port| {
        let pauses = &port.priorities[3].pauses_sent.frames;
        let dropped = port.drops().map(|(_, _, volume)| volume.frames).sum();
        (port.arrived.frames, port.out.frames, dropped, pauses.xoff == pauses.xon)
    });
    ports.collect()
}

#[test]
fn each_frame_leaves_once_in_the_order_of_its_flow_under_every_schedule() {
    let one = replay(GATEWAY, streams(), 1, 0);
    let sorted = |capture: &[u8]| {
        let mut frames = frames(capture);
        frames.retain(|frame| frame.len() > 1_000);
        frames.sort();
        frames
    };
    let expected: Vec<_> = one.captures.iter().map(|it| sorted(it)).collect();
    assert_eq!(expected[1].len(), usize::from(FRAMES));
    for (seed, lanes) in (0..20).flat_map(|seed| [2, 4].map(|lanes| (seed, lanes))) {
        let many = replay(GATEWAY, streams(), lanes, seed);
        for (capture, expected) in many.captures.iter().zip(&expected) {
            assert!(sorted(capture) == *expected, "seed {seed}, {lanes} lanes");
            assert!(flows(capture).values().all(|flow| flow.is_sorted()), "seed {seed}, {lanes} lanes");
        }
        assert_eq!(totals(&many.report), totals(&one.report), "seed {seed}, {lanes} lanes");
        assert!(many.report.ports[0].priorities[3].pauses_sent.frames.xoff > 0);
    }
}

#[test]
fn a_series_of_lanes_adds_up_what_they_hold() {
    let most = |lanes, seed| {
        let Outcome { series, .. } = replay(GATEWAY, streams(), lanes, seed);
        let rows = 0..series.times().len();
        let column =
            series.columns().iter().position(|it| it.port == PortId(1) && it.name() == "egress_bytes");
        let of = |row: usize| series.row(row)[column.unwrap()].unwrap();
        assert_eq!(of(rows.end - 1), 0);
        rows.map(of).max().unwrap()
    };
    let one = most(1, 0);
    for (seed, lanes) in (0..20).flat_map(|seed| [2, 4].map(|lanes| (seed, lanes))) {
        // A link that lanes share stands still for less than a nanosecond between two frames.
        assert!(most(lanes, seed).abs_diff(one) < 4_000, "seed {seed}, {lanes} lanes");
    }
}

#[test]
fn a_seed_draws_one_schedule_and_others_draw_others() {
    let bytes = |seed, lanes| {
        let Outcome { report, captures, .. } = replay(GATEWAY, streams(), lanes, seed);
        (report.to_json(), captures)
    };
    let runs: Vec<_> = (0..20).map(|seed| bytes(seed, 2)).collect();
    assert!(runs[7] == bytes(7, 2));
    let distinct: std::collections::BTreeSet<_> = runs.iter().map(|(_, captures)| captures).collect();
    assert_eq!(distinct.len(), runs.len());
    assert!((1..20).all(|seed| bytes(seed, 1).1 == bytes(0, 1).1), "one lane draws nothing here");
}

#[test]
fn drops_of_all_lanes_are_told_and_hit_best_effort_alone() {
    let narrow = GATEWAY.replace("egress_lossy = \"4MiB\"", "egress_lossy = \"64KiB\"");
    for (seed, lanes) in (0..20).flat_map(|seed| [1, 2, 4].map(|lanes| (seed, lanes))) {
        let Outcome { report, captures, told, .. } = replay(&narrow, streams(), lanes, seed);
        let dropped: u64 = totals(&report).iter().map(|port| port.2).sum();
        assert!(told == dropped && dropped > 100, "seed {seed}, {lanes} lanes: {told}, {dropped}");
        let lossless = flows(&captures[1]).into_iter().filter(|((_, class), _)| *class != 0);
        let left: usize = lossless.map(|(_, flow)| flow.len()).sum();
        assert_eq!(
            left,
            (0..FRAMES).filter(|number| !(number / HOSTS).is_multiple_of(4)).count(),
            "seed {seed}"
        );
    }
}

/// A configuration of the repository, without its name and seed, and the capture that it is for.
fn soft_roce(name: &str) -> (String, Vec<Input<CaptureFile>>) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("config/gateways").join(name)).unwrap();
    let head = text.find("[gateway]").unwrap();
    let end = text[head + 1..].find("\n[").unwrap();
    let source = CaptureFile::open(root.join("tests/data/captures/rxe-cm-multiqp.pcap")).unwrap();
    let rules = [(PortId(0), "52:54:00:00:00:01"), (PortId(1), "52:54:00:00:00:02")];
    let side = Side::Split(Splitter::new(rules.map(|(port, source)| (source.parse().unwrap(), port))));
    // Lanes need more headroom than one.
    let text = text[head + end + 1..].replace("\"256KiB\"", "\"16MiB\"");
    (text, vec![Input { source, pace: Pace::AsCaptured, side }])
}

#[test]
fn a_capture_of_two_hosts_gives_the_totals_of_one_lane() {
    for name in ["replay.toml", "replay-near.toml"] {
        let run = |lanes, seed| {
            let (text, inputs) = soft_roce(name);
            replay(&text, inputs, lanes, seed).report
        };
        let one = run(1, 0);
        for (seed, lanes) in (0..20).flat_map(|seed| [2, 4].map(|lanes| (seed, lanes))) {
            let many = run(lanes, seed);
            assert_eq!(totals(&many), totals(&one), "{name}, seed {seed}, {lanes} lanes");
            let json = many.to_json();
            let mut strays = json.lines().filter(|line| line.contains("\"strays\"")).peekable();
            assert_eq!(strays.peek().is_some(), name == "replay-near.toml");
            assert!(strays.all(|line| line.contains(": 0")), "{name}, seed {seed}, {lanes} lanes");
        }
    }
}

#[test]
fn what_works_with_one_lane_only_is_refused_by_name() {
    let limited = format!("{GATEWAY}[[port.queue]]\npriorities = [1]\nrate_limit = \"1G\"\n");
    let program = config::parse(&limited, "gw.toml").unwrap().program;
    let replay = |lanes| Replay::new(program.clone(), streams()).unwrap().with_lanes(lanes).map(|_| ());
    assert_eq!(replay(1), Ok(()));
    let Err(LanesRefusal { port, what }) = replay(2) else { panic!("it is refused") };
    assert_eq!((port.as_str(), what.name()), ("lh0", "a rate limit"));
}
