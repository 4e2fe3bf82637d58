//! The rates of individual flows over time, and their fairness.

use super::rows::rate_bps;
use crate::simulate::figure::{Figure, Metrics};
use core::cell::RefCell;
use endpoint::FlowId;
use serde::{Deserialize, Serialize};
use simulation::{FlowRecord, FlowSpec, NetworkView};
use std::rc::Rc;
use units::Nanos;

/// The maximum number of sampled flows: the first ones.
pub const FLOWS_MAX: usize = 64;
/// Rates are fair from this index up (Jain, Chiu, Hawe: 1 if all are equal, 1/n if one flow has everything).
const FAIR: f64 = 0.95;

/// Collects the flows to sample when the simulation fetches them.
#[derive(Clone, Debug)]
pub struct Watchlist {
    groups: Vec<u16>,
    found: Rc<RefCell<Vec<FlowSpec>>>,
}

impl Watchlist {
    /// A list for flows of `groups`.
    pub fn new(groups: &[u16]) -> Self {
        Self { groups: groups.to_vec(), found: Rc::default() }
    }

    /// Notes `flow`, which is about to start, if it is to be sampled. Flows of closed loops are not: each is many
    /// messages.
    pub fn note(&self, flow: &FlowSpec) {
        if self.groups.contains(&flow.group) && flow.again_until.is_none() {
            self.found.borrow_mut().push(flow.clone());
        }
    }
}

/// The state of a flow at the time of a row.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Point {
    time_ns: u64,
    /// The permitted rate; `None` once it has ended.
    rate_bps: Option<u64>,
    /// The bytes of its message sent so far.
    sent: u64,
}

/// A sampled flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watched {
    flow: FlowSpec,
    points: Vec<Point>,
    ended: Option<Nanos>,
    is_over: bool,
}

/// The sampled flows.
#[derive(Debug)]
pub struct FlowRates {
    list: Watchlist,
    names: Vec<String>,
    flows: Vec<Watched>,
    interval_ns: u64,
}

/// The sampled flows of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct FlowRatesState {
    found: Vec<FlowSpec>,
    flows: Vec<Watched>,
    interval_ns: u64,
}

impl FlowRates {
    /// The flows of `list`. `names` are the names of the groups.
    pub fn new(list: Watchlist, names: &[String]) -> Self {
        Self { list, names: names.to_vec(), flows: Vec::new(), interval_ns: 0 }
    }

    /// Its state, for a checkpoint.
    pub fn state(&self) -> FlowRatesState {
        let Self { list, names: _, flows, interval_ns } = self;
        FlowRatesState { found: list.found.borrow().clone(), flows: flows.clone(), interval_ns: *interval_ns }
    }

    /// Goes on from a state.
    pub fn restore(&mut self, FlowRatesState { found, flows, interval_ns }: FlowRatesState) {
        self.list.found.replace(found);
        (self.flows, self.interval_ns) = (flows, interval_ns);
    }

    /// Notes that a flow has ended.
    pub fn ended(&mut self, record: &FlowRecord) {
        if let Some(watched) = self.flows.iter_mut().find(|it| it.flow.id == record.flow.id) {
            watched.ended = Some(record.end);
        }
    }

    /// Takes a sample of each flow. The current interval is `interval_ns`.
    pub fn sample(&mut self, now: Nanos, interval_ns: u64, view: &NetworkView<'_>) {
        let room = FLOWS_MAX - self.flows.len();
        let found = core::mem::take(&mut *self.list.found.borrow_mut());
        let new = found.into_iter().take(room);
        self.flows.extend(new.map(|flow| Watched { flow, points: Vec::new(), ended: None, is_over: false }));
        if interval_ns != self.interval_ns {
            self.interval_ns = interval_ns;
            for flow in &mut self.flows {
                flow.points.retain(|point| point.time_ns.is_multiple_of(interval_ns));
            }
        }
        for watched in self.flows.iter_mut().filter(|it| it.flow.start < now && !it.is_over) {
            let state = view.host(watched.flow.source).and_then(|host| host.flow(watched.flow.id));
            let last = watched.points.last().map_or(0, |point| point.sent);
            let rate_bps = state.map(|state| state.rate.bits_per_second());
            let sent = state.map_or(watched.flow.bytes.unwrap_or(last), |state| state.sent);
            watched.is_over = state.is_none();
            watched.points.push(Point { time_ns: now.0, rate_bps, sent });
        }
    }

    /// The headings of the columns: two for each flow.
    pub fn headings(&self) -> impl Iterator<Item = String> {
        let of_flow = |id: FlowId| ["rate_bps", "sent_bps"].map(|column| format!("flow.{}.{column}", id.0));
        self.flows.iter().flat_map(move |watched| of_flow(watched.flow.id))
    }

    /// The values of the row at `time_ns`.
    pub fn values(&self, time_ns: u64, interval_ns: u64) -> impl Iterator<Item = Option<u64>> {
        self.flows.iter().flat_map(move |watched| {
            let rate = watched.place(time_ns).and_then(|place| watched.points[place].rate_bps);
            [rate, watched.sent_bps(time_ns, interval_ns)]
        })
    }

    /// Adds the metrics of the flows.
    pub fn figures(&self, interval_ns: u64, metrics: &mut Metrics) {
        for watched in &self.flows {
            let FlowId(id) = watched.flow.id;
            if let Some(mean) = watched.mean_bps() {
                metrics.insert(format!("flow.{id}.mean_bps"), Figure(mean as f64));
            }
            if let Some(settled) = watched.settled_bps() {
                metrics.insert(format!("flow.{id}.settled_bps"), Figure(settled as f64));
            }
        }
        for group in &self.list.groups {
            self.settled(*group, metrics);
            self.fairness(*group, interval_ns, metrics);
        }
    }

    fn of_group(&self, group: u16) -> impl Iterator<Item = &Watched> {
        self.flows.iter().filter(move |watched| watched.flow.group == group)
    }

    /// Adds the lowest and the highest rate at which flows of `group` settled.
    fn settled(&self, group: u16, metrics: &mut Metrics) {
        let rates = || self.of_group(group).filter_map(Watched::settled_bps);
        let name = &self.names[usize::from(group)];
        for (of, rate) in [("min", rates().min()), ("max", rates().max())] {
            if let Some(rate) = rate {
                metrics.insert(format!("settled.{name}.{of}_bps"), Figure(rate as f64));
            }
        }
    }

    /// Adds the fairness of the flows of `group` while all of them are active.
    fn fairness(&self, group: u16, interval_ns: u64, metrics: &mut Metrics) {
        let of_group: Vec<&Watched> = self.of_group(group).collect();
        let begin = of_group.iter().map(|it| it.flow.start.0).max();
        let last =
            |it: &&Watched| it.points.iter().rfind(|point| point.rate_bps.is_some()).map(|it| it.time_ns);
        let end = of_group.iter().map(|it| last(it).unwrap_or(0)).min();
        let Some((begin, end)) = begin.zip(end).filter(|(begin, end)| of_group.len() > 1 && begin < end)
        else {
            return;
        };
        let first = begin.div_ceil(interval_ns).saturating_add(1).saturating_mul(interval_ns);
        let indices: Vec<(u64, f64)> = (0..)
            .map(|row| first.saturating_add(interval_ns.saturating_mul(row)))
            .take_while(|time| *time <= end)
            .filter_map(|time| {
                let rates = of_group.iter().map(|it| it.sent_bps(time, interval_ns).unwrap_or(0) as f64);
                Some((time, jain(rates)?))
            })
            .collect();
        if indices.is_empty() {
            return;
        }
        let name = &self.names[usize::from(group)];
        let mean = indices.iter().map(|(_, index)| index).sum::<f64>() / indices.len() as f64;
        metrics.insert(format!("fairness.{name}.mean"), Figure(mean));
        let settled = indices.iter().rposition(|(_, index)| *index < FAIR).map_or(0, |place| place + 1);
        if let Some((time, _)) = indices.get(settled) {
            metrics.insert(format!("convergence.{name}.ns"), Figure((time - begin) as f64));
        }
    }
}

impl Watched {
    /// The end of its sending, at most its last sample; `None` without samples.
    fn end_ns(&self) -> Option<u64> {
        let last = self.points.last()?.time_ns;
        let ends = [self.ended, self.flow.stop].into_iter().flatten().map(|end| end.0);
        Some(ends.fold(last, u64::min))
    }

    /// The mean rate of its message from its start to its end, or to the last row before that if it has no end.
    fn mean_bps(&self) -> Option<u64> {
        let (start, end) = (self.flow.start.0, self.end_ns()?);
        let (bytes, end) = match (self.flow.bytes, self.ended) {
            (Some(bytes), Some(end)) => (bytes, end.0),
            _ => self.points.iter().rfind(|it| it.time_ns <= end).map(|it| (it.sent, it.time_ns))?,
        };
        (end > start).then(|| rate_bps(bytes, end - start))
    }

    /// The mean rate of its message over the second half of its life.
    fn settled_bps(&self) -> Option<u64> {
        let (start, end) = (self.flow.start.0, self.end_ns()?);
        let middle = start + end.saturating_sub(start) / 2;
        let mut late = self.points.iter().filter(|point| (middle..=end).contains(&point.time_ns));
        let (first, last) = late.next().zip(late.next_back())?;
        Some(rate_bps(last.sent - first.sent, last.time_ns - first.time_ns))
    }

    fn place(&self, time_ns: u64) -> Option<usize> {
        self.points.binary_search_by_key(&time_ns, |point| point.time_ns).ok()
    }

    /// The mean rate of first transmissions in the interval before `time_ns`.
    fn sent_bps(&self, time_ns: u64, interval_ns: u64) -> Option<u64> {
        let place = self.place(time_ns)?;
        let before = place.checked_sub(1).map_or(0, |place| self.points[place].sent);
        Some(rate_bps(self.points[place].sent.saturating_sub(before), interval_ns))
    }
}

/// Jain's index of fairness; `None` if nothing is sent.
fn jain(rates: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum, squares) = rates.fold((0.0, 0.0, 0.0), |(count, sum, squares), rate: f64| {
        (count + 1.0, sum + rate, squares + rate * rate)
    });
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rates_are_fair_and_one_of_many_is_not() {
        assert_eq!(jain([5.0, 5.0, 5.0].into_iter()), Some(1.0));
        assert_eq!(jain([7.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0, 0.0].into_iter()), None);
    }
}
