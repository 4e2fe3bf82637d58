//! The cost of a slot of Bifrost: the end of one slot, from the deadline to the pause frame.

use benches::slot::{SlotLoad, Slots};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use switch::program::VirtualIncoming;
use units::{Interval, PortId};

const HISTORY: VirtualIncoming = VirtualIncoming::History { jitter: Interval::from_micros(1) };
/// 80 km in slots of 20 us and of 10 us, and 10,000 km in slots of 10 us.
const ROUND_TRIPS: [u64; 3] = [40, 81, 10_000];

fn kinds(criterion: &mut Criterion) {
    for (name, virtual_incoming) in [("counter", VirtualIncoming::Counter), ("history", HISTORY)] {
        for paused in [true, false] {
            let name = format!("slot/{name}/{}", if paused { "paused" } else { "free" });
            let mut group = criterion.benchmark_group(name);
            for slots_per_round_trip in ROUND_TRIPS {
                let load = SlotLoad { slots_per_round_trip, virtual_incoming, paused, idle_pairs: 0 };
                let mut slots = Slots::new(load);
                let id = BenchmarkId::from_parameter(slots_per_round_trip);
                group.bench_function(id, |bencher| bencher.iter(|| slots.turn()));
            }
            group.finish();
        }
    }
}

fn idle_ports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("slot/idle_ports");
    for idle_pairs in [1, 8] {
        let load = SlotLoad { slots_per_round_trip: 81, virtual_incoming: HISTORY, paused: true, idle_pairs };
        let mut slots = Slots::new(load);
        let id = BenchmarkId::from_parameter(2 * idle_pairs);
        group.bench_function(id, |bencher| bencher.iter(|| slots.turn()));
        let id = BenchmarkId::new("a call for one of them", 2 * idle_pairs);
        group.bench_function(id, |bencher| bencher.iter(|| slots.poll_idle(PortId(2))));
    }
    group.finish();
}

criterion_group!(benches, kinds, idle_ports);
criterion_main!(benches);
