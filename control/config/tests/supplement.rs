//! Supplemental CNPs and thinning: what follows from a file, and which files it is refused with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::{Gateway, parse};
use switch::congestion::supplement::Settings as Supplement;
use switch::program::Notifier;
use units::{Bytes, Interval, Priority};
use wire::ip::Dscp;

fn file(supplement: &str) -> String {
    format!(
        r#"
        [[port]]
        name = "r0"
        rate = "25G"

        [port.supplement]
        {supplement}

        [[port]]
        name = "s0"
        rate = "25G"
        "#
    )
}

fn supplement(gateway: &Gateway) -> Supplement {
    gateway.program.port(gateway.port("r0").unwrap()).notifiers.supplement.unwrap()
}

fn read(text: &str) -> Result<Gateway, String> {
    parse(&file(text), "supplement.toml").map_err(|error| error.to_string())
}

#[test]
fn a_threshold_is_enough_and_the_rest_is_that_of_the_report_and_of_lscc() {
    let expected = Supplement {
        threshold: Some(Bytes(400_000)),
        increase_timer: Interval::from_micros(300),
        mark_lasts: Interval::from_secs(10),
        thinning: None,
        notifier: Notifier {
            flows: 65_536,
            ageing: Interval::from_secs(10),
            round_trip: Interval::from_millis(1),
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::new(6).unwrap(),
        },
    };
    assert_eq!(supplement(&read("threshold = \"400kB\"").unwrap()), expected);
    let longer = supplement(&read("threshold = \"400kB\"\nageing = \"60s\"").unwrap());
    assert_eq!(longer.mark_lasts, Interval::from_secs(60));
    let thins = supplement(&read("threshold = \"none\"\nthinning = \"50us\"").unwrap());
    assert_eq!((thins.threshold, thins.thinning), (None, Some(Interval::from_micros(50))));
}

#[test]
fn what_makes_no_sense_is_refused_at_its_key() {
    for (keys, key, reason) in [
        ("", "port.supplement.threshold", "threshold = \"1MB\""),
        ("threshold = \"none\"", "port.supplement", "nothing to do"),
        ("threshold = \"1MB\"\nincrease_timer = \"500ns\"", "increase_timer", "1us to 1s"),
        (
            "threshold = \"1MB\"\nmark_lasts = \"300us\"",
            "port.supplement.mark_lasts",
            "no CNP could be missing",
        ),
        ("threshold = \"1MB\"\nthinning = \"301us\"", "port.supplement.thinning", "withhold"),
        ("threshold = \"1MB\"\nflows = 0", "port.supplement.flows", "1 to 4194304"),
        ("threshold = \"1MB\"\nageing = \"0s\"", "port.supplement", "no CNP could be missing"),
    ] {
        let error = read(keys).err().unwrap();
        assert!(error.contains(key) && error.contains(reason), "{keys}: {error}");
    }
}

#[test]
fn a_port_with_lscc_has_no_supplemental_cnps() {
    let lscc = "threshold = \"1MB\"\n[port.lscc]\nlocal = \"10.0.0.1\"\npeer = \"10.0.0.2\"\nkey = \"none\"\nround_trip = \"1ms\"";
    let text = file(lscc)
        .replace("rate = \"25G\"", "rate = \"25G\"\ndistance = \"80km\"\nlossless = [{ priorities = [3] }]");
    let error = parse(&text, "supplement.toml").err().unwrap().to_string();
    assert!(error.contains("far_cnp_interval"), "{error}");
}
