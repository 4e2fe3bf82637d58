//! `[topology]`, `[[link]]` and `[[route]]`: from a template or from nodes and links to a plan.

use simulation::Faults;
use simulation::topology::{
    DataCenter, Dumbbell, FatTree, Incast, LeafSpine, Linear, LinkWish, Plan, PlanError, PlannedLink,
    PlannedRoute, Role, TwoDataCenters,
};
use toml::de::DeValue;
use units::{BitRate, Distance, Interval, Nanos};

use super::names::{Names, NodeName};
use super::run;
use super::words::{HostsAt, SiteWord, TemplateWord};
use crate::keys::port::FARTHEST;
use crate::keys::running::LONGEST_DELAY;
use crate::machine::Probability;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::value::{Value, described};

/// A link of a data center where nothing is said: 200 m of fibre.
const RATE: BitRate = BitRate::gigabits(100);
const DELAY: Interval = Interval::from_micros(1);
/// Light takes 0.4 ms.
const LONG_DISTANCE: Distance = Distance(80_000);

/// What is said of a link; what is not said is that of another.
#[derive(Clone, Copy, Debug, Default)]
struct LinkDecl {
    rate: Option<BitRate>,
    /// With the fibre that takes so long.
    delay: Option<(Interval, Distance)>,
    long: Option<bool>,
}

impl LinkDecl {
    fn read(section: &mut Section<'_, '_>) -> Self {
        let rate = section.optional("rate").map(|rate| rate.value);
        let distance = section.optional::<Distance>("distance");
        let distance = distance.filter(|it| section.is_within(it, &(Distance(0)..=FARTHEST)));
        let delay = section.optional::<Interval>("delay");
        let delay = delay.filter(|it| section.is_within(it, &(Interval::ZERO..=LONGEST_DELAY)));
        section.refuse_beside("delay", &["distance"]);
        let by_distance = distance.map(|distance| (distance.value.propagation(), distance.value));
        let by_delay = delay.map(|delay| (delay.value, LinkWish::new(RATE, delay.value).distance));
        Self { rate, delay: by_distance.or(by_delay), long: None }
    }

    fn over(self, below: LinkWish) -> LinkWish {
        let (delay, distance) = self.delay.unwrap_or((below.delay, below.distance));
        LinkWish {
            rate: self.rate.unwrap_or(below.rate),
            delay,
            distance,
            long: self.long.unwrap_or(below.long),
        }
    }
}

/// The link that the table at `key` says, as `below` where it says nothing.
fn link(section: &mut Section<'_, '_>, key: &'static str, below: LinkWish) -> LinkWish {
    section.table(key, LinkDecl::read).unwrap_or_default().over(below)
}

fn count(section: &mut Section<'_, '_>, key: &'static str, default: usize) -> usize {
    section.optional::<u16>(key).map_or(default, |count| usize::from(count.value))
}

/// The plan that `[topology]` draws; `None` where it draws none, which has been said.
pub(super) fn read(section: &mut Section<'_, '_>) -> Option<Plan> {
    let template = section.required::<TemplateWord>("template", "template = \"leaf-spine\"")?;
    let plain = LinkWish::new(RATE, DELAY);
    if template.value == TemplateWord::Free {
        return free(section, plain);
    }
    let hosts = LinkDecl::read(section).over(plain);
    let plan = match template.value {
        TemplateWord::Incast => Incast {
            senders: count(section, "senders", 16),
            receivers: count(section, "receivers", 1),
            link: hosts,
            receiver_link: link(section, "receiver", hosts),
        }
        .plan(),
        TemplateWord::Dumbbell => {
            let left = count(section, "left", 8);
            let right = count(section, "right", left);
            Dumbbell { left, right, link: hosts, bottleneck: link(section, "bottleneck", hosts) }.plan()
        }
        TemplateWord::Linear => Linear {
            switches: count(section, "switches", 2),
            hosts: count(section, "hosts", 1),
            ends_only: section.optional("hosts_at").is_none_or(|at: At<HostsAt>| at.value == HostsAt::Ends),
            link: hosts,
            trunk: link(section, "trunk", hosts),
        }
        .plan(),
        TemplateWord::LeafSpine => leaf_spine(section, hosts).plan(),
        TemplateWord::FatTree => fat_tree(section, hosts).plan(),
        TemplateWord::TwoDataCenters => two_data_centers(section, hosts).plan(),
        TemplateWord::Free => return None,
    };
    plan.map_err(|error| refuse(section, error)).ok()
}

/// Says where the count stands that a template cannot have.
fn refuse(section: &Section<'_, '_>, error: PlanError) {
    let key = error.key().filter(|key| section.contains(key)).unwrap_or("template");
    section.problems.error(&section.place_of_key(key), error);
}

fn leaf_spine(section: &mut Section<'_, '_>, hosts: LinkWish) -> LeafSpine {
    LeafSpine {
        leaves: count(section, "leaves", 4),
        spines: count(section, "spines", 2),
        hosts: count(section, "hosts", 4),
        link: hosts,
        uplink: link(section, "uplink", hosts),
    }
}

fn fat_tree(section: &mut Section<'_, '_>, hosts: LinkWish) -> FatTree {
    let k = count(section, "k", 4);
    FatTree { k, hosts: count(section, "hosts", k / 2), link: hosts, uplink: link(section, "uplink", hosts) }
}

fn two_data_centers(section: &mut Section<'_, '_>, hosts: LinkWish) -> TwoDataCenters {
    let both = section.table("data_center", |site| data_center(site, hosts));
    let both = both.unwrap_or(DataCenter::Star { hosts: 4, link: hosts });
    let mut site = |key| section.table(key, |site| data_center(site, hosts)).unwrap_or(both);
    let sites = [site("east"), site("west")];
    let gateway_link = link(section, "gateway", hosts);
    let long = LinkWish { delay: LONG_DISTANCE.propagation(), distance: LONG_DISTANCE, ..hosts };
    let (long_links, long_link) = section
        .table("long_link", |it| (count(it, "count", 1), LinkDecl::read(it).over(long)))
        .unwrap_or((1, long));
    TwoDataCenters { sites, gateway_link, long_links, long_link }
}

fn data_center(section: &mut Section<'_, '_>, hosts: LinkWish) -> DataCenter {
    let template = section.optional("template").map_or(SiteWord::Star, |template| template.value);
    let hosts = LinkDecl::read(section).over(hosts);
    match template {
        SiteWord::Hosts => DataCenter::Hosts { hosts: count(section, "hosts", 4), link: hosts },
        SiteWord::Star => DataCenter::Star { hosts: count(section, "hosts", 4), link: hosts },
        SiteWord::LeafSpine => DataCenter::LeafSpine(leaf_spine(section, hosts)),
        SiteWord::FatTree => DataCenter::FatTree(fat_tree(section, hosts)),
    }
}

fn free(section: &mut Section<'_, '_>, plain: LinkWish) -> Option<Plan> {
    let mut plan = Plan::default();
    for (key, role) in [("hosts", Role::Host), ("switches", Role::Switch)] {
        for names in section.list::<Names>(key).into_iter().flat_map(|list| list.value) {
            for name in names.value.expanded() {
                let valid = NodeName::read(&DeValue::String(name.as_str().into()));
                match valid {
                    Ok(NodeName(name)) => {
                        plan.add(name, role);
                    }
                    Err(kind) => section.problems.error(&names.place, kind),
                }
            }
        }
    }
    let wish = LinkDecl::read(section).over(plain);
    let joined = section.tables("link", |it| join(it, &mut plan, wish));
    section.expect("link", "[[topology.link]] with between = [\"h0\", \"s0\"]");
    joined.map(|_| plan)
}

/// `[[topology.link]]`: a link from each of the first names to each of the second.
fn join(section: &mut Section<'_, '_>, plan: &mut Plan, below: LinkWish) {
    let ends = between(section, plan);
    let count = count(section, "count", 1).min(64);
    let long = section.optional::<bool>("long").map(|long| long.value);
    let wish = LinkDecl { long, ..LinkDecl::read(section) }.over(below);
    let Some([ones, others]) = ends else { return };
    if plan.links.len() + ones.len() * others.len() * count > 4 * Plan::MOST_NODES {
        section.problems.error(&section.place, PlanError::Nodes { count: plan.links.len() });
        return;
    }
    for &one in &ones {
        for &other in others.iter().cycle().take(others.len() * count) {
            plan.join(one, other, wish);
        }
    }
}

/// The nodes that `between` names.
fn between(section: &mut Section<'_, '_>, plan: &Plan) -> Option<[Vec<usize>; 2]> {
    let list = section.required_list::<Names>("between", "between = [\"h0\", \"s0\"]")?;
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

/// `[[link]]`: changes links that are there.
pub(super) fn change_links(section: &mut Section<'_, '_>, plan: &mut Plan) {
    let ends = between(section, plan);
    let index = section.optional::<u16>("index");
    let long = section.optional::<bool>("long").map(|long| long.value);
    let decl = LinkDecl { long, ..LinkDecl::read(section) };
    let remove = section.optional::<bool>("remove").is_some_and(|remove| remove.value);
    let faults = section.table("faults", faults);
    let one_way = section.table("faults_there", self::faults);
    let Some([ones, others]) = ends else { return };
    // Whether it is meant, and if so, which end the first name is.
    let meant = |link: &PlannedLink| {
        let [one, other] = link.between;
        match () {
            () if ones.contains(&one) && others.contains(&other) => Some(0),
            () if ones.contains(&other) && others.contains(&one) => Some(1),
            () => None,
        }
    };
    let mut seen = 0;
    let mut changed = 0;
    plan.links.retain_mut(|link| {
        let Some(end) = meant(link) else { return true };
        seen += 1;
        if index.as_ref().is_some_and(|index| usize::from(index.value) != seen - 1) {
            return true;
        }
        changed += 1;
        link.wish = decl.over(link.wish);
        if let Some(faults) = faults {
            link.faults = [faults; 2];
        }
        if let Some(faults) = one_way {
            link.faults[end] = faults;
        }
        !remove
    });
    if changed == 0 {
        let kind = ProblemKind::Nobody { what: "link", got: "this".into(), nearest: None };
        section.problems.error(&section.place_of_key("between"), kind);
    }
}

/// `[[route]]`.
pub(super) fn route(section: &mut Section<'_, '_>, plan: &mut Plan) {
    let node = section.required::<Names>("node", "node = \"s0\"");
    let to = section.required_list::<Names>("to", "to = [\"h0\"]");
    let via = section.required_list::<Names>("via", "via = [\"s1\"]");
    let problems = section.problems;
    let known = || plan.nodes.iter().map(|node| node.name.as_str());
    let find = |names: &At<Names>| Names::find(names, "node", known(), problems);
    let all = |list: Option<At<Vec<At<Names>>>>| -> Vec<usize> {
        list.into_iter().flat_map(|list| list.value).flat_map(|names| find(&names)).collect()
    };
    let nodes = node.as_ref().map_or_else(Vec::new, &find);
    let place = via.as_ref().map(|via| via.place.clone());
    let (to, via) = (all(to), all(via));
    if let Some(place) = place.filter(|_| via.is_empty()) {
        problems.error(
            &place,
            ProblemKind::WrongType { got: "an empty array".into(), want: "an array of neighbours" },
        );
        return;
    }
    for node in nodes {
        plan.routes.extend(to.iter().map(|&to| PlannedRoute { node, to, via: via.clone() }));
    }
}

fn faults(section: &mut Section<'_, '_>) -> Faults {
    let chance = |section: &mut Section<'_, '_>, key| {
        section.optional::<Probability>(key).map_or(0.0, |chance| chance.value.0)
    };
    let down = section.optional::<Down>("down");
    let flap_every = run::time(section, "flap_every", run::SOME);
    if let (None, Some(every)) = (&down, &flap_every) {
        section.problems.error(&every.place, ProblemKind::Alone { other: "down" });
    }
    if let (Some(Down(from, to)), Some(every)) = (down.as_ref().map(|down| &down.value), &flap_every)
        && every.value <= to.since(*from)
    {
        let got = every.value.to_string();
        let kind = ProblemKind::out_of_range(got, "longer than the link is down");
        section.problems.error(&every.place, kind);
    }
    let mut time = |key| run::time(section, key, Interval::ZERO).map_or(Interval::ZERO, |time| time.value);
    let (jitter, control_delay) = (time("jitter"), time("control_delay"));
    Faults {
        loss: chance(section, "loss"),
        corruption: chance(section, "corruption"),
        jitter,
        control_loss: chance(section, "control_loss"),
        control_delay,
        down: down.map(|down| (down.value.0, down.value.1)),
        flap_every: flap_every.map(|every| every.value),
    }
}

/// `["1ms", "2ms"]`: from when to when.
struct Down(Nanos, Nanos);

impl Value for Down {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "two times, the second later, such as [\"1ms\", \"2ms\"]";
        let wrong = || ProblemKind::WrongType { got: described(value), want: WANT };
        let elements = value.as_array().ok_or_else(wrong)?;
        let times: Vec<Interval> =
            elements.iter().map(|element| Interval::read(element.get_ref())).collect::<Result<_, _>>()?;
        match times.as_slice() {
            [from, to] if from < to => Ok(Self(Nanos(from.0), Nanos(to.0))),
            _ => Err(wrong()),
        }
    }
}
