//! The use of links while flows start.

use super::ports::PortPlace;
use super::rows::rate_bps;
use crate::simulate::figure::{Figure, Metrics};
use simulation::{NetworkView, Outcome};
use units::Nanos;

/// Counts up to the last sample while flows start. Later traffic belongs to the remaining flows, and would make means
/// depend on the slowest of them.
#[derive(Debug)]
pub struct LinkLog {
    ports: Vec<PortPlace>,
    until: Nanos,
    at: Nanos,
    carried: Vec<u64>,
}

/// The instant of the last sample, and what each link had carried then.
pub type LinkState = (Nanos, Vec<u64>);

impl LinkLog {
    /// A log of the links of `ports`, in the direction in which these send. Flows start up to `until`.
    pub fn new(ports: Vec<PortPlace>, until: Nanos) -> Self {
        Self { carried: vec![0; ports.len()], ports, until, at: Nanos::ZERO }
    }

    /// Takes a sample of all links.
    pub fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        if now <= self.until {
            self.at = now;
            for (carried, port) in self.carried.iter_mut().zip(&self.ports) {
                *carried = view.carried(port.link, port.end).0;
            }
        }
    }

    /// Its state, for a checkpoint.
    pub fn state(&self) -> LinkState {
        let Self { ports: _, until: _, at, carried } = self;
        (*at, carried.clone())
    }

    /// Goes on from a state.
    pub fn restore(&mut self, state: LinkState) {
        (self.at, self.carried) = state;
    }

    /// Adds the metrics of the links.
    pub fn figures(&self, outcome: &Outcome, metrics: &mut Metrics) {
        for (port, carried) in self.ports.iter().zip(&self.carried) {
            let total = outcome.links[port.link][port.end].wire.0;
            let ended_before = outcome.end <= self.until;
            let (bytes, time) = if ended_before { (total, outcome.end.0) } else { (*carried, self.at.0) };
            metrics.insert(format!("{}.wire_bytes", port.link_name), Figure(total as f64));
            if time > 0 {
                let mean = rate_bps(bytes, time) as f64;
                let share = mean / port.rate.bits_per_second() as f64;
                metrics.insert(format!("{}.mean_bps", port.link_name), Figure(mean));
                metrics.insert(format!("{}.utilisation", port.link_name), Figure(share));
            }
        }
    }
}
