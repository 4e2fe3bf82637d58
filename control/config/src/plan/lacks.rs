//! What a plan lacks although its buffers hold: cores, memory, and room for workers that are late.

use core::fmt;

use units::human::thousands;
use units::{BitRate, Interval};

use super::built::Built;
use super::request::{PlanError, Request};
use super::text::{Form, read};
use crate::core_load::{CoreLoad, FRAMES_PER_SECOND, carried, lanes_for, packet_of};
use crate::problem::ProblemKind;
use switch::receive_ring::BURST;

/// A reason why a plan does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The resource: `"cores"`, `"memory"` or `"lateness"`.
    pub of: &'static str,
    /// Why, with the number.
    pub why: String,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.of, self.why)
    }
}

/// All reasons; none if the plan holds.
pub(super) fn lacks(built: &Built) -> Vec<Lack> {
    let cores = built.with_devices.cores();
    let late = cores.iter().flat_map(|load| late(built, load));
    behind(built, &cores).into_iter().chain(memory(built)).chain(late).collect()
}

/// Cores that get more frames than they can take, and the rate that they could. All of them are alike, as both links are.
fn behind(built: &Built, cores: &[CoreLoad]) -> Option<Lack> {
    let behind: Vec<_> = cores.iter().filter(|load| !load.keeps_up()).collect();
    let first = behind.first()?;
    // All lanes are alike.
    let told = if first.lanes > 1 { 1 } else { behind.len() };
    let names: Vec<_> = behind.iter().take(told).map(|load| load.ports.join(" and ")).collect();
    let (port, _) = built.long();
    let (packet, _) = packet_of(port.max_frame);
    let share = u128::from(port.rate.bits_per_second()) * u128::from(carried(first.lanes) * 8 * packet.0);
    let whole = built.local().0.rate.bits_per_second().saturating_mul(2).max(1);
    let most = (share / u128::from(whole)) as u64;
    let unit = 10_u64.pow(most.max(1).ilog10().saturating_sub(2));
    let most = BitRate::new(most / unit * unit).unwrap_or(port.rate);
    let why = format!(
        "{:#} bring {} frames a second to the core of {}, if each is as long as RDMA sends them ({packet} on the wire), and a \
         core takes {}; links of up to {most:#} hold{}",
        first.rate,
        thousands(first.fewest_frames),
        names.join(", and to that of "),
        thousands(FRAMES_PER_SECOND),
        with_lanes(built, cores),
    );
    Some(Lack { of: "cores", why })
}

/// The lanes that carry what these cores do not, or why there can be none.
fn with_lanes(built: &Built, cores: &[CoreLoad]) -> String {
    let Some(lanes) = lanes_for(cores) else { return String::new() };
    let request = Request { lanes: lanes as u8, ..built.request.clone() };
    let problems = match read(&request, 0, &Form::default()) {
        Ok(_) => return format!(", and so does this one with --lanes {lanes}"),
        Err(PlanError::Refused { problems }) => problems,
        Err(_) => Vec::new(),
    };
    let refused = problems.into_iter().find_map(|problem| match problem.kind {
        ProblemKind::Lanes { refusal, .. } => Some(refusal),
        _ => None,
    });
    refused
        .map_or_else(String::new, |refusal| format!("; --lanes {lanes} would carry this one, but {refusal}"))
}

/// More memory than there is, where that is stated.
fn memory(built: &Built) -> Option<Lack> {
    let (needed, there) = (built.with_devices.memory()?.frames(), built.request.memory?);
    let why = || format!("{needed} are needed, and there are {there}");
    (needed > there).then(|| Lack { of: "memory", why: why() })
}

/// The ports of a core that lose frames when its worker is as late as stated, or by a turn of full bursts.
fn late(built: &Built, load: &CoreLoad) -> Vec<Lack> {
    let (stated, frames) = (built.request.lateness, load.ports.len() as u64 * BURST);
    let turn = Interval((frames * 1_000_000_000).div_ceil(FRAMES_PER_SECOND));
    let (late, by) = match stated {
        Some(late) => (late, "as stated"),
        None => (turn, "a turn of full bursts"),
    };
    let of_core = |name: &str| load.ports.iter().any(|port| port == name);
    let buffers = built.with_devices.lateness().filter(|(name, _, most)| of_core(name) && *most < late);
    let buffers = buffers.map(|(name, covered, most)| {
        format!(
            "a worker may be late by {late:#} ({by}), and {name} covers {covered:#}, or {most:#} with all that the shared pool can spare"
        )
    });
    let rings = load.rings().filter(|(_, down_to)| down_to.is_none());
    let rings = rings.map(|(name, _)| {
        format!("the receive ring of {name} is too short for what comes while its worker is late")
    });
    buffers.chain(rings).map(|why| Lack { of: "lateness", why }).collect()
}
