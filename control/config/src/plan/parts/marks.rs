//! The marks of the queues: Kmin, Kmax and Pmax.

use switch::program::{PortSettings, Red};

use crate::headroom::grouped;
use crate::plan::built::Built;
use crate::plan::longest::{fixed, group};
use crate::plan::step::{Part, Quantity, Step};
use crate::plan::text::{LOCAL, LONG};
use crate::scenario::EcnDecl;

/// The marks of each queue that marks, behind the port that feeds it.
pub(in crate::plan) fn marks(built: &Built) -> Vec<Part> {
    let (local, long) = (built.local().0, built.long().0);
    let queues = [(LOCAL, local, LONG, long), (LONG, long, LOCAL, local)];
    let part = |(name, port, feeder, feeding): (&str, &PortSettings, &str, &PortSettings)| {
        let title = format!("Marks (ECN) of the queue of {name}, which {feeder} feeds");
        Some(Part { title, steps: steps(port, feeder, feeding)? })
    };
    queues.into_iter().filter_map(part).collect()
}

/// Kmin, Kmax and Pmax; `None` if the lossless queues of the port do not mark.
fn steps(port: &PortSettings, feeder: &str, feeding: &PortSettings) -> Option<Vec<Step>> {
    let is_lossless = |index: usize| port.groups[index].lossless().is_some();
    let mut queues = port.queues.iter().filter(|queue| is_lossless(queue.priority.index()));
    let Red { kmin, kmax, pmax, .. } = queues.find_map(|queue| queue.red)?;
    let usual = EcnDecl::default();
    let rate = port.rate;
    let xoff = grouped(fixed(group(feeding).xoff).0);
    let least = |usual: u64, most: String| format!("min({} x {rate} / 100G, {most})", grouped(usual));
    Some(vec![
        Step::new(
            "Kmin",
            format!("min(400 kB at 100G, XOFF of {feeder} / 8)"),
            least(usual.kmin().0, format!("{xoff} / 8")),
            Quantity::Bytes(kmin.0),
            "HPCC paper, 5.1; senders hear before PFC acts",
        ),
        Step::new(
            "Kmax",
            "min(1,600 kB at 100G, 4 Kmin)",
            least(usual.kmax().0, format!("4 x {}", grouped(kmin.0))),
            Quantity::Bytes(kmax.0),
            "HPCC paper, 5.1",
        ),
        Step::new(
            "Pmax",
            "probability of a mark at Kmax",
            "",
            Quantity::Percent((pmax * 100.0).round() as u64),
            "HPCC paper, 5.1",
        ),
    ])
}
