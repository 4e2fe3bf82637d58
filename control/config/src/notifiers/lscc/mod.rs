//! Builds LSCC on a port, and checks it against the link and the flow control beneath it.

pub(crate) mod keys;

use core::net::Ipv4Addr;
use std::path::Path;

use switch::congestion::LsccError;
use switch::program::{Feedback, FlowSettings, Lscc, PortSettings, RateCalculation, RateLimiting};
use units::{BitRate, Bytes, Interval, WireBytes};

use crate::defaults;
use crate::flow_control::bifrost::keys::BifrostDecl;
use crate::flow_control::{self, bifrost};
use crate::keys::long_haul::CnpDecl;
use crate::keys::port::PortDecl;
use crate::link::{Link, Senders};
use crate::link_key;
use crate::lscc_sum::{LsccSum, Protection, guided_reference, guided_step};
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::round_trip;
use crate::table::{Table, at, or};
use crate::value::{DirectWord, LongFlow, SizeChoice, Spacing};
use keys::{LsccDecl, SendersDecl};

/// T, as in section III-C of the paper. A shorter round trip replaces it.
const INTERVAL: Interval = Interval::from_micros(200);

/// Builds LSCC on a port whose Bifrost is known. Paths of key files begin in `directory`. Returns `None` and notes an
/// error if the round trip is unknown.
pub(crate) fn build(
    decl: &LsccDecl,
    port: &PortSettings,
    link: &Link,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Lscc> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let stated = stated.or(flow_control::round_trip(&port.flow_control));
    let round_trip = stated.or_else(|| round_trip::needed(port, link, &decl.place, problems))?;
    let interval = or(&decl.interval, INTERVAL.min(round_trip));
    let feedback = Feedback {
        local: decl.local.as_ref()?.value,
        peer: decl.peer.as_ref()?.value,
        key: link_key::read(decl.key.as_ref(), decl.key_file.as_ref(), directory, problems),
        dscp: decl.feedback_dscp(),
    };
    let (calculation, limiting) = (calculation(decl, port.rate), limiting(decl));
    let mut lscc = Lscc { interval, round_trip, calculation, limiting, feedback };
    complete(&mut lscc, decl, port.rate, &link.senders);
    Some(lscc)
}

/// All settings but those that [`complete`] adds.
fn calculation(decl: &LsccDecl, rate: BitRate) -> RateCalculation {
    let most = or(&decl.most, rate);
    RateCalculation {
        reference: WireBytes(0),
        step: None,
        least: or(&decl.least, defaults::least_rate(most)),
        most,
    }
}

/// All settings but those that [`complete`] adds.
fn limiting(decl: &LsccDecl) -> RateLimiting {
    RateLimiting {
        reference: WireBytes(0),
        limit: None,
        cnp_interval: decl.cnp_interval(),
        direct_int: (decl.direct() == DirectWord::Int).then(|| decl.int_interval()),
        long_flow: None,
        far_cnp_interval: decl.far_cnp_interval().0,
        flows: decl.flows(),
        ageing: decl.ageing(),
        learn: decl.learn(),
        cnp_dscp: decl.cnp().dscp(),
        cnp_priority: decl.cnp().priority(),
    }
}

/// Adds the values that depend on others: as stated, or calculated.
fn complete(lscc: &mut Lscc, decl: &LsccDecl, rate: BitRate, senders: &Senders) {
    let reference = size(&decl.reference).unwrap_or_else(|| guided_reference(lscc, rate));
    lscc.calculation.reference = reference;
    let step = decl.step.as_ref().map(|step| step.value);
    lscc.calculation.step = step.unwrap_or_else(|| Some(guided_step(lscc, rate, senders)));
    // As in sections IV-B and IV-C of the paper; on its testbed (IV-A), two fifths.
    let pseudo = size(&decl.pseudo_reference).unwrap_or(reference);
    lscc.limiting.reference = pseudo;
    let limit = decl.pseudo_limit.as_ref().map(|it| it.value.map(|Bytes(size)| WireBytes(size)));
    lscc.limiting.limit = limit.unwrap_or_else(|| Some(RateLimiting::default_limit(pseudo)));
    lscc.limiting.long_flow = match decl.long_flow() {
        LongFlow::None => None,
        LongFlow::Bdp => Some(lscc.bdp(rate)),
        LongFlow::Given(Bytes(size)) => Some(WireBytes(size)),
    };
}

fn size(choice: &Option<At<SizeChoice>>) -> Option<WireBytes> {
    match choice.as_ref()?.value {
        SizeChoice::Given(Bytes(size)) => Some(WireBytes(size)),
        SizeChoice::Auto => None,
    }
}

/// The keys from which [`build`] builds the same LSCC.
pub(crate) fn in_force(lscc: &Lscc, senders: &Senders) -> LsccDecl {
    let Lscc { interval, round_trip, calculation, limiting, feedback } = lscc;
    let size = |WireBytes(size)| at(SizeChoice::Given(Bytes(size)));
    LsccDecl {
        local: at(feedback.local),
        peer: at(feedback.peer),
        key: at(feedback.key),
        key_file: None,
        interval: at(*interval),
        round_trip: at(*round_trip),
        reference: size(calculation.reference),
        step: at(calculation.step),
        least: at(calculation.least),
        most: at(calculation.most),
        pseudo_reference: size(limiting.reference),
        pseudo_limit: at(limiting.limit.map(|WireBytes(size)| Bytes(size))),
        cnp_interval: at(limiting.cnp_interval),
        direct: at(limiting.direct_int.map_or(DirectWord::Cnp, |_| DirectWord::Int)),
        int_interval: limiting.direct_int.and_then(at),
        long_flow: at(limiting
            .long_flow
            .map_or(LongFlow::None, |WireBytes(size)| LongFlow::Given(Bytes(size)))),
        far_cnp_interval: at(Spacing(limiting.far_cnp_interval)),
        flows: at(limiting.flows),
        ageing: at(limiting.ageing),
        learn: at(limiting.learn),
        cnp: CnpDecl::in_force(limiting.cnp_dscp, limiting.cnp_priority),
        senders: Some(SendersDecl {
            rate: at(senders.rate),
            additive_increase: at(senders.additive_increase),
            rate_timer: at(senders.rate_timer),
            place: Place::default(),
        }),
        feedback_dscp: at(feedback.dscp),
        place: Place::default(),
    }
}

/// Warns if LSCC on a port would fail its purpose.
pub(crate) fn check(
    lscc: &Lscc,
    port: &PortSettings,
    sum: &LsccSum,
    (declared, beneath): (&LsccDecl, Option<&BifrostDecl>),
    problems: &Problems<'_>,
) {
    let place = declared.place_of_key();
    match lscc.feedback.key {
        // A file without a key is an error elsewhere.
        None if declared.key.is_some() => {
            problems.warning(place, ProblemKind::LsccUnsigned { peer: lscc.feedback.peer });
        }
        Some(link_key::EXAMPLE_KEY) => problems.warning(place, ProblemKind::LsccExampleKey),
        _ => {}
    }
    check_step(sum, declared, problems);
    let flows = lscc.flows(port.rate);
    if !flows.pairs_by_psn() {
        let (in_flight, most) = (flows.psns_in_flight(), FlowSettings::MOST_PSNS);
        let (port, round_trip) = (port.name.clone(), lscc.round_trip);
        problems.warning(&declared.place, ProblemKind::LsccPsns { port, in_flight, most, round_trip });
    }
    if let Protection::Short { priority, headroom } = sum.beneath
        && !port.lossless().is_empty()
    {
        let (port, bdp) = (port.name.clone(), Bytes(lscc.bdp(port.rate).0));
        let kind = ProblemKind::LsccUncovered { port, priority, headroom, bdp };
        problems.warning(&declared.place, kind);
    }
    check_reference(lscc, port, sum, (declared, beneath), problems);
}

fn check_step(sum: &LsccSum, declared: &LsccDecl, problems: &Problems<'_>) {
    let place = declared.first(&["step"]);
    match sum.step {
        None => problems.warning(place, ProblemKind::LsccNoStep),
        Some(step) if !sum.bounds.allow(step) => {
            problems.warning(place, ProblemKind::LsccStep { step, bounds: sum.bounds });
        }
        Some(_) => {}
    }
}

/// Warns if the flow control beneath would act before the queue that LSCC aims at builds up.
fn check_reference(
    lscc: &Lscc,
    port: &PortSettings,
    sum: &LsccSum,
    (declared, beneath): (&LsccDecl, Option<&BifrostDecl>),
    problems: &Problems<'_>,
) {
    let place = declared.first(&["reference"]);
    let reference = sum.reference;
    if let Some(bifrost) = port.bifrost() {
        let buffer = Bytes(bifrost.buffer.0);
        let least = reference + Bytes(port.rate.bytes_in(bifrost.round_trip));
        if buffer < least {
            let place = beneath.and_then(|bifrost| bifrost.place_of("buffer")).unwrap_or(place);
            problems.warning(place, ProblemKind::LsccAboveBifrost { reference, buffer, least });
        }
    } else if let Protection::Pfc { priority, xoff, .. } = sum.beneath
        && xoff <= Bytes(lscc.calculation.reference.0)
    {
        problems.warning(place, ProblemKind::LsccAbovePfc { priority, reference, xoff });
    }
}

/// The first stated key among those that caused `error`, or their table.
pub(super) fn place(error: &LsccError, decl: &PortDecl) -> Option<Place> {
    let keys: &[&str] = match error {
        LsccError::WithoutLossless => &[],
        LsccError::Interval { .. } | LsccError::InFlight { .. } => &["interval", "round_trip"],
        LsccError::Rates { most, rate, .. } if most > rate => &["most", "least"],
        LsccError::Rates { .. } => &["least"],
        LsccError::Reference => &["reference"],
        LsccError::PseudoReference => &["pseudo_reference"],
        LsccError::PseudoLimit { .. } => &["pseudo_limit", "pseudo_reference"],
        LsccError::CnpInterval { .. } => &["cnp_interval"],
        LsccError::LongFlow { .. } => &["long_flow"],
        LsccError::Flows { .. } => &["flows"],
        LsccError::Ageing => &["ageing"],
        LsccError::Learn { .. } => &["learn"],
        LsccError::Address { address } | LsccError::ToItself { address } => {
            return place_of_address(*address, decl);
        }
    };
    Some(decl.lscc.as_ref()?.first(keys).clone())
}

/// The place of an address of LSCC.
pub(crate) fn place_of_address(address: Ipv4Addr, decl: &PortDecl) -> Option<Place> {
    let lscc = decl.lscc.as_ref()?;
    let is_peer = lscc.peer.as_ref().is_some_and(|peer| peer.value == address);
    Some(lscc.first(if is_peer { &["peer"] } else { &["local"] }).clone())
}

/// Adds Qref to a computed buffer of Bifrost. LSCC's queue takes buffer that cannot be granted, and the link needs
/// all of the rest.
pub(crate) fn make_room(port: &mut PortSettings, lscc: &Lscc, decl: &PortDecl) {
    let Some(slots) = port.flow_control.bifrost_mut() else { return };
    if let Some(declared) = bifrost::declared(decl)
        && declared.buffer.as_ref().is_none_or(|buffer| buffer.value == SizeChoice::Auto)
    {
        slots.buffer += lscc.calculation.reference;
    }
}
