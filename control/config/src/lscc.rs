//! LSCC on a port: what follows from its link, and what stands beneath it.

use std::path::Path;

use switch::program::{Bifrost, Feedback, FlowSettings, Lscc, PortSettings, RateCalculation, RateLimiting};
use units::{BitRate, Bytes, WireBytes};
use wire::rate_feedback::Key;

use crate::bifrost;
use crate::build::or;
use crate::defaults;
use crate::file::{FileError, read_at_most};
use crate::gateway::Link;
use crate::lscc_sum::{LsccSum, Protection, StepBounds, guided_reference, guided_step};
use crate::problem::ProblemKind;
use crate::reader::{At, Problems};
use crate::schema::{KeyWish, LsccDecl, PortDecl};
use crate::value::{KEY, SizeWish, hexadecimal};

/// The key in `config/keys/example.key`, which is public.
const EXAMPLE_KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// What `decl` asks for on a port of which Bifrost is known; `None` where the round trip is not
/// known, which has been said. Key files are looked for from `directory` on.
pub(crate) fn build(
    decl: &LsccDecl,
    port: &PortSettings,
    link: &Link,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Lscc> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let stated = stated.or(port.bifrost.map(|bifrost| bifrost.round_trip));
    let round_trip = stated.or_else(|| bifrost::round_trip(port, link, &decl.place, problems))?;
    let interval = or(&decl.interval, defaults::LSCC_INTERVAL.min(round_trip));
    let feedback = Feedback {
        local: decl.local.value,
        peer: decl.peer.value,
        key: key(&decl.key, directory, problems),
        dscp: or(&decl.feedback_dscp, defaults::NETWORK_DSCP),
    };
    let (calculation, limiting) = (calculation(decl, port.rate), limiting(decl));
    let mut lscc = Lscc { interval, round_trip, calculation, limiting, feedback };
    complete(&mut lscc, decl, port.rate);
    Some(lscc)
}

/// But for what [`complete`] adds.
fn calculation(decl: &LsccDecl, rate: BitRate) -> RateCalculation {
    let most = or(&decl.most, rate);
    RateCalculation {
        reference: WireBytes(0),
        step: None,
        least: or(&decl.least, defaults::least_rate(most)),
        most,
    }
}

/// But for what [`complete`] adds.
fn limiting(decl: &LsccDecl) -> RateLimiting {
    RateLimiting {
        reference: WireBytes(0),
        cnp_interval: or(&decl.cnp_interval, defaults::CNP_INTERVAL),
        long_flow: WireBytes(0),
        far_cnp_interval: or(&decl.far_cnp_interval, None),
        flows: or(&decl.flows, defaults::FLOWS),
        ageing: or(&decl.ageing, defaults::FLOW_AGEING),
        cnp_dscp: or(&decl.cnp.dscp, defaults::NETWORK_DSCP),
        cnp_priority: or(&decl.cnp.priority, defaults::NETWORK_PRIORITY),
    }
}

/// Adds what is calculated from the rest where it is not stated.
fn complete(lscc: &mut Lscc, decl: &LsccDecl, rate: BitRate) {
    let reference = size(&decl.reference).unwrap_or_else(|| guided_reference(lscc, rate));
    lscc.calculation.reference = reference;
    let step = decl.step.as_ref().map(|step| step.value);
    lscc.calculation.step = step.unwrap_or_else(|| Some(guided_step(lscc, rate)));
    // As in sections IV-B and IV-C of the paper; on its testbed (IV-A), two fifths.
    lscc.limiting.reference = size(&decl.pseudo_reference).unwrap_or(reference);
    lscc.limiting.long_flow = size(&decl.long_flow).unwrap_or_else(|| lscc.bdp(rate));
}

fn size(wish: &Option<At<SizeWish>>) -> Option<WireBytes> {
    match wish.as_ref()?.value {
        SizeWish::Given(Bytes(size)) => Some(WireBytes(size)),
        SizeWish::Auto => None,
    }
}

fn key(wish: &At<KeyWish>, directory: Option<&Path>, problems: &Problems<'_>) -> Option<Key> {
    let path = match &wish.value {
        KeyWish::Here(key) => return Some(*key),
        KeyWish::None => return None,
        KeyWish::File(path) => path,
    };
    let key = directory.ok_or(ProblemKind::KeyFileNowhere).and_then(|it| read_key(&it.join(path)));
    key.map_err(|kind| problems.error(&wish.place, kind)).ok()
}

/// The key in a file of which empty lines and comments (`#`) do not count.
fn read_key(path: &Path) -> Result<Key, ProblemKind> {
    /// More than any comment needs; less than a wrong file may have.
    const MOST: Bytes = Bytes(4_096);
    let shown = || path.display().to_string();
    let unreadable = |error: FileError| ProblemKind::KeyFile { path: shown(), reason: error.to_string() };
    let text = read_at_most(MOST, path).map_err(unreadable)?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let only = lines.next().filter(|_| lines.next().is_none());
    let key = only.and_then(hexadecimal).map(Key);
    key.ok_or_else(|| ProblemKind::KeyFile {
        path: shown(),
        reason: format!("it does not hold {KEY}, and nothing else"),
    })
}

/// Notes where LSCC on a port would not do what it is there for.
pub(crate) fn check(
    lscc: &Lscc,
    port: &PortSettings,
    sum: &LsccSum,
    decl: &PortDecl,
    problems: &Problems<'_>,
) {
    let Some(declared) = &decl.lscc else { return };
    let place = &declared.key.place;
    match (&declared.key.value, lscc.feedback.key) {
        (KeyWish::None, _) => {
            problems.warning(place, ProblemKind::LsccUnsigned { peer: lscc.feedback.peer });
        }
        (_, Some(EXAMPLE_KEY)) => problems.warning(place, ProblemKind::LsccExampleKey),
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
    check_reference(lscc, port, sum, decl, problems);
}

fn check_step(sum: &LsccSum, declared: &LsccDecl, problems: &Problems<'_>) {
    let place = declared.step.as_ref().map_or(&declared.place, |step| &step.place);
    match sum.step {
        None => problems.warning(place, ProblemKind::LsccNoStep),
        Some(step) if !sum.bounds.allow(step) => {
            let StepBounds { above, below, flows } = sum.bounds;
            problems.warning(place, ProblemKind::LsccStep { step, above, below, flows });
        }
        Some(_) => {}
    }
}

/// Whether the queue that LSCC aims at can stand without what is beneath acting on it.
fn check_reference(
    lscc: &Lscc,
    port: &PortSettings,
    sum: &LsccSum,
    decl: &PortDecl,
    problems: &Problems<'_>,
) {
    let Some(declared) = &decl.lscc else { return };
    let place = declared.reference.as_ref().map_or(&declared.place, |reference| &reference.place);
    let reference = sum.reference;
    if let Some(bifrost) = &port.bifrost {
        let buffer = Bytes(bifrost.buffer.0);
        let least = reference + Bytes(port.rate.bytes_in(bifrost.round_trip));
        if buffer < least {
            let stated = decl.bifrost.as_ref().and_then(|bifrost| bifrost.buffer.as_ref());
            let place = stated.map_or(place, |buffer| &buffer.place);
            problems.warning(place, ProblemKind::LsccAboveBifrost { reference, buffer, least });
        }
    } else if let Protection::Pfc { priority, xoff, .. } = sum.beneath
        && xoff <= Bytes(lscc.calculation.reference.0)
    {
        problems.warning(place, ProblemKind::LsccAbovePfc { priority, reference, xoff });
    }
}

/// Adds Qref to a buffer of Bifrost that is not stated: what LSCC keeps there is not granted, and
/// the link needs all that is.
pub(crate) fn make_room(bifrost: &mut Bifrost, lscc: &Lscc, decl: &PortDecl) {
    let stated = decl.bifrost.as_ref().and_then(|bifrost| bifrost.buffer.as_ref());
    if stated.is_none_or(|buffer| buffer.value == SizeWish::Auto) {
        bifrost.buffer = bifrost.buffer + lscc.calculation.reference;
    }
}
