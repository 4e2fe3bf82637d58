//! The views of a snapshot, and what they share.

use crate::snapshot::{LevelsReport, Snapshot, WirePortReport, WorkerReport};
use crate::table::{Columns, Table, section};
use crate::tables;
use report::PriorityReport;
use switch::figure::LISTS;
use thiserror::Error;

units::named! {
    /// A view of `longspan show`.
    View [ALL, about] {
        /// Traffic, links, devices, workers and buffer pools
        Ports = "ports",
        /// Priority groups and queues: occupancy, watermarks, ECN marks, delays
        Queues = "queues",
        /// PFC frames and pause times in both directions, and pause storms
        Pfc = "pfc",
        /// LSCC: advertised and received rates, CNPs, flows
        Flows = "flows",
        /// Dropped frames by reason
        Drops = "drops",
        /// Flow control of long links: slots, grants, credits, messages
        Slots = "slots",
        /// Neighbours by LLDP, and what of them does not fit
        Neighbours = "neighbours",
        /// Workers: turns, load, bursts, cycles by frame and stage
        Runtime = "runtime",
        /// Health of lossless classes: what is wrong, with figures, and what to do next
        Roce = "roce",
        /// The file as loaded last, with every key; not what neighbours, late workers and measured links changed
        Config = "config",
    }
}

/// The gateway has no port of the requested name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the gateway has no port \"{name}\"; its ports are {}", .ports.join(", "))]
pub struct NoSuchPort {
    /// The requested name.
    pub name: String,
    /// The names of its ports.
    pub ports: Vec<String>,
}

impl NoSuchPort {
    /// The error of a `name` that no port of `snapshot` has.
    pub(crate) fn of(name: &str, snapshot: &Snapshot) -> Self {
        Self { name: name.into(), ports: snapshot.ports.iter().map(|it| it.port.name.clone()).collect() }
    }
}

/// Makes sure that the gateway has the port called `port`, if a name is given.
///
/// # Errors
/// [`NoSuchPort`] if it has not.
pub fn has_port(snapshot: &Snapshot, port: Option<&str>) -> Result<(), NoSuchPort> {
    Shown::new(snapshot, port).map(|_| ())
}

/// `snapshot` with the port called `port` alone, or with all ports if no name is given.
///
/// # Errors
/// [`NoSuchPort`] if the gateway has no port of that name.
pub fn of_port(mut snapshot: Snapshot, port: Option<&str>) -> Result<Snapshot, NoSuchPort> {
    Shown::new(&snapshot, port)?;
    snapshot.ports.retain(|it| port.is_none_or(|name| it.port.name == name));
    Ok(snapshot)
}

/// The part of a snapshot that is shown.
pub struct Shown<'a> {
    pub snapshot: &'a Snapshot,
    pub ports: Vec<&'a WirePortReport>,
    /// Whether a single port is shown. If so, figures of the gateway as a whole are left out.
    pub filtered: bool,
}

impl<'a> Shown<'a> {
    pub fn new(snapshot: &'a Snapshot, port: Option<&str>) -> Result<Self, NoSuchPort> {
        let asked_for = |it: &&WirePortReport| port.is_none_or(|name| it.port.name == name);
        let ports: Vec<_> = snapshot.ports.iter().filter(asked_for).collect();
        match port {
            Some(name) if ports.is_empty() => Err(NoSuchPort::of(name, snapshot)),
            _ => Ok(Self { snapshot, ports, filtered: port.is_some() }),
        }
    }

    /// The workers of the shown ports.
    pub fn workers(&self) -> impl Iterator<Item = &'a WorkerReport> {
        let is_shown = |name: &String| self.ports.iter().any(|port| port.port.name == *name);
        self.snapshot.workers.iter().filter(move |worker| worker.ports.iter().any(is_shown))
    }

    /// Writes a table with a row for each priority of which `read` finds something: the port, the priority under
    /// `heading`, and `columns`.
    pub fn write_priorities<R>(
        &self,
        page: &mut String,
        title: &str,
        heading: &str,
        columns: Columns<'_, R>,
        read: impl Fn(&'a PriorityReport, &'a LevelsReport) -> Option<R>,
    ) {
        let headings = columns.iter().map(|(heading, _)| *heading);
        let mut table = Table::new(2, ["port", heading].into_iter().chain(headings));
        for (port, priority, now) in self.priorities() {
            if let Some(row) = read(priority, now) {
                let place = [port.port.name.clone(), priority.priority.to_string()];
                table.row(place.into_iter().chain(columns.iter().map(|(_, cell)| cell(&row))));
            }
        }
        section(page, title, &table);
    }

    /// Every priority of every shown port, with its current levels.
    pub fn priorities(
        &self,
    ) -> impl Iterator<Item = (&'a WirePortReport, &'a PriorityReport, &'a LevelsReport)> {
        self.ports.iter().flat_map(|port| {
            let priorities = port.port.priorities.iter().zip(&port.levels);
            priorities.map(|(priority, now)| (*port, priority, now))
        })
    }
}

/// Writes the tables of the figures that are listed for `view`, or `otherwise` if there are none.
pub fn write_listed(page: &mut String, shown: &Shown<'_>, view: View, otherwise: &str) {
    for list in LISTS.into_iter().filter(|list| list.view == view.name()) {
        let ports: Vec<_> =
            shown.ports.iter().map(|port| (port.port.name.as_str(), port.listed(list))).collect();
        tables::write_listed(page, list, |_| true, &ports);
    }
    if page.is_empty() {
        page.push_str(otherwise);
    }
}

pub fn yes_or_no(yes: bool) -> String {
    if yes { "yes".into() } else { "no".into() }
}
