//! Times per frame under floods of chosen addresses, beside floods of others and ordinary traffic.

use benches::floods::{Flood, Flooded};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn floods(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("floods");
    group.sample_size(10);
    for (name, flood) in Flood::ALL {
        let frames = Flooded::new(flood).round();
        group.throughput(Throughput::Elements(frames as u64));
        let fresh = || Flooded::new(flood);
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(fresh, Flooded::round, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, floods);
criterion_main!(benches);
