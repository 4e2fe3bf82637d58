//! A snapshot as Prometheus reads it, in the OpenMetrics text format. `docs/metrics.md` explains every
//! metric; names and labels are an interface.

mod catalogue;
mod device;
mod gateway;
mod kind;
mod listed;
mod metric;
mod priority;
mod samples;

pub use catalogue::all;
pub use kind::{Kind, Measure};
pub use metric::Metric;

use crate::snapshot::Snapshot;
use metric::PREFIX;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

/// The content type of what [`encode`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of `snapshot`. One that has no value is left out.
pub fn encode(snapshot: &Snapshot) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Scrape(snapshot.clone())));
    let mut page = String::new();
    text::encode(&mut page, &registry).expect("a string takes all that is written to it");
    page
}

/// One scrape: nothing is kept from one to the next.
#[derive(Debug)]
struct Scrape(Snapshot);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> core::fmt::Result {
        all().try_for_each(|metric| metric.encode(&self.0, &mut encoder))
    }
}
