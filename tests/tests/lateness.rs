//! Workers that are late, against what the gateway covers.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::Gateway;
use conformance::{A, B, Flow, P3, Testbench, cost};
use switch::program::Threshold;
use units::{Bytes, Distance, Interval, WireBytes};

const FRAME: usize = 1_000;

fn gateway(delay: &str) -> Gateway {
    let text = format!(
        "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\nmtu = 1500\ndistance = \"80km\"\n\
         interface_delay = \"{delay}\"\nlossless = [{{ priorities = [3], xoff = \"64KiB\" }}]\n[[port]]\nname = \"dc0\"\n\
         rate = \"10G\"\nmtu = 1500\nlossless = [{{ priorities = [3], headroom = \"100kB\" }}]\n"
    );
    config::parse(&text, "gw.toml").unwrap()
}

/// Frames that are lost where a worker was on time until its group was about to reach XOFF, and then away for so long,
/// while the upstream sends at the rate of the link until it hears the pause.
fn lost(gateway: &Gateway, away: Interval) -> u64 {
    lost_by(gateway, away, false)
}

/// The same; the worker may have noticed that it was away.
fn lost_by(gateway: &Gateway, away: Interval, noticed: bool) -> u64 {
    let settings = gateway.program.settings().clone();
    let rate = settings.ports[0].rate;
    let Threshold::Static(xoff) = settings.ports[0].groups[3].lossless().unwrap().xoff else {
        panic!("the threshold is fixed")
    };
    let arriving = |time| rate.bytes_in(time) / WireBytes::of_frame(Bytes(FRAME as u64)).0;
    let frames = |count| Flow::new(A, B).at(P3).udps(count, FRAME);
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject_singly(A, frames(xoff.0.div_ceil(cost(FRAME as u64)) - 1));
    assert!(bench.pauses(A, P3).is_empty());
    bench.run_clock_to(bench.now() + away);
    if noticed {
        bench.shard.allow_late(A, away);
    }
    bench.inject(A, frames(arriving(away)));
    bench.turn();
    assert_eq!(bench.pauses(A, P3).len(), 1, "the pause leaves when the worker is back");
    bench.inject(A, frames(arriving(Distance(80_000).propagation() * 2)));
    bench.dropped_in_all().frames
}

#[test]
fn a_worker_that_is_as_late_as_is_covered_loses_nothing_and_without_cover_it_does() {
    let (configured, late) = (gateway("1us"), Interval::from_micros(1_200));
    let covers = configured.covering(&[late; 2], &[Interval::ZERO; 2]);
    assert_eq!(covers.covered_lateness(A), Some(late));
    assert_eq!(lost(&covers, late), 0);
    assert!(lost(&configured, late) > 500, "the millisecond brings 1,220 frames");
    assert!(lost(&covers, late * 2) > 500, "nor is more covered than is said");
}

#[test]
fn what_a_file_covers_is_what_its_interface_delay_says() {
    let stated = gateway("1200us");
    assert_eq!(stated.covered_lateness(A), Some(Interval::from_micros(1_200)));
    assert_eq!(lost(&stated, Interval::from_micros(1_200)), 0);
    assert!(lost(&stated, Interval::from_micros(2_400)) > 500);
}

#[test]
fn a_worker_that_notices_that_it_was_away_loses_nothing_while_half_of_the_shared_pool_is_free() {
    let (gateway, late) = (gateway("1us"), Interval::from_millis(2));
    assert_eq!(lost_by(&gateway, late, true), 0, "2.5 MB of 8 MiB");
    assert!(lost_by(&gateway, late, false) > 1_500);
    let most = Interval::from_micros(3_300);
    assert_eq!(lost_by(&gateway, most, true), 0);
    assert!(
        lost_by(&gateway, most + Interval::from_micros(200), true) > 0,
        "half of the pool is left to others"
    );
}
