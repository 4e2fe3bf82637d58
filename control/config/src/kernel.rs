//! Builds what the gateway needs of a kernel.

use switch::program::PortSettings;
use units::PortId;

use crate::keys::document::Document;
use crate::keys::kernel::KernelDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::runtime::{Kernel, KernelTap};
use crate::table::{Table, at, list, values};
use crate::value::Mode;
use switch::KernelPath;

/// The longest name of an interface: `IFNAMSIZ` without the zero at its end.
const NAME_MAX: usize = 15;

/// The kernel of `document`, if it has one, with a TAP for each port in no bundle and for each bundle.
pub(crate) fn build(
    document: &Document,
    ports: &[PortSettings],
    links: &[Link],
    problems: &Problems<'_>,
) -> Option<Kernel> {
    let Some(decl) = &document.kernel else {
        for place in document.bundles().iter().filter_map(|bundle| bundle.place_of("least")) {
            problems.error(place, ProblemKind::Alone { other: "[kernel]" });
        }
        return None;
    };
    if document.forwarding().mode() != Mode::Route {
        let with = "a forwarding.mode other than \"route\"".into();
        problems.error(&decl.place, ProblemKind::Meaningless { with });
    }
    if document.dpdk().lanes() > 1 {
        problems.error(&decl.place, ProblemKind::Meaningless { with: "several dpdk.lanes".into() });
    }
    let heads = (0..)
        .map(PortId)
        .zip(ports)
        .filter(|(port, it)| it.bundle.as_ref().is_none_or(|it| it.head == *port));
    let tap = |(port, settings): (PortId, &PortSettings)| {
        let bundle = settings.bundle.as_ref();
        let is_member = |it: &PortSettings| it.bundle.as_ref().is_some_and(|it| it.head == port);
        let members = (0..).map(PortId).zip(ports).filter(|(it, own)| *it == port || is_member(own));
        let name = bundle.map_or(&settings.name, |it| &it.bundle).clone();
        let learns = match &decl.learn {
            Some(_) => values(&decl.learn).any(|it| it.value == name),
            None => links[port.index()].distance.is_none(),
        };
        let stated = document.bundles().iter().find(|it| bundle.is_some() && it.name() == name);
        let least = stated.map_or(1, |it| it.least().into());
        KernelTap { port, members: members.map(|(port, _)| port).collect(), least, learns, name }
    };
    let taps: Vec<_> = heads.map(tap).collect();
    check(document, decl, &taps, problems);
    let namespace = decl.namespace.as_ref().map(|namespace| namespace.value.clone());
    Some(Kernel { namespace, taps })
}

/// Notes what is wrong with `taps`, and with names of them.
fn check(document: &Document, decl: &KernelDecl, taps: &[KernelTap], problems: &Problems<'_>) {
    for KernelTap { name, members, least, .. } in taps {
        let bundle = document.bundles().iter().find(|it| it.name() == name);
        if name.len() > NAME_MAX || name.contains(['/', ':']) {
            let want = "a name of an interface, which its TAP in the kernel gets: 15 characters at most, without / and :";
            let port = || document.ports().iter().find(|it| it.name() == name);
            let place = bundle.map(|it| it.first(&["name"])).or_else(|| Some(port()?.first(&["name"])));
            problems.error(place.unwrap_or(&decl.place), ProblemKind::Malformed { got: name.clone(), want });
        }
        let count = members.iter().count();
        if let Some(place) = bundle.and_then(|it| it.place_of("least")).filter(|_| *least > count) {
            let valid = format!("1 to {count}, the number of members");
            problems.error(place, ProblemKind::OutOfRange { got: least.to_string(), valid });
        }
    }
    for stated in values(&decl.learn).filter(|stated| taps.iter().all(|tap| tap.name != stated.value)) {
        let names = taps.iter().map(|tap| tap.name.as_str());
        problems.error_with(&stated.place, || ProblemKind::undefined("port", &stated.value, names));
    }
}

/// The keys from which [`build`] makes the same kernel.
pub(crate) fn in_force(kernel: &Kernel, path: &KernelPath) -> KernelDecl {
    let learn = kernel.taps.iter().filter(|tap| tap.learns).map(|tap| tap.name.clone());
    KernelDecl {
        namespace: kernel.namespace.clone().and_then(at),
        priority: at(path.priority),
        learn: list(learn),
        place: Place::default(),
    }
}
