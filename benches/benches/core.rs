//! The core's cost per packet: parse, classify, forward, admit, mark, queue, schedule, account.
//!
//! Criterion reports elements per second; an element is one frame through `ingress` and `egress`.

use benches::core::{Core, Load};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Plain forwarding between two ports.
const PLAIN: Load = Load {
    frame_bytes: 128,
    ports: 2,
    burst: 32,
    flows: None,
    restart_after: None,
    far_rate: Load::FAR_RATE,
    learn: Load::LEARN,
    lanes: 0,
};

fn frame_sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core/frame_bytes");
    for frame_bytes in [64, 128, 512, 1082, 4096] {
        bench(&mut group, frame_bytes, Load { frame_bytes, ..PLAIN });
    }
    group.finish();
}

fn ports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core/ports");
    for ports in [2, 4, 8, 16] {
        bench(&mut group, u64::from(ports), Load { ports, ..PLAIN });
    }
    group.finish();
}

fn bursts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core/burst");
    for burst in [1, 4, 8, 16, 32, 64] {
        bench(&mut group, burst as u64, Load { burst, ..PLAIN });
    }
    group.finish();
}

/// With everything on: Bifrost, LSCC with flow table and resolver, RED, watchdog. Half of the frames go
/// out to the long link, half come in from it.
fn flows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core/everything_on/flows");
    for flows in [2, 1_000, 10_000, 100_000, 1_000_000] {
        bench(&mut group, flows.into(), Load { flows: Some(flows), ..PLAIN });
    }
    group.finish();
}

fn bench(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    parameter: u64,
    load: Load,
) {
    let mut core = Core::new(load);
    group.throughput(Throughput::Elements(load.burst as u64));
    group.bench_function(BenchmarkId::from_parameter(parameter), |bencher| bencher.iter(|| core.turn()));
}

criterion_group!(benches, frame_sizes, ports, bursts, flows);
criterion_main!(benches);
