//! Problems of a configuration, and their places.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::ops::Range;
use simulation::job::JobError;
use simulation::topology::PlanError;
use simulation::workload::PoissonError;
use std::path::PathBuf;
use switch::LanesRefusal;
use switch::program::ProgramError;
use units::human::thousands;
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, PortSet, Priority};
use wire::ip::Dscp;

use crate::core_load::CoreLoad;
use crate::file::FileError;
use crate::headroom::HeadroomSum;
use crate::lscc_sum::{StepBounds, exact};
use crate::place::Location;

/// Why a configuration does not yield a gateway.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: FileError,
    },
    /// The file was read but is not valid. The message has one line per problem, errors and warnings, in the order of
    /// the file, and [`ProblemKind::Stopped`] after the first 100 of either; at least one of them is an error.
    #[error("{}", lines(problems))]
    Invalid {
        /// The problems.
        problems: Vec<Problem>,
    },
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Whether a gateway can run in spite of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It can, but perhaps not as intended.
    Warning,
    /// It cannot run.
    Error,
}

impl Severity {
    const fn plural(self) -> &'static str {
        match self {
            Self::Warning => "warnings",
            Self::Error => "errors",
        }
    }
}

/// The most names that an error lists, and compares a misspelt one with.
const NAMES: usize = 100;

/// An error or a warning, shown as one line: `file:line:column: [warning: ]key: what is wrong; what would be valid`.
/// A sum follows on further lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The place.
    pub location: Location,
    /// The key at fault with its tables, such as `port.lossless.xoff`; empty if the text is not TOML.
    pub key: String,
    /// The severity.
    pub severity: Severity,
    /// The problem itself.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.location)?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.kind.fmt(f)
    }
}

/// The kind of a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum ProblemKind {
    // The text and its form.
    #[error("{0}")]
    Syntax(String),
    #[error("unknown key{}; valid keys are {valid}", did_you_mean(nearest))]
    UnknownKey { nearest: Option<String>, valid: String },
    #[error("is missing; for example, write {example}")]
    Missing { example: &'static str },
    #[error("{got} is not {want}")]
    WrongType { got: String, want: &'static str },
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    #[error("\"{got}\" is not valid{}; valid words are {valid}", did_you_mean(nearest))]
    Word { got: String, nearest: Option<String>, valid: String },
    #[error("{got} is out of range; expected {valid}")]
    OutOfRange { got: String, valid: String },
    #[error("\"{got}\" is not {want}")]
    Malformed { got: String, want: &'static str },

    // How parts fit together.
    #[error("cannot be combined with {other}; keep one of them")]
    Conflict { other: &'static str },
    #[error("does not apply with {with}; remove it")]
    Meaningless { with: String },
    #[error("does not apply without {other}; add {other}, or remove this key")]
    Alone { other: &'static str },
    #[error("is required {when}")]
    Needed { when: &'static str },
    #[error("port {member} is a member of a bundle; name \"{bundle}\" instead")]
    PatchedMember { member: String, bundle: String },
    #[error("there is no {what} \"{got}\"{}; {}", did_you_mean(nearest), defined(valid))]
    Undefined { what: &'static str, got: String, nearest: Option<String>, valid: Vec<String> },
    #[error("{what} already appears on line {line}")]
    Twice { what: String, line: usize },
    #[error("stopped after {most} {}", severity.plural())]
    Stopped { severity: Severity, most: usize },
    #[error("{error}{remedy}")]
    Program { error: Box<ProgramError>, remedy: String },
    #[error("applies only with flow_control = {word} on the port; add that key, or remove this table")]
    SchemeNotChosen { word: String },
    #[error("applies only with {choice}, which no {what} has; choose it, or remove this table")]
    Unread { choice: String, what: &'static str },

    // Physics.
    #[error(
        "the headroom of {given} is too small for port {port}: after XOFF, {distance} at {rate} need\n{sum}"
    )]
    HeadroomTooSmall { port: String, given: Bytes, rate: BitRate, distance: Distance, sum: Box<HeadroomSum> },
    #[error(
        "with links of the longest delays that are believed, headroom would take {needed} of the shared pool, which can give {spare}; lower `most`, or add the difference to buffer.shared"
    )]
    LinkDelayRoom { needed: Bytes, spare: Bytes },
    #[error(
        "the headroom of {given} exceeds the {most} that the longest link, {distance} at {rate}, needs; check its unit"
    )]
    HeadroomTooLarge { given: Bytes, most: Bytes, rate: BitRate, distance: Distance },
    #[error(
        "the headroom of {given} is smaller than the longest frame of port {port}, {least}; a frame still arrives after XOFF"
    )]
    HeadroomBelowFrame { port: String, given: Bytes, least: Bytes },
    #[error(
        "priority {priority} is lossless on port {ingress}, but port {egress}, where its frames leave, ignores pauses for it; make it lossless there too, or list it in port.pfc.obey"
    )]
    EgressIgnoresPauses { priority: Priority, ingress: String, egress: String },
    #[error(
        "PFC would pause priority {priority} of port {port} at {xoff}, before Bifrost fills its buffer of {buffer}; remove xoff, or set it to at least {buffer}"
    )]
    XoffBelowBifrost { port: String, priority: Priority, xoff: Bytes, buffer: Bytes },
    #[error(
        "Bifrost lets port {port} hold {least}: its buffer of {buffer}, and {overrun} for what a pause that arrives does not stop; priority {priority} has {sure} of its own, so the port drops lossless frames when other traffic fills the shared pool"
    )]
    BifrostUnreserved {
        port: String,
        priority: Priority,
        least: Bytes,
        buffer: Bytes,
        overrun: Bytes,
        sure: Bytes,
    },
    #[error(
        "a slot of {slot} is longer than the way to the upstream, {one_way}; the upstream learns of the queue more than a slot late, and the buffer is larger than necessary"
    )]
    LongSlot { slot: Interval, one_way: Interval },
    #[error(
        "a slot of {slot} carries {bytes} at {rate}, less than the longest frame of {frame}; the upstream sends a frame to its end once a slot lets it begin, so a slot should last at least {least}"
    )]
    ShortSlot { slot: Interval, bytes: Bytes, rate: BitRate, frame: Bytes, least: Interval },
    #[error("credits for {buffer} do not fill the link; {fills} cover its round trip of {round_trip}")]
    ShortCredits { buffer: Bytes, fills: Bytes, round_trip: Interval },
    #[error(
        "the holdover is longer than both the slot of {slot} and the lateness of {lateness}; one lost frame would stop the upstream for slots that were granted"
    )]
    LongHoldover { slot: Interval, lateness: Interval },
    #[error(
        "a horizon of {horizon} is far from {least}, in which all ports fill the buffer of {buffer} (T_min, equation 5): {}",
        if horizon < least { "P-PFC would act only once the buffer is nearly full" } else { "P-PFC would pause senders long before the buffer is in danger" }
    )]
    FarHorizon { horizon: Interval, buffer: Bytes, least: Interval },
    #[error("{path}: {reason}")]
    KeyFile { path: String, reason: String },
    #[error(
        "its path starts in the directory of the configuration, and this configuration is not a file; write key and the key itself"
    )]
    KeyFileNowhere,
    #[error(
        "the link has no key, so anyone who can send into it can impersonate {peer} and advertise any rate; give both ends the same key_file or key"
    )]
    LsccUnsigned { peer: Ipv4Addr },
    #[error(
        "the key of config/keys/example.key is public, so anyone who can send into this link can advertise any rate; create a key of your own with openssl rand -hex 16"
    )]
    LsccExampleKey,
    #[error("has all members, so nothing leaves through the bundle")]
    AllDrained,
    #[error(
        "the key of config/keys/example.key is public, so anyone who can send into these links can forge hellos; create a key of your own with openssl rand -hex 16"
    )]
    HelloExampleKey,
    #[error(
        "a link is taken to be dead after {detection} without a hello, but the buffer covers workers that are late by {covered}: the other end may cut a link whose worker is only late; make interval longer"
    )]
    HelloLateness { detection: Interval, covered: Interval },
    #[error(
        "without a step, the advertised rate jumps from one end to the other once it reaches least or most; remove step to get one that senders can follow"
    )]
    LsccNoStep,
    #[error(
        "a step of {step} violates equation (12): it must be above {}, to drain a hundredth of reference within a round trip and an interval, and below {}, which DCQCN can follow in an interval with {}{}",
        exact(bounds.above), exact(bounds.below), bounds.assumed(),
        if bounds.above < bounds.below { "" } else { "; no step satisfies both, so make the interval longer or the reference smaller" }
    )]
    LsccStep { step: BitRate, bounds: StepBounds },
    #[error(
        "LSCC alone loses frames when the bottleneck slows down, and PFC beneath it on port {port} has {headroom} of headroom for priority {priority}, less than the {bdp} on the link; set flow_control = \"bifrost\", or add headroom"
    )]
    LsccUncovered { port: String, priority: Priority, headroom: Bytes, bdp: Bytes },
    #[error(
        "the buffer of {buffer} is smaller than the queue of LSCC, {reference}, and the bytes on the link together, so Bifrost would slow the link down; remove buffer, or set it to at least {least}"
    )]
    LsccAboveBifrost { reference: Bytes, buffer: Bytes, least: Bytes },
    #[error(
        "PFC pauses priority {priority} at {xoff}, before the queue reaches the reference of LSCC, {reference}; raise XOFF, or lower the reference"
    )]
    LsccAbovePfc { priority: Priority, reference: Bytes, xoff: Bytes },
    #[error(
        "one queue pair of port {port} can have {} packets in flight over {round_trip}, and sequence numbers distinguish at most {}, for at most a second; LSCC finds senders by connection management alone, and marks the packets of all other flows",
        thousands(*in_flight), thousands((*most).into())
    )]
    LsccPsns { port: String, in_flight: u64, most: u32, round_trip: Interval },
    #[error(
        "port {port} obeys no pauses, so the watchdog has nothing to watch; make a priority lossless, or remove the watchdog"
    )]
    NothingWatched { port: String },
    #[error(
        "port {port} obeys pauses, and no watchdog reports a peer that pauses it forever; remove this key to get a watchdog that only reports"
    )]
    Unwatched { port: String },
    #[error(
        "a single pause frame can last {longest} at {rate}, longer than the detection time of {detection}; the watchdog takes such a pause for a storm"
    )]
    ShortDetection { detection: Interval, longest: Interval, rate: BitRate },
    #[error(
        "{value} is less than the {least} that a round trip from {host} takes without queues, so {effect}"
    )]
    BelowRoundTrip { value: Interval, host: String, least: Interval, effect: String },
    #[error(
        "{packets} packets fill {share} % of the path from {host}, whose round trip takes {least} without queues"
    )]
    SmallWindow { packets: u32, host: String, least: Interval, share: String },
    #[error("port {port} is lossless and has no distance, so its headroom was not checked")]
    HeadroomUnchecked { port: String },
    #[error(
        "the groups may use {sum} of headroom and the pool holds {pool}: it is oversubscribed {:.2} to 1, and if all groups pause at once, the gateway drops lossless frames",
        sum.0 as f64 / pool.0.max(1) as f64
    )]
    HeadroomOversubscribed { sum: Bytes, pool: Bytes },
    #[error(
        "the sender would resume at the level that pauses it, so every frame would flap between XOFF and XON"
    )]
    Flapping,
    #[error(
        "a pause of {given} expires before its refresh is on the wire; half of it must cover the longest frame, tx_window and interface_delay, so it must be at least {least}"
    )]
    PauseTooShort { given: Interval, least: Interval },
    #[error("no PFC frame can ask for {given} at {rate}; the longest pause is {most}")]
    PauseTooLong { given: Interval, rate: BitRate, most: Interval },
    #[error(
        "PFC pauses priority {priority} of port {port} at {xoff}, before its frames alone fill the queue to Kmin {kmin} of ECN"
    )]
    EcnAfterPfc { priority: Priority, port: String, kmin: Bytes, xoff: Bytes },
    #[error("no queue reaches {kmax}, because the buffer holds {buffer}; ECN never marks every frame")]
    KmaxAboveBuffer { kmax: Bytes, buffer: Bytes },
    #[error(
        "the queue drops lossy frames of priority {priority} at {limit}, before ECN with Kmin {kmin} marks any"
    )]
    EcnAfterDrop { priority: Priority, kmin: Bytes, limit: Bytes },
    #[error("a limit of {limit} has no effect, because the link rate is {rate}")]
    LimitAboveRate { limit: BitRate, rate: BitRate },
    #[error("priority {priority} is lossless, but classification gives it no frame")]
    NeverClassified { priority: Priority },
    #[error(
        "leaves {field} {kept}; write default = 0 in the same table for the code points that it does not name, or name them"
    )]
    UnnamedCodes { field: &'static str, kept: String },
    #[error(
        "hosts would be asked to send RoCEv2 in priority {priority}, which is lossy on port {port}; name one of its lossless priorities, or make this one lossless"
    )]
    LossyRoce { priority: Priority, port: String },

    // Scenarios.
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Poisson(#[from] PoissonError),
    #[error("{host} has no destination {place}")]
    NoDestination { host: String, place: &'static str },
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error(transparent)]
    Collective(JobError),
    #[error("{host} has {count} messages in an iteration of all collectives, but at most {most} queue pairs")]
    Crowded { host: String, count: u32, most: u32 },
    #[error("all collectives have more than 2^31 messages; let them repeat less often")]
    TooManyMessages,
    #[error("{got} matches no {what}{}", did_you_mean(nearest))]
    NoMatch { what: &'static str, got: String, nearest: Option<String> },
    #[error("{key} is not a table or an array, so it cannot contain {name}")]
    NotInside { key: String, name: String },
    #[error("in the configuration of {switch}, {key}: {kind}")]
    InSwitch { switch: String, key: String, kind: Box<ProblemKind> },
    #[error("{file} has {ports} ports, but {switch} has {links} links")]
    PortsOfFile { file: String, switch: String, ports: usize, links: usize },
    #[error("port {port} of {file} has {rate}, but its link {link} has {of_link}")]
    RateOfFile { file: String, port: String, link: String, rate: BitRate, of_link: BitRate },
    #[error(
        "{what} after scenario.until, which is {until}, and are left out; raise scenario.until, or let them start earlier"
    )]
    AfterUntil { what: String, until: Interval },
    #[error("two priorities have DSCP {}, so switches cannot tell them apart", dscp.number())]
    SameCode { dscp: Dscp },

    // Files of ns-3.
    #[error("a value is missing here")]
    Ended,
    #[error(
        "node {node} has more links than {most}, the first on line {line}; a host has one, a switch up to {}",
        PortSet::CAPACITY
    )]
    ManyLinks { node: u32, most: usize, line: usize },
    #[error("host {node} has no link")]
    NoLink { node: u32 },
    #[error("node {node} cannot be at both ends")]
    ToItself { node: u32 },
    #[error("node {node} is not a host; flows are between hosts of the topology")]
    NotAHost { node: u32 },
    #[error("is not an option of the model{}; it is left out", did_you_mean(nearest))]
    UnknownOption { nearest: Option<String> },
    #[error("is before the last flow starts, so the limit is {until} after the first one")]
    StopsEarly { until: Interval },
    #[error("has no counterpart: here, {here}")]
    Untranslated { here: &'static str },
    #[error("has no value for {}, the rate of a link", rate.bits_per_second())]
    NoThreshold { rate: BitRate },
    #[error(
        "switch {switch} has {size}, and 4 KiB and three times rate x delay for each port take {taken}; write a larger size, in MiB"
    )]
    NoSharedPool { switch: u32, taken: Bytes, size: Bytes },

    // A running gateway.
    #[error("the key {key} sets {argument}; remove the argument")]
    ArgumentOfKey { argument: &'static str, key: &'static str },
    #[error("core {core} is not in dpdk.cores, which lists {cores}")]
    CoreUnlisted { core: usize, cores: String },
    #[error(
        "names {cores} of the {lanes} cores that dpdk.lanes = {lanes} needs; name at least {lanes}, or set dpdk.lanes = {cores}"
    )]
    FewCores { cores: usize, lanes: usize },
    #[error("{refusal}; {remedy}, or set lanes = 1")]
    Lanes { refusal: Box<LanesRefusal>, remedy: &'static str },
    #[error(
        "is not core {core} of port {other}, with which this port exchanges frames or pauses; give both the same core, or name \
         none and set dpdk.lanes, with which several cores serve every port"
    )]
    TeamApart { other: String, core: usize },
    #[error("{}", load.behind())]
    CoreBehind { load: Box<CoreLoad> },
    #[error(
        "an AF_XDP device needs each mbuf within a page of {page}, but frames of {frame} on port {port} need mbufs of {mbuf}; lower mtu or max_frame on every port, or use driver = \"af_packet\""
    )]
    LongMbuf { port: String, frame: Bytes, mbuf: Bytes, page: Bytes },
    #[error(
        "the delay of {delay} exceeds the {propagation} of {distance}, from which headroom and round trips are computed; remove one of them, or set a distance of at least {least}"
    )]
    DelayBeyondDistance { delay: Interval, distance: Distance, propagation: Interval, least: Distance },
    #[error("mode {mode:o} lets everybody on this machine reload the gateway")]
    OpenSocket { mode: u32 },
    #[error(
        "the gateway keeps every privilege that it starts with, and so does an attacker who takes it over; remove this key"
    )]
    PrivilegesKept,
    #[error("other machines can reach {address}, and metrics are neither encrypted nor authenticated")]
    OpenMetrics { address: SocketAddr },
}

impl ProblemKind {
    /// The error for a value that is not among the `valid` ones.
    pub(crate) fn out_of_range(got: impl ToString, valid: impl Into<String>) -> Self {
        Self::OutOfRange { got: got.to_string(), valid: valid.into() }
    }

    /// The error for a word that is not among the `valid` ones.
    pub(crate) fn word(got: &str, valid: &[&str]) -> Self {
        Self::Word { got: got.into(), nearest: nearest(got, valid.iter().copied()), valid: valid.join(", ") }
    }

    /// The error for a name that is not among the `known` ones.
    pub(crate) fn undefined<'a>(
        what: &'static str,
        got: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let nearest = nearest(got, known.clone().take(NAMES));
        let more = known.clone().skip(NAMES).count();
        let more = (more > 0).then(|| format!("and {more} more"));
        let valid = known.take(NAMES).map(Into::into).chain(more).collect();
        Self::Undefined { what, got: got.into(), nearest, valid }
    }

    /// Whether it is a mistake only if it is found in every variant of a scenario.
    pub(crate) fn is_of_all_variants(&self) -> bool {
        matches!(self, Self::Unread { .. })
    }

    /// Whether both report the same kind of problem for the same key, perhaps of different switches and ports.
    pub(crate) fn same_in_switch(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InSwitch { key, kind, .. }, Self::InSwitch { key: other_key, kind: other, .. }) => {
                key == other_key && core::mem::discriminant(&**kind) == core::mem::discriminant(&**other)
            }
            _ => false,
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!(" (did you mean \"{nearest}\"?)"))
}

fn defined(names: &[String]) -> String {
    if names.is_empty() { "none is defined".into() } else { format!("valid names are {}", names.join(", ")) }
}

/// The candidate that `got` is probably a misspelling of.
pub(crate) fn nearest<'a>(got: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A long text is not a typo, and the distance costs its length times that of the candidate.
    if got.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(got, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.into())
}

/// A syntax error of the TOML parser on one line, without the parser's excerpt.
pub(crate) fn syntax(error: &toml::de::Error) -> (ProblemKind, Range<usize>) {
    let message = error.message().trim().replace('\n', "; ");
    (ProblemKind::Syntax(message), error.span().unwrap_or(0..0))
}
