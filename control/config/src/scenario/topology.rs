//! `[topology]`, `[[link]]` and `[[route]]`: plans a network from a template, or from nodes and links.

use simulation::Faults;
use simulation::topology::{
    DataCenter, Dumbbell, FatTree, Incast, LeafSpine, LinkSettings, NetworkPlan, PlanError, PlannedLink,
    PlannedNode, PlannedRoute, Role, TwoDataCenters,
};
use toml::de::DeValue;
use units::{BitRate, Distance, Interval, Nanos};

use super::names::{Names, NodeName};
use super::run::{MOST, SOME};
use super::words::{SiteWord, TemplateWord};
use crate::keys::port::FARTHEST;
use crate::keys::running::LONGEST_DELAY;
use crate::machine::Probability;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Key, List, Table, or, table, values};
use crate::value::{Value, value_types, wrong_type};

/// The default link of a data center, with 200 m of fibre.
const RATE: BitRate = BitRate::gigabits(100);
const DELAY: Interval = Interval::from_micros(1);
/// The default length of a long-haul link. Light takes 0.4 ms.
const LONG_DISTANCE: Distance = Distance(80_000);

table! {
    /// Template of the network.
    TopologyDecl {
        /// Template of the network
        template: At<TemplateWord>, required("template = \"leaf-spine\"");
    }

    /// Keys of a link. Missing ones are taken from another link.
    LinkDecl {
        /// Rate of the link
        rate: At<BitRate>, auto("`\"100G\"`");
        /// Length of the fibre. Light takes 404.041 us for 80 km
        distance: At<Distance>, within(Distance(0)..=FARTHEST);
        /// One way; headroom is computed for the length of fibre with that delay
        delay: At<Interval>, within(Interval::ZERO..=LONGEST_DELAY), instead_of(distance), auto("`\"1us\"`");
    }

    /// Senders and receivers on one switch.
    IncastDecl {
        /// Hosts `h0`..
        senders: At<u16>, default(16_u16);
        /// Hosts `r0`..
        receivers: At<u16>, default(1_u16);
        /// Links of receivers
        receiver: LinkDecl, absent, auto("as host links");
    }

    /// Hosts on both sides of one link.
    DumbbellDecl {
        /// Hosts `left0`..
        left: At<u16>, default(8_u16);
        /// Hosts `right0`..
        right: At<u16>, auto("as `left`");
        /// The link between the switches
        bottleneck: LinkDecl, absent, auto("as host links");
    }

    /// Every leaf joined to every spine.
    LeafSpineDecl {
        /// Leaf switches
        leaves: At<u16>, default(4_u16);
        /// Spine switches
        spines: At<u16>, default(2_u16);
        /// Hosts on each leaf
        hosts: At<u16>, default(4_u16);
        /// Links from leaves to spines
        uplink: LinkDecl, absent, auto("as host links");
    }

    /// A fat tree.
    FatTreeDecl {
        /// Ports of a switch, an even number up to 22
        k: At<u16>, default(4_u16);
        /// Hosts on each edge switch
        hosts: At<u16>, auto("k/2");
        /// Links between switches
        uplink: LinkDecl, absent, auto("as host links");
    }

    /// The links between the gateways.
    LongLinkDecl {
        /// Parallel links, 1 to 32; flows are spread over them by hash
        count: At<u16>, default(1_u16);
        /// Whether a [relay](swing.md) stands beside the gateway at each end: `relay-east` and `relay-west`, or `relay-east0` and so on with several links. Their ports relay by default. The links to them are as long as `gateway`, with the rate of the long link, and `[long_haul]` applies to the relays
        relay: At<bool>, default(false);
    }

    /// One data center.
    SiteDecl {
        /// `"hosts"`: on the gateway itself. `"star"`: on one switch `sw0`. `"leaf-spine"`, `"fat-tree"`: the gateway is joined to the spines or cores
        template: At<SiteWord>, default(SiteWord::Star);
    }

    /// Hosts without their own network, or on one switch.
    StarDecl {
        /// Hosts
        hosts: At<u16>, default(4_u16);
    }

    /// The nodes of a network without a template.
    FreeDecl {
        /// Names of hosts
        hosts: List<Names>;
        /// Names of switches
        switches: List<Names>;
    }

    /// A link of such a network.
    JoinDecl {
        /// A link from each of the first name to each of the second
        between: List<Names>, required("between = [\"h0\", \"s0\"]");
        /// Parallel links, up to 64
        count: At<u16>, default(1_u16);
        /// Whether it is a long-haul link, to which `[long_haul]` applies
        long: At<bool>, auto("`false`");
    }

    /// Changes of existing links.
    ChangeDecl {
        /// The nodes that they join
        between: List<Names>, required("between = [\"h0\", \"s0\"]");
        /// Which of the parallel links, from 0
        index: At<u16>, auto("all");
        /// Whether it is a long-haul link
        long: At<bool>, auto("unchanged");
        /// Whether the link is removed, as if it had failed
        remove: At<bool>, default(false);
        /// Faults in both directions
        faults: FaultsDecl;
        /// From the first name to the second
        faults_there: FaultsDecl;
        /// How long after the link goes down, in either direction, [the routes of all switches leave it out](simulation.md#routes-that-follow-faults), and after it is up again, take it back: the time in which a routing protocol converges
        reroute: At<Interval>, within(SOME..=MOST), auto("never");
    }

    /// Faults of a link.
    FaultsDecl => Faults, check {
        /// `["1ms", "2ms"]`: nothing is carried from the first time to the second
        down: At<(Nanos, Nanos)>, auto("never");
        /// The period at which that repeats
        flap_every: At<Interval>, within(SOME..=MOST), needs(down), auto("once");
        /// Whether switches do not notice it, as behind a transponder that keeps the light on. Otherwise they do after 5 ms, where the link is one of several to the same switch ([bundles](bundles.md))
        hidden: At<bool>, needs(down), auto("`false`");
        /// Up to this much is added to the delay of each frame; frames keep their order
        jitter: At<Interval>, within(Interval::ZERO..=MOST);
        /// Extra delay of each PFC or grant frame
        control_delay: At<Interval>, within(Interval::ZERO..=MOST);
        /// Probability that a data frame is lost
        loss: At<Probability>;
        /// How many successive data frames are lost together, on average, at the same probability; 0 and 1: each for itself
        loss_burst: At<u32>, within(0..=1_000_000), needs(loss);
        /// How often a frame arrives with a wrong FCS
        corruption: At<Probability>;
        /// How often a PFC or grant frame is lost
        control_loss: At<Probability>;
        /// How often a PFC or grant frame arrives twice
        control_duplication: At<Probability>;
        /// Up to this much is added to the delay of each PFC or grant frame; they overtake each other
        control_jitter: At<Interval>, within(Interval::ZERO..=MOST);
    }

    /// A route that overrides those that follow from the links.
    RouteDecl {
        /// The switch that has the route; several by `[0-3]` or `*`
        node: At<Names>, required("node = \"s0\"");
        /// Hosts, or switches with their hosts
        to: List<Names>, required("to = [\"h0\"]");
        /// Neighbours; several share the flows
        via: List<Names>, required("via = [\"s1\"]");
    }
}

/// Adds the keys of the tables in this file to `found`.
pub(super) fn describe(found: &mut Vec<(String, &'static [Key])>) {
    TopologyDecl::describe("topology", found);
    LinkDecl::describe("links", found);
    IncastDecl::describe("incast", found);
    DumbbellDecl::describe("dumbbell", found);
    LeafSpineDecl::describe("leaf-spine", found);
    FatTreeDecl::describe("fat-tree", found);
    LongLinkDecl::describe("topology.long_link", found);
    SiteDecl::describe("topology.data_center", found);
    StarDecl::describe("star", found);
    FreeDecl::describe("free", found);
    JoinDecl::describe("topology.link", found);
    ChangeDecl::describe("link", found);
    RouteDecl::describe("route", found);
}

impl LinkDecl {
    fn on(&self, below: LinkSettings) -> LinkSettings {
        let by_distance = self.distance.as_ref().map(|at| (at.value.propagation(), at.value));
        let by_delay = self.delay.as_ref().map(|at| (at.value, LinkSettings::new(RATE, at.value).distance));
        let (delay, distance) = by_distance.or(by_delay).unwrap_or((below.delay, below.distance));
        LinkSettings { rate: or(&self.rate, below.rate), delay, distance, ..below }
    }
}

/// Plans the network of `[topology]`. Returns `None` and notes an error if that fails.
pub(super) fn read(section: &mut Section<'_, '_>) -> Option<NetworkPlan> {
    let Some(At { value: template, .. }) = TopologyDecl::read(section).template else {
        section.rest();
        return None;
    };
    let plain = LinkSettings::new(RATE, DELAY);
    if template == TemplateWord::Free {
        return free(section, plain);
    }
    let link = LinkDecl::read(section).on(plain);
    let plan = match template {
        TemplateWord::Incast => {
            let decl = IncastDecl::read(section);
            let [senders, receivers] = [decl.senders(), decl.receivers()].map(usize::from);
            Incast { senders, receivers, link, receiver_link: decl.receiver().on(link) }.plan()
        }
        TemplateWord::Dumbbell => {
            let decl = DumbbellDecl::read(section);
            let (left, right) = (decl.left().into(), or(&decl.right, decl.left()).into());
            Dumbbell { left, right, link, bottleneck: decl.bottleneck().on(link) }.plan()
        }
        TemplateWord::LeafSpine => leaf_spine(section, link).plan(),
        TemplateWord::FatTree => fat_tree(section, link).plan(),
        TemplateWord::TwoDataCenters => two_data_centers(section, link).plan(),
        TemplateWord::Free => return None,
    };
    plan.map_err(|error| refuse(section, error)).ok()
}

/// Notes an error of a template at the key with the invalid count.
fn refuse(section: &Section<'_, '_>, error: PlanError) {
    let key = error.key().filter(|key| section.contains(key)).unwrap_or("template");
    section.problems.error(&section.place_of_key(key), error);
}

fn leaf_spine(section: &mut Section<'_, '_>, link: LinkSettings) -> LeafSpine {
    let decl = LeafSpineDecl::read(section);
    let [leaves, spines, hosts] = [decl.leaves(), decl.spines(), decl.hosts()].map(usize::from);
    LeafSpine { leaves, spines, hosts, link, uplink: decl.uplink().on(link) }
}

fn fat_tree(section: &mut Section<'_, '_>, link: LinkSettings) -> FatTree {
    let decl = FatTreeDecl::read(section);
    let [k, hosts] = [decl.k(), or(&decl.hosts, decl.k() / 2)].map(usize::from);
    FatTree { k, hosts, link, uplink: decl.uplink().on(link) }
}

fn two_data_centers(section: &mut Section<'_, '_>, hosts: LinkSettings) -> TwoDataCenters {
    let both = section.table("data_center", |site| data_center(site, hosts));
    let unstated = DataCenter::Star { hosts: StarDecl::default().hosts().into(), link: hosts };
    let both = both.unwrap_or(unstated);
    let mut site = |key| section.table(key, |site| data_center(site, hosts)).unwrap_or(both);
    let sites = [site("east"), site("west")];
    let gateway_link = section.table("gateway", LinkDecl::read).unwrap_or_default().on(hosts);
    let long = LinkSettings { delay: LONG_DISTANCE.propagation(), distance: LONG_DISTANCE, ..hosts };
    let read = |it: &mut Section<'_, '_>| (LongLinkDecl::read(it), LinkDecl::read(it).on(long));
    let (decl, long_link) = section.table("long_link", read).unwrap_or((LongLinkDecl::default(), long));
    TwoDataCenters { sites, gateway_link, long_links: decl.count().into(), long_link, relays: decl.relay() }
}

fn data_center(section: &mut Section<'_, '_>, hosts: LinkSettings) -> DataCenter {
    let template = SiteDecl::read(section).template();
    let link = LinkDecl::read(section).on(hosts);
    let mut hosts = || StarDecl::read(section).hosts().into();
    match template {
        SiteWord::Hosts => DataCenter::Hosts { hosts: hosts(), link },
        SiteWord::Star => DataCenter::Star { hosts: hosts(), link },
        SiteWord::LeafSpine => DataCenter::LeafSpine(leaf_spine(section, link)),
        SiteWord::FatTree => DataCenter::FatTree(fat_tree(section, link)),
    }
}

fn free(section: &mut Section<'_, '_>, plain: LinkSettings) -> Option<NetworkPlan> {
    let decl = FreeDecl::read(section);
    let mut plan = NetworkPlan::default();
    for (list, role) in [(&decl.hosts, Role::Host), (&decl.switches, Role::Switch)] {
        for names in values(list) {
            for name in names.value.expanded() {
                match NodeName::read(&DeValue::String(name.as_str().into())) {
                    Ok(NodeName(name)) => drop(plan.add(name, role)),
                    Err(kind) => section.problems.error(&names.place, kind),
                }
            }
        }
    }
    let settings = LinkDecl::read(section).on(plain);
    let joined = section.tables("link", |it| join(it, &mut plan, settings));
    section.expect("link", "[[topology.link]] with between = [\"h0\", \"s0\"]");
    joined.map(|_| plan)
}

/// Reads a `[[topology.link]]`: a link from each of the first names to each of the second.
fn join(section: &mut Section<'_, '_>, plan: &mut NetworkPlan, below: LinkSettings) {
    let (decl, link) = (JoinDecl::read(section), LinkDecl::read(section));
    let count = usize::from(decl.count()).min(64);
    let settings = LinkSettings { long: or(&decl.long, below.long), ..link.on(below) };
    let Some([ones, others]) = between(&decl.between, section, plan) else { return };
    if plan.links.len() + ones.len() * others.len() * count > 4 * NetworkPlan::MOST_NODES {
        section.problems.error(&section.place, PlanError::Nodes { count: plan.links.len() });
        return;
    }
    for &one in &ones {
        for &other in others.iter().cycle().take(others.len() * count) {
            plan.join(one, other, settings);
        }
    }
}

/// The nodes at both ends of `between`.
fn between(
    list: &Option<List<Names>>,
    section: &Section<'_, '_>,
    plan: &NetworkPlan,
) -> Option<[Vec<usize>; 2]> {
    let list = list.as_ref()?;
    let [one, other] = list.value.as_slice() else {
        let kind = ProblemKind::WrongType { got: "this".into(), want: "a pair such as [\"h[0-3]\", \"s0\"]" };
        section.problems.error(&list.place, kind);
        return None;
    };
    let find = |names: &At<Names>| {
        Names::find(names, "node", plan.nodes.iter().map(|node| node.name.as_str()), section.problems)
    };
    let found = [find(one), find(other)];
    found.iter().all(|nodes| !nodes.is_empty()).then_some(found)
}

/// Reads a `[[link]]`, which changes existing links.
pub(super) fn change_links(section: &mut Section<'_, '_>, plan: &mut NetworkPlan) {
    let (decl, change) = (ChangeDecl::read(section), LinkDecl::read(section));
    let Some([ones, others]) = between(&decl.between, section, plan) else { return };
    // The end of the link that the first name stands for, if the link is meant.
    let meant = |link: &PlannedLink| {
        let [one, other] = link.between;
        match () {
            () if ones.contains(&one) && others.contains(&other) => Some(0),
            () if ones.contains(&other) && others.contains(&one) => Some(1),
            () => None,
        }
    };
    let mut seen = 0;
    let (mut changed, mut wrong) = (0, None);
    let NetworkPlan { nodes, links, .. } = plan;
    links.retain_mut(|link| {
        let Some(end) = meant(link) else { return true };
        seen += 1;
        if decl.index.as_ref().is_some_and(|index| usize::from(index.value) != seen - 1) {
            return true;
        }
        changed += 1;
        link.settings = LinkSettings { long: or(&decl.long, link.settings.long), ..change.on(link.settings) };
        if let Some(faults) = &decl.faults {
            link.faults = [faults.settings(Faults::default()); 2];
        }
        if let Some(faults) = &decl.faults_there {
            link.faults[end] = faults.settings(Faults::default());
        }
        link.reroute = decl.reroute.as_ref().map(|at| at.value).or(link.reroute);
        wrong = wrong.take().or(wrong_reroute(link, nodes));
        !decl.remove()
    });
    if let Some(kind) = wrong {
        let place = decl.reroute.as_ref().map_or(&section.place, |at| &at.place);
        section.problems.error(place, kind);
    }
    if changed == 0 {
        let kind = ProblemKind::NoMatch { what: "link", got: "this".into(), nearest: None };
        section.problems.error(&section.place_of_key("between"), kind);
    }
}

/// What keeps routes from following the faults of `link`, if they are to.
fn wrong_reroute(link: &PlannedLink, nodes: &[PlannedNode]) -> Option<ProblemKind> {
    let reroute = link.reroute?;
    let meaningless = |with: &str| Some(ProblemKind::Meaningless { with: with.into() });
    if link.between.iter().any(|node| nodes[*node].role == Role::Host) {
        return meaningless("a link of a host, which has no other one");
    }
    let mut downs = link.faults.iter().filter_map(|it| Some((it.down?, it.flap_every))).peekable();
    if downs.peek().is_none() {
        return meaningless("a link that is never down");
    }
    let is_missed = |((from, to), every): ((Nanos, Nanos), Option<Interval>)| {
        let down = to.since(from);
        reroute >= down || every.is_some_and(|every| reroute >= every - down)
    };
    let valid = "less than the link is down, and up in between";
    downs.any(is_missed).then(|| ProblemKind::out_of_range(reroute, valid))
}

/// Reads a `[[route]]`.
pub(super) fn route(section: &mut Section<'_, '_>, plan: &mut NetworkPlan) {
    let decl = RouteDecl::read(section);
    let problems = section.problems;
    let known = || plan.nodes.iter().map(|node| node.name.as_str());
    let find = |names: &At<Names>| Names::find(names, "node", known(), problems);
    let nodes = decl.node.as_ref().map_or_else(Vec::new, find);
    let [to, via] = [&decl.to, &decl.via].map(|list| values(list).flat_map(find).collect::<Vec<_>>());
    if via.is_empty() {
        if let Some(list) = decl.via.filter(|list| list.value.is_empty()) {
            let kind =
                ProblemKind::WrongType { got: "an empty array".into(), want: "an array of neighbours" };
            problems.error(&list.place, kind);
        }
        return;
    }
    for node in nodes {
        plan.routes.extend(to.iter().map(|&to| PlannedRoute { node, to, via: via.clone() }));
    }
}

impl FaultsDecl {
    fn check(&self, section: &Section<'_, '_>) {
        if let (Some(At { value: (from, to), .. }), Some(every)) = (&self.down, &self.flap_every)
            && every.value <= to.since(*from)
        {
            let kind = ProblemKind::out_of_range(every.value, "longer than the link is down");
            section.problems.error(&every.place, kind);
        }
        // Between two bursts comes one frame at least.
        if let (Some(loss), Some(burst)) = (&self.loss, &self.loss_burst)
            && loss.value.0 < 1.0
            && loss.value.0 * f64::from(burst.value + 1) > f64::from(burst.value.max(1))
            && burst.value > 1
        {
            let kind =
                ProblemKind::out_of_range(loss.value.0, "at most loss_burst / (loss_burst + 1), or 1.0");
            section.problems.error(&loss.place, kind);
        }
    }
}

value_types! {
    (Nanos, Nanos): "two times",
        |it| {
            let wrong = || wrong_type(it, "two times, the second later, such as [\"1ms\", \"2ms\"]");
            let times = it.as_array().ok_or_else(wrong)?.iter().map(|time| Interval::read(time.get_ref()));
            match times.collect::<Result<Vec<_>, _>>()?[..] {
                [from, to] if from < to => Ok((Nanos(from.0), Nanos(to.0))),
                _ => Err(wrong()),
            }
        },
        |(from, to)| format!("[{}, {}]", Interval(from.0).write(), Interval(to.0).write());
}
