//! Which metrics there are.

use super::metric::{Metric, Reader};
use super::{device, gateway, listed, priority};
use crate::show::View;
use switch::figure::LISTS;

/// All metrics, in the order in which they are written. Lists that are shown with the ports stand behind those of ports.
pub fn all() -> impl Iterator<Item = Metric<Reader>> {
    let table = |table: &'static [Metric]| {
        table.iter().map(|it| Metric {
            kind: it.kind,
            name: it.name,
            measure: it.measure,
            help: it.help,
            read: Box::new(it.read) as Reader,
        })
    };
    let listed = |of_ports: bool| {
        let lists = LISTS.into_iter().filter(move |list| (list.view == View::Ports.name()) == of_ports);
        lists.flat_map(listed::metrics)
    };
    table(gateway::METRICS)
        .chain(table(device::PORTS))
        .chain(listed(true))
        .chain(table(device::DEVICES))
        .chain(table(priority::METRICS))
        .chain(listed(false))
}
