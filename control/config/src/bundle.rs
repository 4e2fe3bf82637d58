//! Makes ports members of bundles.

use switch::program::{Membership, PortSettings};
use units::PortId;

use crate::keys::bundle::BundleDecl;
use crate::keys::document::Document;
use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::runtime::Emulation;
use crate::table::{at, list};
use crate::value::Name;

/// The ports that `decl` names, and notes those that do not exist.
pub(crate) fn members(decl: &BundleDecl, ports: &[PortDecl], problems: &Problems<'_>) -> Vec<PortId> {
    let number = |name: &str| ports.iter().position(|port| port.name() == name);
    let found = decl.names().filter_map(|name| {
        let found = number(&name.value).and_then(|index| u16::try_from(index).ok());
        if found.is_none() {
            let names = ports.iter().map(PortDecl::name);
            problems.error_with(&name.place, || ProblemKind::undefined("port", &name.value, names));
        }
        found.map(PortId)
    });
    found.collect()
}

/// Makes `ports`, with these `links`, members of the bundles of `document`.
pub(crate) fn build(
    document: &Document,
    ports: &mut [PortSettings],
    links: &[Link],
    emulations: &[Option<Emulation>],
    problems: &Problems<'_>,
) {
    let named = document.bundles().iter().flat_map(BundleDecl::names);
    problems.refuse_second(named.map(|name| (&name.place, format!("a member called \"{}\"", name.value))));
    for decl in document.bundles() {
        let members = members(decl, document.ports(), problems);
        let Some(head) = members.first().copied() else { continue };
        for member in members {
            let (link, index) = (&links[member.index()], member.index());
            let Some(distance) = link.distance else {
                let when = "on a member of a bundle; for example, write distance = \"80km\"";
                let place = document.ports()[index].place.of_key("distance");
                problems.error(&place, ProblemKind::Needed { when });
                continue;
            };
            // A measured delay may be anywhere within its bounds; an emulated one may be shorter than the distance.
            let emulated = emulations[index].map(|emulation| emulation.delay);
            let bounds = link.delay;
            let most = bounds.map_or(distance.propagation(), |it| it.most.max(distance.propagation()));
            let delay = bounds.map(|it| it.least).or(emulated).map_or(most, |least| least.min(most));
            let bundle = decl.name().into();
            ports[index].bundle = Some(Membership { bundle, head, delay, jitter: most - delay });
        }
    }
}

/// The bundles of which `ports` are members.
pub(crate) fn in_force(ports: &[PortSettings]) -> Option<Vec<BundleDecl>> {
    let heads = ports.iter().enumerate().filter_map(|(index, port)| {
        let own = port.bundle.as_ref()?;
        (own.head.index() == index).then_some(own)
    });
    let decls = heads.map(|own| {
        let is_member = |port: &&PortSettings| port.bundle.as_ref().is_some_and(|it| it.head == own.head);
        let first = ports[own.head.index()].name.clone();
        let others =
            ports.iter().filter(is_member).map(|port| port.name.clone()).filter(|name| *name != first);
        BundleDecl {
            name: at(Name(own.bundle.clone())),
            members: list(core::iter::once(first.clone()).chain(others)),
            place: Place::default(),
        }
    });
    let decls: Vec<_> = decls.collect();
    (!decls.is_empty()).then_some(decls)
}
