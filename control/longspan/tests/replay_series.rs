//! The series of a replay: correct, with no more rows than requested, and without effect on other output.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use std::fs;

const BOTH_SIDES: [&str; 4] = ["--from", "dc0=52:54:00:00:00:01", "--from", "lh0=52:54:00:00:00:02"];

/// Replays both directions of the soft-RoCE capture through a gateway of the repository.
fn soft_roce_through(gateway: &str, arguments: &[&str]) -> Run {
    let (config, capture) = (repository(&format!("config/gateways/{gateway}.toml")), soft_roce());
    let base = ["--config", config.to_str().unwrap(), "--split", capture.to_str().unwrap()];
    replayed(&[&base[..], &BOTH_SIDES, arguments].concat())
}

/// A parsed series.
struct Written {
    header: Vec<String>,
    rows: Vec<Vec<Option<u64>>>,
}

impl Written {
    fn read(path: &str) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(|line| line.split(','));
        let header = lines.next().unwrap().map(str::to_owned).collect();
        let cell = |cell: &str| (!cell.is_empty()).then(|| cell.parse().unwrap());
        Self { header, rows: lines.map(|line| line.map(cell).collect()).collect() }
    }

    /// The cells of the column called `name`.
    fn column(&self, name: &str) -> Vec<Option<u64>> {
        let place = self.header.iter().position(|header| header == name).expect(name);
        self.rows.iter().map(|row| row[place]).collect()
    }

    fn most(&self, name: &str) -> u64 {
        self.column(name).into_iter().flatten().max().unwrap()
    }

    fn times(&self) -> Vec<u64> {
        self.column("time_ns").into_iter().map(Option::unwrap).collect()
    }

    /// The time in nanoseconds during which the column called `name` is above zero.
    fn nanos_above_zero(&self, name: &str) -> u64 {
        let (times, values) = (self.times(), self.column(name));
        let held = times.windows(2).zip(values).filter(|(_, value)| value.unwrap() > 0);
        held.map(|(pair, _)| pair[1] - pair[0]).sum()
    }
}

fn report(path: &str) -> Value {
    json(&fs::read_to_string(path).unwrap())
}

/// 200 frames for the slow link, which obeys pauses, and one pause for it in between.
fn slow_haul(scratch: &Scratch, arguments: &[&str]) {
    const OBEYS: &str = "[[port.lossless]]\npriorities = [3]\nxoff = \"24kB\"\nheadroom = \"64kB\"\n";
    let config = SLOW_HAUL.replace("rate = \"100M\"\n", "rate = \"100M\"\ndistance = \"100m\"\n");
    let config = scratch.write("gateway.toml", config + OBEYS);
    let hosts = scratch.write("hosts.pcap", pcap(&stream(200, 976, 2_000)));
    let haul = scratch.write("haul.pcap", pcap(&[(1_000_100_000, pfc_frame(1_000), 60)]));
    let inputs = [format!("dc0={hosts}"), format!("lh0={haul}")];
    replayed(&[&["--config", &config, "--in", &inputs[0], "--in", &inputs[1]], arguments].concat());
}

#[test]
fn every_column_has_a_name_with_a_unit_and_is_in_the_docs() {
    let scratch = Scratch::new();
    let series = scratch.path("series.csv");
    soft_roce_through("replay-bifrost", &["--series", &series]);
    let text = fs::read_to_string(series).unwrap();
    let expected = "time_ns,dc0.ingress_lossless_wire_bytes,dc0.egress_bytes,\
                    dc0.bifrost_virtual_incoming_wire_bytes,dc0.bifrost_granted_wire_bytes,\
                    dc0.pfc_sent_paused_priorities,dc0.pfc_received_paused_priorities,\
                    lh0.egress_bytes,lh0.pfc_sent_paused_priorities,lh0.pfc_received_paused_priorities";
    assert_eq!(text.lines().next().unwrap(), expected);
    let docs = fs::read_to_string(repository("docs/series.md")).unwrap();
    for column in expected.split(',') {
        let name = column.rsplit('.').next().unwrap();
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn what_is_looked_at_does_not_change() {
    for gateway in ["replay", "replay-bifrost"] {
        let scratch = Scratch::new();
        let written = |name: &str, arguments: &[&str]| {
            let files = ["dc0", "lh0", "json"].map(|file| scratch.path(&format!("{name}.{file}")));
            let [dc0, lh0, report] = &files;
            let outputs = [format!("dc0={dc0}"), format!("lh0={lh0}")];
            let base = ["--out", &outputs[0], "--out", &outputs[1], "--report", report];
            soft_roce_through(gateway, &[&base[..], arguments].concat());
            files.map(|file| fs::read(file).unwrap())
        };
        let series = scratch.path("series.csv");
        let alone = written("alone", &[]);
        assert!(alone == written("looked-at", &["--series", &series]), "{gateway}");
        let often = ["--series", &series, "--sample", "1ns", "--rows", "7"];
        assert!(alone == written("often", &often), "{gateway}");
    }
}

#[test]
fn the_series_of_bifrost_agrees_with_the_report() {
    let scratch = Scratch::new();
    soft_roce_through("replay-bifrost", &["--out-dir", &scratch.path("out")]);
    let series = Written::read(&scratch.path("out/series.csv"));
    let report = report(&scratch.path("out/report.json"));
    let (dc0, bifrost) = (&report["ports"][0], &report["ports"][0]["bifrost"]);
    let figure = |key: &str| bifrost[key].as_u64().unwrap();
    let first_slot = series.column("dc0.bifrost_granted_wire_bytes").iter().position(Option::is_some);
    // The first slot and the series start with the first frame. Until the slot has ended, its figures are undefined.
    let times = series.times();
    let ended = times.iter().position(|time| time - times[0] >= figure("slot_ns"));
    assert_eq!((first_slot, ended), (Some(1), Some(1)), "{:?}", &times[..3]);

    let line = 1_000_000_000 / 8 * figure("slot_ns") / 1_000_000_000;
    assert_eq!(series.most("dc0.bifrost_granted_wire_bytes"), line, "never more than the line");
    let [queue, incoming] = ["ingress_lossless_wire_bytes", "bifrost_virtual_incoming_wire_bytes"]
        .map(|name| series.most(&format!("dc0.{name}")));
    assert!(queue >= figure("longest_queue_wire_bytes"), "{queue}: seen more often than once a slot");
    let group = &dc0["priorities"][3]["ingress"];
    let (held, frames) = (group["watermark_bytes"].as_u64().unwrap(), group["received"]["frames"].as_u64());
    assert!((held..=held + 24 * frames.unwrap()).contains(&queue), "{queue} on the wire, {held} without");
    assert!(incoming <= figure("peak_wire_bytes"), "{incoming}");

    // Each change has a row, so the pauses add up to those of the frames, apart from the sampling.
    let paused = dc0["priorities"][3]["pauses_sent"]["paused_ns"].as_u64().unwrap();
    let shown = series.nanos_above_zero("dc0.pfc_sent_paused_priorities");
    assert!(shown.abs_diff(paused) < figure("paused_slots") * 1_000, "{shown} ns of {paused} ns");
}

#[test]
fn the_series_of_thresholds_agrees_with_the_report() {
    let scratch = Scratch::new();
    soft_roce_through("replay", &["--out-dir", &scratch.path("out")]);
    let series = Written::read(&scratch.path("out/series.csv"));
    let report = report(&scratch.path("out/report.json"));
    let queue = |port: usize, priority: usize| {
        report["ports"][port]["priorities"][priority]["egress"]["watermark_bytes"].as_u64().unwrap()
    };
    assert_eq!(series.most("lh0.egress_bytes"), queue(1, 3), "priority 3 is alone when it is longest");
    let pauses = &report["ports"][0]["priorities"][3]["pauses_sent"];
    let (paused, shown) =
        (pauses["paused_ns"].as_u64().unwrap(), series.nanos_above_zero("dc0.pfc_sent_paused_priorities"));
    assert!(shown.abs_diff(paused) <= 4_000, "{shown} ns of {paused} ns: two pauses, four ends");

    let times = series.times();
    assert!(times[0] == 0 && times.is_sorted() && times.iter().all(|time| time.is_multiple_of(1_000)));
    let clock = |key: &str| report["clock"][key].as_u64().unwrap();
    let end = clock("end_ns") - clock("first_arrival_ns");
    assert!((1..=1_000).contains(&(times.last().unwrap() - end)), "the last row is the end");
}

#[test]
fn time_counts_from_the_first_frame_even_where_that_one_comes_in_nowhere() {
    let scratch = Scratch::new();
    let (config, capture) = (repository("config/gateways/replay.toml"), soft_roce());
    let base = ["--config", config.to_str().unwrap(), "--split", capture.to_str().unwrap()];
    // The first frame of the capture comes from the other host.
    let out = scratch.path("out");
    replayed(&[&base[..], &BOTH_SIDES[..2], &["--out-dir", &out]].concat());
    let (series, report) =
        (Written::read(&format!("{out}/series.csv")), report(&format!("{out}/report.json")));
    let others =
        frames_of(&capture).iter().filter(|(_, frame, _)| frame[6..12] != [0x52, 0x54, 0, 0, 0, 1]).count();
    assert_eq!(report["input"]["unassigned"]["frames"], others);
    let clock = |key: &str| report["clock"][key].as_u64().unwrap();
    let end = clock("end_ns") - clock("first_arrival_ns");
    assert!((1..=1_000).contains(&(series.times().last().unwrap() - end)));
}

#[test]
fn a_pause_ends_in_the_series_when_it_runs_out_and_nothing_else_happens() {
    let scratch = Scratch::new();
    let series = scratch.path("series.csv");
    slow_haul(&scratch, &["--series", &series]);
    let series = Written::read(&series);
    let [received, times] = ["lh0.pfc_received_paused_priorities", "time_ns"].map(|name| series.column(name));
    let rows: Vec<_> = received.iter().zip(times).filter(|(paused, _)| **paused == Some(1)).collect();
    assert_eq!(rows[0].1, Some(101_000), "the first sample behind the pause of 100 us");
    // 1000 quanta of 512 bits at 100 Mb/s are 5.12 ms.
    assert_eq!(series.nanos_above_zero("lh0.pfc_received_paused_priorities"), 5_120_000 - 1_000);
}

#[test]
fn fewer_rows_are_what_a_longer_interval_would_have_shown() {
    let scratch = Scratch::new();
    let [few, many, plot] = ["few.csv", "many.csv", "few.svg"].map(|name| scratch.path(name));
    slow_haul(&scratch, &["--series", &few, "--plot", &plot, "--rows", "40"]);
    let rows = Written::read(&few).rows.len();
    assert!((20..=40).contains(&rows), "{rows}");

    let picture = fs::read_to_string(plot).unwrap();
    let interval = picture.split("sampled every ").nth(1).unwrap().split(['<', ';']).next().unwrap().trim();
    assert_ne!(interval, "1us", "it was doubled");
    slow_haul(&scratch, &["--series", &many, "--sample", interval, "--rows", "100000"]);
    assert_eq!(fs::read_to_string(few).unwrap(), fs::read_to_string(many).unwrap());
}

#[test]
fn the_same_frames_give_the_same_picture_which_is_well_formed() {
    for gateway in ["replay", "replay-bifrost"] {
        let scratch = Scratch::new();
        let [first, second] = ["first.svg", "second.svg"].map(|name| {
            let plot = scratch.path(name);
            soft_roce_through(gateway, &["--plot", &plot]);
            fs::read_to_string(plot).unwrap()
        });
        assert_eq!(first, second);
        assert_well_formed(&first);
        assert!(first.contains(&format!("gateway &quot;{gateway}&quot;")));
        assert_eq!(first.contains("dc0: Bifrost slots"), gateway == "replay-bifrost");
        assert!(first.contains("dc0: pauses") && !first.contains("lh0: pauses"), "none of lh0");
    }
}

#[test]
fn the_picture_in_the_docs_is_the_one_that_is_drawn() {
    let scratch = Scratch::new();
    let plot = scratch.path("series.svg");
    soft_roce_through("replay-bifrost", &["--plot", &plot]);
    let (drawn, golden) = (fs::read_to_string(plot).unwrap(), repository("docs/replay-bifrost.svg"));
    if std::env::var_os("LONGSPAN_WRITE_GOLDEN").is_some() {
        fs::write(&golden, &drawn).unwrap();
    }
    assert!(drawn == fs::read_to_string(golden).unwrap(), "LONGSPAN_WRITE_GOLDEN=1 draws it anew");
}

/// Asserts that every element is closed, and that nothing else is in angle brackets.
fn assert_well_formed(picture: &str) {
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("every tag ends");
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !tag.starts_with('?') {
            open.push(tag.split_whitespace().next().unwrap());
        }
    }
    assert!(open.is_empty() && picture.contains("<svg"), "{open:?}");
}

#[test]
fn without_a_frame_there_is_a_header_and_an_empty_picture() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let input = format!("dc0={}", scratch.write("in.pcap", pcap(&[])));
    replayed(&["--config", &config, "--in", &input, "--out-dir", &scratch.path("out")]);
    assert!(Written::read(&scratch.path("out/series.csv")).rows.is_empty());
    assert_well_formed(&fs::read_to_string(scratch.path("out/series.svg")).unwrap());
}

#[test]
fn a_series_that_cannot_be_written_is_named_and_a_wrong_sampling_refused() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = scratch.write("in.pcap", pcap(&stream(4, 976, 1_000)));
    let input = format!("dc0={capture}");
    let refuses = |status: i32, arguments: &[&str], told: &str| {
        let line = refused(status, &[&["--config", &config, "--in", &input], arguments].concat());
        assert!(line.contains(told), "{line}\nlacks: {told}");
    };
    let nowhere = scratch.path("nowhere/series.csv");
    refuses(2, &["--series", &nowhere], &format!("{nowhere}: cannot be written: "));
    refuses(2, &["--plot", &capture], "the plot would overwrite the input of port dc0");
    let same = scratch.path("same");
    refuses(2, &["--plot", &same, "--series", &same], "is named for both the series and the plot");
    refuses(2, &["--series", &same, "--sample", "10"], "has no unit");
    refuses(2, &["--series", &same, "--sample", "0us"], "above zero");
    refuses(2, &["--series", &same, "--rows", "3"], "3 is not in 4..=1000000");
    refuses(2, &["--sample", "10us"], "--series <FILE>");
    if std::path::Path::new("/dev/full").exists() {
        refuses(1, &["--series", "/dev/full"], "/dev/full: cannot be written: ");
        refuses(1, &["--plot", "/dev/full"], "/dev/full: cannot be written: ");
    }
}
