//! Routes that follow the faults of links: `reroute` of `[[link]]`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use simulation::topology::{NetworkPlan, PlannedLink, Topology};
use simulation::{LinkEnd, NodeId, Reroutes};
use switch::ForwardingSettings;
use switch::program::Program;
use units::Nanos;

use super::network::NetworkDecl;
use super::switches::{Made, next_hops, routed};
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;

/// The most changes of routes in a run, and the most sets of links that are out together.
const CHANGES_MAX: usize = 10_000;
const SETS_MAX: usize = 100;

/// What the routes of a network depend on.
pub(super) struct Network<'a> {
    pub plan: &'a NetworkPlan,
    pub topology: &'a Topology,
    pub decl: &'a NetworkDecl,
    pub switches: &'a [Option<Made>],
}

impl Network<'_> {
    /// The changes of its routes up to `limit`. Notes an error at `place`, that of the links, if there are none that are right.
    pub fn reroutes(&self, limit: Nanos, place: &Place, problems: &Problems<'_>) -> Reroutes {
        let mut reroutes = Reroutes::default();
        if self.plan.links.iter().all(|link| link.reroute.is_none()) {
            return reroutes;
        }
        let found = self.check().and_then(|()| {
            let mut sets: Vec<BTreeSet<usize>> = Vec::new();
            for at in self.instants(limit)? {
                let links = 0..self.plan.links.len();
                let out: BTreeSet<usize> = links.filter(|link| is_out(&self.plan.links[*link], at)).collect();
                let state = sets.iter().position(|it| *it == out).unwrap_or(sets.len());
                if state == SETS_MAX {
                    let what = "the number of sets of links that are out together";
                    return Err(ProblemKind::out_of_range(what, format!("up to {SETS_MAX}")));
                }
                if state == sets.len() {
                    reroutes.states.push(self.programs(&out)?);
                    sets.push(out);
                }
                if reroutes.changes.last().is_none_or(|(_, last)| *last != state) {
                    reroutes.changes.push((at, state));
                }
            }
            Ok(())
        });
        if let Err(kind) = found {
            problems.error(place, kind);
        }
        reroutes
    }

    /// Checks that frames that wait for a link do not stay, and that no switch tells others of routes.
    fn check(&self) -> Result<(), ProblemKind> {
        let meaningless = |with: &str| Err(ProblemKind::Meaningless { with: with.into() });
        let links = self.plan.links.iter().zip(&self.topology.links);
        for LinkEnd { node, port } in links.filter(|(it, _)| it.reroute.is_some()).flat_map(|(_, it)| it.ends)
        {
            let made = self.switches[node.0 as usize].as_ref();
            if made.is_some_and(|it| it.program.port(port).bundle.is_some()) {
                return meaningless(
                    "a link of a bundle, which moves its frames to other links, or keeps them",
                );
            }
        }
        let mut ports = self.switches.iter().flatten().flat_map(|it| &it.program.settings().ports);
        match ports.any(|port| port.flow_control.tells_routes()) {
            true => meaningless("a flow_control that tells the other end of the routes at the start"),
            false => Ok(()),
        }
    }

    /// The instants up to `limit` at which routes may change.
    fn instants(&self, limit: Nanos) -> Result<BTreeSet<Nanos>, ProblemKind> {
        let mut instants = BTreeSet::new();
        for link in &self.plan.links {
            let Some(reroute) = link.reroute else { continue };
            for (first, every) in link.faults.iter().filter_map(|it| Some((it.down?, it.flap_every))) {
                for mut at in [first.0 + reroute, first.1 + reroute] {
                    while at <= limit {
                        instants.insert(at);
                        if instants.len() > CHANGES_MAX {
                            let valid = format!("up to {CHANGES_MAX} until scenario.limit");
                            return Err(ProblemKind::out_of_range("the number of changes of routes", valid));
                        }
                        let Some(every) = every else { break };
                        at += every;
                    }
                }
            }
        }
        Ok(instants)
    }

    /// The programs of the switches whose routes change while the links `out` are out.
    fn programs(&self, out: &BTreeSet<usize>) -> Result<BTreeMap<NodeId, Arc<Program>>, ProblemKind> {
        let routes = self.plan.routes_without(self.topology, out)?;
        let mut programs = BTreeMap::new();
        for (index, (entries, made)) in routes.iter().zip(self.switches).enumerate() {
            let (id, Some(made)) = (NodeId(index as u32), made) else { continue };
            let mut settings = made.program.settings().clone();
            let ForwardingSettings::Route(own) = &mut settings.forwarding else { continue };
            if *entries == self.topology.routes[index] {
                continue;
            }
            let route = |entry| next_hops(self.topology, self.decl, id, entry);
            own.routes = routed(self.topology, id, entries).map(route).collect();
            let program = made
                .program
                .with_settings(settings)
                .map_err(|error| ProblemKind::Program { error: Box::new(error), remedy: String::new() })?;
            programs.insert(id, Arc::new(program));
        }
        Ok(programs)
    }
}

/// Whether routes leave `link` out from `at` on, until the next instant.
fn is_out(link: &PlannedLink, at: Nanos) -> bool {
    let since = |from: Nanos| at.0.checked_sub(from.0)?.checked_sub(link.reroute?.0);
    link.faults.iter().any(|faults| {
        let Some((from, to)) = faults.down else { return false };
        let phase = since(from).map(|since| faults.flap_every.map_or(since, |every| since % every.0));
        phase.is_some_and(|phase| phase < to.since(from).0)
    })
}
