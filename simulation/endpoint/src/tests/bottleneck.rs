//! Congestion control at a link that is slower than the port.

use super::bench::*;
use crate::*;
use std::cell::Cell;
use std::rc::Rc;
use units::{BitRate, Interval, Nanos, WireBytes};
use wire::int::{Hop, LinkRate};

const SLOW: BitRate = BitRate::gigabits(25);
/// The additional delay to the other host.
const FARTHER: Interval = Interval::from_micros(10);

/// A link of [`SLOW`] after the wire, with an unlimited queue. It reports how long the last packet waited,
/// and stamps packets that collect telemetry.
fn slow_link(stamps: bool) -> (Weather, Rc<Cell<Interval>>) {
    let waited = Rc::new(Cell::new(Interval::ZERO));
    let shown = Rc::clone(&waited);
    let (mut free_at, mut carried) = (Nanos::ZERO, 0);
    let weather = Box::new(move |_, sent: &Sent| {
        if !sent.is_data() {
            return Fate::Arrives;
        }
        let bytes = WireBytes::of_frame(sent.length);
        let arrival = sent.start + RATE.serialization().time_of(bytes);
        let start = arrival.max(free_at);
        free_at = start + SLOW.serialization().time_of(bytes);
        waited.set(start.since(arrival));
        let queue = SLOW.bytes_in(start.since(arrival));
        let hop = Hop::new(LinkRate::of(SLOW).unwrap(), start, carried, queue);
        carried += bytes.0;
        let late = free_at.since(arrival) + FARTHER;
        if stamps { Fate::Stamped(late, hop) } else { Fate::Late(late) }
    });
    (weather, shown)
}

/// Bits per second of message data that arrived from `from` on.
fn goodput(bench: &Bench, flow: FlowId, from: Nanos) -> f64 {
    let delivered = bench.events.iter().filter_map(|(at, event)| match event {
        Event::Delivered { flow: of, bytes } if *of == flow && *at >= from => Some((*at, *bytes)),
        _ => None,
    });
    let delivered: Vec<_> = delivered.collect();
    let (first, last) = (delivered[0], delivered[delivered.len() - 1]);
    (last.1 - first.1) as f64 * 8e9 / last.0.since(first.0).0 as f64
}

fn hpcc(settings: &mut HostSettings) {
    // Both propagation delays, a packet at each rate, and an acknowledgement: 12.5 us.
    let base_rtt = Interval::from_micros(13);
    settings.congestion_control = CongestionControl::Hpcc(Hpcc { base_rtt, ..Hpcc::default() });
}

#[test]
fn hpcc_fills_the_slow_link_to_eta_and_keeps_its_queue_empty() {
    let mut bench = Bench::new(hpcc);
    let (weather, waited) = slow_link(true);
    bench.weather = weather;
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(2_000_000));
    // 1024 of 1148 bytes on the wire are payload: 25G x 0.95 x 0.892 are 21.2G.
    let rate = goodput(&bench, flow, Nanos(500_000));
    assert!((20e9..22.3e9).contains(&rate), "{rate}");
    assert!(waited.get() < Interval(1_000), "{}", waited.get());
    let state = bench.hosts[0].flow(flow).unwrap();
    assert!((20..=27).contains(&(state.rate.bits_per_second() / 1_000_000_000)), "{}", state.rate);
    assert!(state.window.unwrap() < 45_000, "{:?}", state.window);
}

#[test]
fn flows_of_hpcc_become_equal_whenever_they_start() {
    let mut bench = Bench::new(|settings| {
        hpcc(settings);
        if let CongestionControl::Hpcc(hpcc) = &mut settings.congestion_control {
            hpcc.additive = units::Bytes(400);
        }
    });
    let (weather, waited) = slow_link(true);
    bench.weather = weather;
    let first = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(500_000));
    let second = bench.flow(2, P3, None, 0);
    bench.run_until(Nanos(8_000_000));
    let rates = [first, second].map(|flow| goodput(&bench, flow, Nanos(7_000_000)));
    assert!((rates[0] + rates[1] - 21.2e9).abs() < 1.5e9, "{rates:?}");
    assert!((rates[0] / rates[1]).ln().abs() < 0.1, "{rates:?}");
    assert!(waited.get() < Interval(2_000), "{}", waited.get());
}

#[test]
fn timely_swings_around_the_rate_of_the_slow_link_with_a_short_queue() {
    let mut bench = Bench::new(|settings| {
        // Ten times the default, because the link is that much faster than the paper's.
        let step = BitRate::new(100_000_000).unwrap();
        settings.congestion_control = CongestionControl::Timely(Timely { step, ..Timely::default() });
    });
    let (weather, waited) = slow_link(false);
    bench.weather = weather;
    let flow = bench.flow(1, P3, None, 0);
    assert_eq!(bench.hosts[0].flow(flow).unwrap().rate, RATE, "alone, it starts at the rate of the port");
    let mut longest = Interval::ZERO;
    for step in 0..300 {
        bench.run_until(Nanos(10_000_000 + 100_000 * step));
        longest = longest.max(waited.get());
    }
    assert!(longest < Interval::from_micros(100), "{longest}");
    // 1024 of 1106 bytes are payload: no more than 23.1G.
    let rate = goodput(&bench, flow, Nanos(10_000_000));
    assert!((19e9..23.2e9).contains(&rate), "{rate}");
}

#[test]
fn a_flow_of_timely_starts_with_its_share_of_the_port() {
    let mut bench =
        Bench::new(|settings| settings.congestion_control = CongestionControl::Timely(Timely::default()));
    let rates = [1, 2, 3].map(|number| {
        let flow = bench.flow(number, P3, Some(10_000), 0);
        bench.hosts[0].flow(flow).unwrap().rate.bits_per_second()
    });
    assert_eq!(rates, [100_000_000_000, 50_000_000_000, 33_333_333_333]);
    bench.run();
    let flow = bench.flow(4, P3, Some(10_000), 0);
    assert_eq!(bench.hosts[0].flow(flow).unwrap().rate, RATE, "the others have ended");
}
