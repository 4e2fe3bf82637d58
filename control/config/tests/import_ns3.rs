//! Files of the ns-3 model as scenarios. Each `tests/ns3/NAME` has its translation, or its messages, in
//! `translated.txt`. To write them anew after a deliberate change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::scenario::{Ns3File, ScenarioFile, Translated, load_ns3, translate_ns3};
use config::{ConfigError, Problem};
use proptest::prelude::*;
use units::{BitRate, Interval};

const FILES: [&str; 3] = ["topology.txt", "flow.txt", "config.txt"];

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns3");
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn texts(case: &str) -> [String; 3] {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns3").join(case);
    FILES.map(|file| fs::read_to_string(directory.join(file)).unwrap())
}

fn translate(texts: &[String; 3]) -> Result<Translated, ConfigError> {
    translate_ns3([0, 1, 2].map(|file| Ns3File { name: FILES[file], text: &texts[file] }))
}

/// Writes a translation to a directory, and checks that it runs as it is.
fn check(translated: &Translated) -> Result<Vec<Problem>, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scenario.toml");
    fs::write(&path, &translated.scenario).unwrap();
    for (name, text) in translated.lists.iter() {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let scenario = ScenarioFile::load(&path)?;
    assert_eq!(scenario.build(&[])?.flows().count(), translated.flows);
    scenario.check()
}

#[test]
fn every_case_is_translated_as_its_golden_file_says() {
    let mut differing = Vec::new();
    for directory in cases() {
        let case = directory.file_name().unwrap().to_str().unwrap();
        let said = match translate(&texts(case)) {
            Ok(Translated { scenario, lists, warnings, .. }) => {
                let warnings: String = warnings.iter().map(|warning| format!("{warning}\n")).collect();
                let lists: String = lists.iter().map(|(name, text)| format!("\n{name}:\n{text}")).collect();
                format!("{warnings}\n{scenario}{lists}")
            }
            Err(error) => format!("{error}\n"),
        };
        let golden = directory.join("translated.txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected {
            differing.push(format!("{case} should give\n{expected}and gave\n{said}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn what_is_translated_runs_as_it_is_and_what_is_broken_is_refused() {
    for directory in cases() {
        let case = directory.file_name().unwrap().to_str().unwrap();
        let translated = translate(&texts(case));
        assert_eq!(translated.is_err(), case.starts_with("broken"), "{case}");
        let Ok(translated) = translated else { continue };
        let warnings = check(&translated).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(warnings, [], "{case}");
        let warns = case.ends_with("warnings") || case.ends_with("hpcc");
        assert_eq!(!translated.warnings.is_empty(), warns, "{case}");
    }
}

#[test]
fn files_are_read_from_their_paths_and_a_missing_one_is_named() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns3/incast-dcqcn");
    let paths = FILES.map(|file| directory.join(file));
    let loaded = load_ns3([&paths[0], &paths[1], &paths[2]]).unwrap();
    assert_eq!(loaded, translate(&texts("incast-dcqcn")).unwrap());
    let missing = load_ns3([&paths[0], &directory.join("nothing.txt"), &paths[2]]).unwrap_err();
    assert!(missing.to_string().contains("nothing.txt"), "{missing}");
}

/// A payload of 1,000 bytes takes 1,082 bytes of a link here. In the model it takes 1,048, which is 83.84 ns at 100G,
/// truncated to 83.
#[test]
fn a_full_packet_takes_as_long_as_in_the_model() {
    let translated = translate(&texts("incast-dcqcn")).unwrap();
    let rate = |line: &str| line.split(", rate = \"").nth(1)?.split('"').next()?.parse::<BitRate>().ok();
    let rates: Vec<_> = translated.scenario.lines().filter_map(rate).map(BitRate::bits_per_second).collect();
    assert_eq!(rates.len(), 3);
    for rate in rates {
        let nanos = 1_082.0 * 8e9 / rate as f64;
        assert!((nanos - 83.0).abs() < 1e-6, "{nanos} ns");
    }
}

/// A file, what is replaced in it, by what, and the message.
const CHANGES: [(usize, &str, &str, &str); 21] = [
    (
        0,
        "2 3 100Gbps 2us 0",
        "2 3 100Gbps 2us",
        "topology.txt:7:1: link.error_rate: \"first\" is out of range",
    ),
    (0, "2 3 100Gbps 2us 0", "2 3 100 2us 0", "topology.txt:5:5: link.rate: \"100\" has no unit"),
    (0, "2 3 100Gbps 2us 0", "2 3 100Gbps 1s 0", "topology.txt:5:13: link.delay: 1s is out of range"),
    (
        0,
        "2 3 100Gbps 2us 0",
        "2 4 100Gbps 2us 0",
        "topology.txt:5:3: link.destination: \"4\" is out of range",
    ),
    (0, "2 3 100Gbps 2us 0", "3 3 100Gbps 2us 0", "topology.txt:5:3: link.destination: node 3 cannot be at"),
    (0, "4 1 3", "5 1 3", "topology.txt:1:1: link: host 4 has no link"),
    (0, "4 1 3", "1 1 3", "topology.txt:1:1: nodes: \"1\" is out of range; expected 2 to 20000"),
    (1, "0 2 3 100", "0 3 3 100", "flow.txt:2:1: flow: node 3 is not a host"),
    (0, "4 1 3", "4 0 0 1 3 A100", "topology.txt:1:1: \"4 0 0 1 3 A100\" is not the first line of"),
    (1, "0 2 3 100", "0 2 3 10000000", "flow.txt:2:7: flow.port: \"10000000\" is not a port, up to 65535"),
    (1, "3\n0 2", "2\n0 2", "flow.txt:4:1: flow: \"1\" is not a legend behind the last row"),
    (2, "CC_MODE 1", "CC_MODE 08", "config.txt:10:1: CC_MODE: \"08\" is not a congestion control with"),
    (1, "0 2 3 100", "0 2 0 100", "flow.txt:2:5: flow.priority: \"0\" is out of range; expected 1 to 7"),
    (1, "2.00001", "soon", "flow.txt:4:13: flow.start: \"soon\" is out of range; expected up to 3600"),
    (2, "RP_TIMER 55\n", "", "config.txt:33:1: RP_TIMER: is missing; for example, write RP_TIMER 300"),
    (2, "RP_TIMER 55", "RP_TIMER 0", "config.txt:14:1: RP_TIMER: \"0\" is out of range; expected above 0"),
    (2, "CC_MODE 1", "CC_MODE 10", "config.txt:10:1: CC_MODE: \"10\" is not a congestion control with"),
    (
        2,
        "STOP_TIME 4.00",
        "STOP_TIME 2",
        "config.txt:8:1: SIMULATOR_STOP_TIME: \"2\" is out of range; expected later",
    ),
    (2, "100000000000 1600", "40000000000 1600", "config.txt:30:1: KMAX_MAP: has no value for 100000000000"),
    (2, "KMIN_MAP 2", "KMIN_MAP 3", "config.txt:31:44: KMIN_MAP: a value is missing here"),
    (
        2,
        "BUFFER_SIZE 32",
        "BUFFER_SIZE 5000",
        "config.txt:33:1: BUFFER_SIZE: \"5000\" is out of range; expected 1 to 4095",
    ),
];

#[test]
fn each_error_names_its_file_its_line_and_what_would_be_valid() {
    for (file, old, new, message) in CHANGES {
        let mut texts = texts("incast-dcqcn");
        assert!(texts[file].contains(old), "{old}");
        texts[file] = texts[file].replacen(old, new, 1);
        let error = translate(&texts).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\ninstead of\n{message}");
    }
}

/// The scenario of a case after a change, and the warnings.
fn changed(file: usize, old: &str, new: &str) -> (String, Vec<String>) {
    let mut texts = texts("incast-dcqcn");
    assert!(texts[file].contains(old), "{old}");
    texts[file] = texts[file].replacen(old, new, 1);
    let translated = translate(&texts).unwrap();
    assert_eq!(check(&translated).unwrap(), []);
    (translated.scenario, translated.warnings.iter().map(Problem::to_string).collect())
}

#[test]
fn files_of_descendants_that_mean_the_same_give_the_same() {
    let usual = changed(0, "4 1 3", "4 1 3");
    assert_eq!(usual.1, [""; 0]);
    assert_eq!(changed(0, "4 1 3\n3", "4 1 1 3\n3"), usual, "PowerTCP counts racks");
    assert_eq!(changed(2, "CC_MODE 1", "CC_MODE 01"), usual);
    let mut plain = texts("incast-dcqcn");
    plain[0] = plain[0].replace("100Gbps", "100000000000.0");
    assert_eq!(translate(&plain).unwrap().scenario, usual.0, "bits per second");
    let mut short = texts("incast-dcqcn");
    short[1] = short[1].replace(" 100 ", " ");
    assert_eq!(translate(&short).unwrap().scenario, usual.0, "ConWeave has no port");
}

#[test]
fn a_stop_beyond_an_hour_and_a_scheme_that_hpcc_does_not_know_are_warnings() {
    let (scenario, warnings) = changed(2, "STOP_TIME 4.00", "STOP_TIME 40000000000000");
    assert!(scenario.contains("limit = \"3600s\""), "{scenario}");
    assert!(
        warnings[0].contains("SIMULATOR_STOP_TIME: has no counterpart: here, a run ends an hour"),
        "{warnings:?}"
    );
    let (scenario, warnings) = changed(2, "CC_MODE 1", "CC_MODE 12");
    assert!(scenario.contains("congestion_control = \"none\""), "{scenario}");
    assert!(
        warnings[0].contains("CC_MODE: has no counterpart: here, hosts have no congestion"),
        "{warnings:?}"
    );
}

#[test]
fn errors_of_several_options_are_told_at_once() {
    let mut texts = texts("incast-dcqcn");
    for (old, new) in
        [("CC_MODE 1", "CC_MODE 8"), ("STOP_TIME 4.00", "STOP_TIME 1"), ("BUFFER_SIZE 32", "BUFFER_SIZE 0")]
    {
        texts[2] = texts[2].replacen(old, new, 1);
    }
    texts[2] = texts[2].replacen("PACKET_PAYLOAD_SIZE 1000", "PACKET_PAYLOAD_SIZE 9004", 1);
    let error = translate(&texts).unwrap_err().to_string();
    for name in ["CC_MODE", "SIMULATOR_STOP_TIME", "BUFFER_SIZE", "PACKET_PAYLOAD_SIZE"] {
        assert!(error.contains(name), "{name} is missing in\n{error}");
    }
}

#[test]
fn a_buffer_that_headroom_takes_whole_is_refused() {
    let mut texts = texts("incast-dcqcn");
    // Three times 100G and 2 ms are 75 MB.
    texts[0] = texts[0].replace("2us", "2ms");
    let error = translate(&texts).unwrap_err().to_string();
    assert!(error.contains("config.txt:33:1: BUFFER_SIZE: switch 3 has 32MiB"), "{error}");
}

#[test]
fn a_stop_before_the_last_flow_is_a_warning_and_becomes_its_start() {
    let mut texts = texts("incast-dcqcn");
    texts[2] = texts[2].replace("STOP_TIME 4.00", "STOP_TIME 2.000004");
    let translated = translate(&texts).unwrap();
    assert!(translated.scenario.contains("until = \"10us\"\nlimit = \"10us\""), "{}", translated.scenario);
    let warnings: Vec<_> = translated.warnings.iter().map(Problem::to_string).collect();
    let expected = "config.txt:8:1: warning: SIMULATOR_STOP_TIME: is before the last flow starts, so the limit is \
                    10us after the first one";
    assert_eq!(warnings, [expected]);
}

#[test]
fn a_translation_is_checked_before_it_is_written() {
    let mut texts = texts("incast-dcqcn");
    let read = |texts: &_| ScenarioFile::translated(&translate(texts).unwrap(), "scenario.toml").unwrap();
    let scenario = read(&texts);
    assert_eq!(scenario.build(&[]).unwrap().flows().count(), 3);
    assert_eq!(scenario.check().unwrap(), []);
    texts[0] = "5 2 3\n3 4\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 4 100Gbps 1us 0\n".into();
    let error = read(&texts).check().unwrap_err().to_string();
    assert!(error.ends_with("topology: no path leads from h2 to h0"), "{error}");
}

#[test]
fn no_more_than_a_hundred_wrong_flows_are_listed() {
    let mut texts = texts("incast-dcqcn");
    texts[1] = format!("1000\n{}", "0 99 3 100 1000 2\n".repeat(1_000));
    let error = translate(&texts).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 100);
}

#[test]
fn equal_thresholds_mark_everything_above_them() {
    let mut texts = texts("incast-dcqcn");
    texts[2] = texts[2].replace("100000000000 400", "100000000000 1600");
    let translated = translate(&texts).unwrap();
    assert!(translated.scenario.contains("kmin = \"1.599999MB\"\nkmax = \"1.6MB\""));
    assert_eq!(check(&translated).unwrap(), []);
}

#[test]
fn the_fastest_links_do_not_overflow() {
    let mut texts = texts("incast-dcqcn");
    texts[0] = texts[0].replace("100Gbps", "18000000Tbps").replace("0.001ms", "200ms");
    texts[2] = texts[2].replace("100000000000", "18000000000000000000");
    let error = translate(&texts).unwrap_err().to_string();
    assert!(error.contains("BUFFER_SIZE: switch 3 has 32MiB"), "{error}");
}

/// Words of the files, right and wrong ones.
fn word() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 14] =
        ["0", "1", "2", "3", "100Gbps", "1us", "2.0", "-1", "1e99", "nan", "CC_MODE", "KMAX_MAP", "{", "\n"];
    prop_oneof![prop::sample::select(&KNOWN[..]).prop_map(str::to_owned), "[ -~]{0,6}", "\\PC{0,3}"]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(file in 0_usize..3, words in prop::collection::vec(word(), 0..40)) {
        let mut texts = texts("incast-dcqcn");
        texts[file] = words.join(" ");
        if let Err(error) = translate(&texts) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_change_of_a_word_makes_it_panic(file in 0_usize..3, place in 0_usize..80, with in word()) {
        let mut texts = texts("leaf-spine-hpcc");
        let mut words: Vec<_> = texts[file].split(' ').map(str::to_owned).collect();
        let place = place % words.len();
        words[place] = with;
        texts[file] = words.join(" ");
        match translate(&texts) {
            Ok(translated) => drop(ScenarioFile::parse(&translated.scenario, "scenario.toml").unwrap()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_star_with_any_flows_is_a_scenario(
        hosts in 2_u32..12,
        delay in 0_u64..5_000,
        flows in prop::collection::vec((0_u32..12, 1_u32..12, 1_u32..1_000_000, 0_u64..1_000_000), 1..20),
    ) {
        let mut texts = texts("incast-dcqcn");
        let links: String = (0..hosts).map(|host| format!("{host} {hosts} 100Gbps {delay}ns 0\n")).collect();
        texts[0] = format!("{} 1 {hosts}\n{hosts}\n{links}", hosts + 1);
        let row = |(source, step, bytes, start): &(u32, u32, u32, u64)| {
            let source = source % hosts;
            let destination = (source + 1 + step % (hosts - 1)) % hosts;
            format!("{source} {destination} 3 100 {bytes} {:.9}\n", 2.0 + *start as f64 * 1e-9)
        };
        texts[1] = format!("{}\n{}", flows.len(), flows.iter().map(row).collect::<String>());
        let translated = translate(&texts).unwrap();
        prop_assert_eq!(check(&translated).unwrap(), []);
        let first = flows.iter().map(|flow| flow.3).min().unwrap();
        let starts: Vec<u64> = translated.lists[0].1.lines().skip(1)
            .map(|row| row.split(',').next().unwrap().parse().unwrap())
            .collect();
        prop_assert_eq!(starts, flows.iter().map(|flow| flow.3 - first).collect::<Vec<_>>());
        let delay = format!("delay = \"{}\"", Interval(delay));
        prop_assert_eq!(translated.scenario.matches(&delay).count(), hosts as usize);
    }
}
