//! A snapshot in the OpenMetrics text format, as Prometheus reads it. `docs/metrics.md` explains every metric; names
//! and labels are an interface.

mod device;
mod gateway;
mod listed;
mod metric;
mod priority;
mod readers;
mod samples;

pub use metric::Metric;

use crate::show::View;
use crate::snapshot::Snapshot;
use metric::PREFIX;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use switch::figure::LISTS;

/// The content type of the text that [`encode`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics, in the order in which they are written. The figures that `longspan show` lists with the ports follow
/// the metrics of ports.
pub fn all() -> impl Iterator<Item = Metric> {
    let listed = |with_ports: bool| {
        let lists = LISTS.into_iter().filter(move |list| (list.view == View::Ports.name()) == with_ports);
        lists.flat_map(listed::metrics)
    };
    let (of_gateway, of_ports) = (gateway::metrics().into_iter(), device::metrics_of_ports());
    let with_ports = of_gateway.chain(of_ports).chain(listed(true)).chain(device::metrics_of_devices());
    with_ports.chain(priority::metrics()).chain(listed(false))
}

/// Encodes all metrics of `snapshot`. A metric without a value is left out.
pub fn encode(snapshot: &Snapshot) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Scrape(snapshot.clone())));
    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string cannot fail");
    page
}

/// A scrape. Nothing is kept from one scrape to the next.
#[derive(Debug)]
struct Scrape(Snapshot);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> core::fmt::Result {
        all().try_for_each(|metric| metric.encode(&self.0, &mut encoder))
    }
}
