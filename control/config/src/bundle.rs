//! Makes ports members of bundles.

use std::path::Path;

use switch::liveness::{Hellos, Liveness, Proof};
use switch::program::{Membership, PortSettings};
use units::{Bytes, Interval, PortId, WireBytes};
use wire::grants::hello::Place as HelloPlace;
use wire::rate_feedback::Key;

use crate::keys::bundle::BundleDecl;
use crate::keys::document::Document;
use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::link_key;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::runtime::{Emulation, Kernel};
use crate::table::{Table, at, list, or};
use crate::value::{LivenessWord, Name};

/// The default of `return_after` with hellos.
const RETURN_AFTER: Interval = Interval::from_secs(60);

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
    (emulations, directory): (&[Option<Emulation>], Option<&Path>),
    problems: &Problems<'_>,
) {
    let named = document.bundles().iter().flat_map(BundleDecl::names);
    problems.refuse_second(named.map(|name| (&name.place, format!("a member called \"{}\"", name.value))));
    let Some(chassis) = ports.first().map(|port| port.mac) else { return };
    let send_hellos = document.bundles().iter().any(|decl| decl.liveness() == LivenessWord::Hello);
    if let Some(first) = document.ports().first().filter(|first| send_hellos && first.mac.is_none()) {
        let when = "on the first port where a bundle sends hellos, which the other gateway must not take for its own; for \
                    example, write mac = \"02:00:5e:00:00:01\"";
        problems.error(&first.place.of_key("mac"), ProblemKind::Needed { when });
    }
    for (number, decl) in (0..=u8::MAX).zip(document.bundles()) {
        let key = key(decl, directory, problems);
        check_drained(decl, problems);
        let members = members(decl, document.ports(), problems);
        let Some(head) = members.first().copied() else { continue };
        for (place, member) in (0..=u8::MAX).zip(members) {
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
            let place = HelloPlace { chassis, bundle: number, member: place };
            let liveness = liveness(decl, key, &ports[index], place);
            ports[index].bundle = Some(Membership { bundle, head, delay, jitter: most - delay, liveness });
        }
    }
}

/// Notes those of `drained` that are no members, and that nobody is left.
fn check_drained(decl: &BundleDecl, problems: &Problems<'_>) {
    for name in decl.drained() {
        if !decl.names().any(|member| member.value == name.value) {
            let names: Vec<_> = decl.names().map(|member| member.value.as_str()).collect();
            let kind = || ProblemKind::undefined("member", &name.value, names.iter().copied());
            problems.error_with(&name.place, kind);
        }
    }
    let is_drained = |member: &At<String>| decl.drained().any(|it| it.value == member.value);
    if decl.names().count() > 0 && decl.names().all(is_drained) {
        problems.warning(decl.first(&["drained"]), ProblemKind::AllDrained);
    }
}

/// The key of the hellos of `decl`. Notes an error if there is none, or a warning if it is public.
fn key(decl: &BundleDecl, directory: Option<&Path>, problems: &Problems<'_>) -> Option<Key> {
    let place = decl.first(&["key", "key_file"]);
    let key = link_key::read(decl.key.as_ref(), decl.key_file.as_ref(), directory, problems);
    let lacks_key = decl.key_file.is_none() && key.is_none();
    if decl.liveness() == LivenessWord::Hello && lacks_key {
        let when = "with liveness = \"hello\"; write key_file = \"lh.key\", for a file with the key that both ends share";
        problems.error(&place.of_key("key"), ProblemKind::Needed { when });
    }
    if key == Some(link_key::EXAMPLE_KEY) {
        problems.warning(place, ProblemKind::HelloExampleKey);
    }
    key
}

/// How a member shows that it lives; `None` if its carrier alone does, at once.
fn liveness(decl: &BundleDecl, key: Option<Key>, port: &PortSettings, place: HelloPlace) -> Option<Liveness> {
    let (hold_off, sends_hellos) = (decl.hold_off(), decl.liveness() == LivenessWord::Hello);
    let default = if sends_hellos { RETURN_AFTER } else { Interval::ZERO };
    let return_after = or(&decl.return_after, default);
    // What the device holds, in the shortest frames.
    let overtaken = port.rate.bytes_in(port.tx_window) / WireBytes::of_frame(Bytes(0)).0 + 1;
    let hellos = |key| Proof::Hellos(Hellos { place, interval: decl.interval(), key, overtaken });
    let proof = if sends_hellos { hellos(key?) } else { Proof::Carrier };
    let is_drained = decl.drained().any(|it| it.value == port.name);
    let waits = sends_hellos || is_drained || hold_off > Interval::ZERO || return_after > Interval::ZERO;
    waits.then_some(Liveness { proof, hold_off, return_after, is_drained })
}

/// The bundles of which `ports` are members.
pub(crate) fn in_force(ports: &[PortSettings], kernel: Option<&Kernel>) -> Option<Vec<BundleDecl>> {
    let heads = ports.iter().enumerate().filter_map(|(index, port)| {
        let own = port.bundle.as_ref()?;
        (own.head.index() == index).then_some(own)
    });
    let decls = heads.map(|own| {
        let head = own.head;
        let is_member = |port: &&PortSettings| port.bundle.as_ref().is_some_and(|it| it.head == own.head);
        let first = ports[own.head.index()].name.clone();
        let others =
            ports.iter().filter(is_member).map(|port| port.name.clone()).filter(|name| *name != first);
        let is_drained = |port: &&PortSettings| {
            let own = port.bundle.as_ref().filter(|it| it.head == head);
            own.is_some_and(|it| it.liveness.is_some_and(|it| it.is_drained))
        };
        let drained: Vec<_> = ports.iter().filter(is_drained).map(|port| port.name.clone()).collect();
        let tap = kernel.and_then(|it| it.taps.iter().find(|tap| tap.port == head));
        BundleDecl {
            least: tap.and_then(|tap| at(u8::try_from(tap.least).unwrap_or(u8::MAX))),
            name: at(Name(own.bundle.clone())),
            members: list(core::iter::once(first.clone()).chain(others)),
            liveness: own.liveness.and_then(|it| at(word(&it))),
            interval: hellos(own).and_then(|it| at(it.interval)),
            hold_off: own.liveness.and_then(|it| at(it.hold_off)),
            return_after: own.liveness.and_then(|it| at(it.return_after)),
            drained: (!drained.is_empty()).then(|| list(drained)).flatten(),
            key: hellos(own).and_then(|it| at(Some(it.key))),
            key_file: None,
            place: Place::default(),
        }
    });
    let decls: Vec<_> = decls.collect();
    (!decls.is_empty()).then_some(decls)
}

fn hellos(own: &Membership) -> Option<Hellos> {
    match own.liveness?.proof {
        Proof::Hellos(hellos) => Some(hellos),
        Proof::Carrier => None,
    }
}

fn word(liveness: &Liveness) -> LivenessWord {
    match liveness.proof {
        Proof::Hellos(_) => LivenessWord::Hello,
        Proof::Carrier => LivenessWord::Carrier,
    }
}
