//! The egress queue that a port may have congested (algorithm 2).

use super::super::look::Look;
use super::super::rota::Rota;
use super::draw::{Draw, Urn};
use super::settings::PPfc;
use serde::{Deserialize, Serialize};
use units::{Cells, PortId, Priority};

/// The part of a port that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Its frames in the egress queue.
    pub part: Cells,
    /// The growth of its part since the last look.
    pub growth: Cells,
}

/// The egress queue of one priority that a port looks at.
#[derive(Debug, Serialize, Deserialize)]
pub struct Suspect {
    /// The queue at which the last tick looked.
    egress: Option<PortId>,
    /// The part of each ingress port at that time, in cells.
    parts: Box<[u64]>,
    rota: Rota,
}

impl Suspect {
    pub fn new(ports: usize) -> Self {
        Self { egress: None, parts: vec![0; ports].into(), rota: Rota::default() }
    }

    /// Forgets the queue.
    pub fn clear(&mut self) {
        (self.egress, self.rota) = (None, Rota::default());
    }

    /// Notes the parts of the queue, and draws if it is congested. Returns the part of the port if it is drawn.
    pub fn look(
        &mut self,
        tick: u64,
        priority: Priority,
        look: Look<'_>,
        draw: &Draw,
        settings: &PPfc,
    ) -> Option<Drawn> {
        let egress = self.rota.choose(tick, priority, look)?;
        let is_known = self.egress.replace(egress) == Some(egress);
        let (urn, part) = (Urn { tick, egress, priority }, |ingress| {
            look.accounts.ledger.cells(ingress, egress, priority).0
        });
        let own = part(look.port);
        let turn = draw.turn(urn, look.port, own);
        let (mut queue, mut growth, mut ahead) = (0, 0, 0);
        for (ingress, noted) in (0..).map(PortId).zip(&mut self.parts) {
            let now = if ingress == look.port { own } else { part(ingress) };
            let grown = now.saturating_sub(core::mem::replace(noted, now));
            queue += now;
            if ingress == look.port {
                growth = grown;
            } else if grown > 0 && draw.turn(urn, ingress, now) < turn {
                ahead += now;
            }
        }
        if Cells(queue).bytes() <= settings.kmax {
            self.rota.was_short(egress);
            return None;
        }
        let is_covered = ahead as f64 >= settings.coverage * queue as f64;
        let is_drawn = is_known && growth > 0 && !is_covered;
        is_drawn.then_some(Drawn { part: Cells(own), growth: Cells(growth) })
    }
}
