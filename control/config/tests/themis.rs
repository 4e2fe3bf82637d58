//! THEMIS: what follows from a file, and which files it is refused with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::parse;
use switch::congestion::themis::Slowing;
use units::{BitRate, Bytes, Interval, Priority};

/// A long port of 80 km with `keys`, and a port behind it.
fn file(keys: &str) -> String {
    format!(
        "[[port]]\nname = \"lh0\"\nrate = \"160G\"\ndistance = \"80km\"\nlossless = [{{ priorities = [3, 4] }}]\n{keys}\n\
         [[port]]\nname = \"dc0\"\nrate = \"100G\"\n"
    )
}

#[test]
fn a_long_port_with_themis_has_a_hold_of_its_round_trip_and_slow_queues_at_the_other_port() {
    let gateway = parse(&file("[port.themis]"), "themis.toml").unwrap_or_else(|error| panic!("{error}"));
    let [long, other] = &gateway.program.settings().ports[..] else { panic!("two ports") };
    let themis = long.notifiers.themis.unwrap();
    let slowing =
        Slowing { hold: themis.notifier.round_trip, rate: BitRate::gigabits(10), limit: Bytes(1_000_000) };
    assert_eq!((themis.cnp_interval, themis.slowing), (Some(Interval::from_micros(5)), Some(slowing)));
    assert!(themis.notifier.round_trip > Interval::from_micros(800), "{}", themis.notifier.round_trip);
    assert_eq!((long.slow, long.queues.len(), other.queues.len()), (None, 8, 10));
    let slow = other.slow.unwrap();
    let with = Priority::all().filter(|it| slow.queues[it.index()].is_some());
    assert_eq!(with.map(Priority::number).collect::<Vec<_>>(), [3, 4]);
    let again = parse(&config::render(&gateway), "again.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.program.settings(), gateway.program.settings());
}

#[test]
fn what_makes_no_sense_is_refused_at_its_key() {
    let lscc = "[port.lscc]\nlocal = \"10.255.0.1\"\npeer = \"10.255.0.2\"\nkey = \"00112233445566778899aabbccddeeff\"";
    for (keys, place) in [
        ("[port.themis]\nflows = 0".to_owned(), "port.themis.flows"),
        ("[port.themis]\nslow_limit = \"0B\"".to_owned(), "port.themis.slow_limit"),
        (
            "[port.themis]\ncnp_interval = \"none\"\nslow_rate = \"none\"".to_owned(),
            "port.themis.cnp_interval",
        ),
        (format!("{lscc}\n[port.themis]\ncnp_interval = \"5us\""), "port.themis.cnp_interval"),
    ] {
        let error = parse(&file(&keys), "themis.toml").err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|it| it.contains(place)), "{error:?}");
    }
    let beside = format!("{lscc}\n[port.themis]\ncnp_interval = \"none\"");
    assert!(parse(&file(&beside), "themis.toml").is_ok());
}
