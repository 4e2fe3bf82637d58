//! A neighbour whose PFC is not that of the port.

use super::effect::{Effect, effect};
use crate::period::PortPeriod;

/// The mismatches that bear on pauses: a peer obeys those of the priorities for which it has PFC, and no others.
const OF_PFC: [&str; 2] = ["pfc_priorities", "pfc_capability"];

/// Each difference of PFC that a neighbour announces.
pub fn differs(port: PortPeriod<'_>) -> Vec<Effect> {
    let all = port.now.neighbours.iter().flat_map(|it| it.mismatches.iter().map(move |found| (it, found)));
    let of_pfc = all.filter(|(_, found)| OF_PFC.contains(&found.kind.as_str()));
    of_pfc
        .map(|(it, found)| {
            let text = format!("the neighbour {} differs: {} ({})", it.name(), found.sides, found.kind);
            effect("neighbour_differs", port, None, text, Vec::new())
        })
        .collect()
}
