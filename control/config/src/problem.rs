//! What can be wrong with a configuration, and where.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::ops::Range;
use simulation::topology::PlanError;
use simulation::workload::PoissonError;
use std::path::PathBuf;
use switch::program::ProgramError;
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, Priority};
use wire::ip::Dscp;

use crate::cores::CoreLoad;
use crate::file::FileError;
use crate::headroom::HeadroomSum;
use crate::lscc_sum::rounded;

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// It can, and does not hold. One line per problem, errors and warnings, in the order of the
    /// file; at least one is an error.
    #[error("{}", lines(problems))]
    Invalid {
        /// Everything that was found.
        problems: Vec<Problem>,
    },
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Whether a gateway can run with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It can, though not as well as somebody may have hoped.
    Warning,
    /// It cannot.
    Error,
}

/// A place in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or whatever name the text was given.
    pub file: String,
    /// Line, from 1; zero where `file` is no file but an argument.
    pub line: usize,
    /// Column in characters, from 1; zero with the line.
    pub column: usize,
}

impl Location {
    /// The place of byte `offset` of `text`; its end where the offset lies beyond.
    pub(crate) fn new(file: &str, text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self { file: file.into(), line, column: before[line_start..].chars().count() + 1 }
    }

    /// The byte of `text` that is there; its end where there is none.
    pub(crate) fn offset_in(&self, text: &str) -> usize {
        let before: usize = text.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let line = text.get(before..).unwrap_or_default();
        let within =
            line.char_indices().nth(self.column.saturating_sub(1)).map_or(line.len(), |(index, _)| index);
        before + within
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// Something that is wrong, or may be. Shown as one line
/// `file:line:column: [warning: ]key: what is wrong; what would be valid`; a sum follows on lines
/// of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where.
    pub location: Location,
    /// The key at fault with the tables it stands in, such as `port.lossless.xoff`. Empty where
    /// the text is no TOML.
    pub key: String,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
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

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum ProblemKind {
    // The text and its form.
    #[error("{0}")]
    Syntax(String),
    #[error("no such key{}; valid are {valid}", did_you_mean(nearest))]
    UnknownKey { nearest: Option<String>, valid: String },
    #[error("is missing; write for example {example}")]
    Missing { example: &'static str },
    #[error("{got} is not {want}")]
    WrongType { got: String, want: &'static str },
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    #[error("\"{got}\" is not valid{}; valid are {valid}", did_you_mean(nearest))]
    Word { got: String, nearest: Option<String>, valid: String },
    #[error("{got} is out of range; valid is {valid}")]
    OutOfRange { got: String, valid: &'static str },
    #[error("\"{got}\" is not {want}")]
    Malformed { got: String, want: &'static str },

    // How parts fit together.
    #[error("stands beside {other}; write one of them")]
    Conflict { other: &'static str },
    #[error("has no meaning with {with}; leave it out")]
    Meaningless { with: &'static str },
    #[error("is needed {when}")]
    Needed { when: &'static str },
    #[error("there is no {what} \"{got}\"{}; {}", did_you_mean(nearest), defined(valid))]
    Undefined { what: &'static str, got: String, nearest: Option<String>, valid: Vec<String> },
    #[error("{what} stands already in line {line}")]
    Twice { what: String, line: usize },
    #[error(transparent)]
    Program(#[from] ProgramError),

    // Physics.
    #[error(
        "a headroom of {given} does not hold what arrives after XOFF on port {port}: {distance} at {rate} need\n{sum}"
    )]
    HeadroomTooSmall { port: String, given: Bytes, rate: BitRate, distance: Distance, sum: Box<HeadroomSum> },
    #[error(
        "a headroom of {given} does not even hold the frame that crosses XOFF on port {port}, which may have {least}"
    )]
    HeadroomBelowFrame { port: String, given: Bytes, least: Bytes },
    #[error(
        "priority {priority} is lossless from port {ingress} on, but port {egress}, where it leaves, does not obey pauses for it; make it lossless there too, or list it in port.pfc.obey"
    )]
    EgressIgnoresPauses { priority: Priority, ingress: String, egress: String },
    #[error(
        "PFC would pause priority {priority} of port {port} at {xoff}, before Bifrost has filled its buffer of {buffer}; leave xoff out, or state at least {buffer}"
    )]
    XoffBelowBifrost { port: String, priority: Priority, xoff: Bytes, buffer: Bytes },
    #[error(
        "Bifrost lets port {port} hold {least} (its buffer of {buffer}, and {overrun} for frames that have begun when a pause arrives); priority {priority} is sure of {sure}, and where others have filled the shared pool, lossless frames are dropped"
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
        "a slot of {slot} is longer than the way to the upstream, {one_way}: it learns of what happened here more than a slot late, and the buffer is larger than it need be"
    )]
    LongSlot { slot: Interval, one_way: Interval },
    #[error(
        "a slot of {slot} carries {bytes} at {rate}, less than the longest frame of {frame}, which is sent to its end whenever a slot lets it begin; {least} and more hold it"
    )]
    ShortSlot { slot: Interval, bytes: Bytes, rate: BitRate, frame: Bytes, least: Interval },
    #[error(
        "is longer than the slot of {slot} and the lateness of {lateness}: a frame that is lost would stop the upstream for slots that were granted"
    )]
    LongHoldover { slot: Interval, lateness: Interval },
    #[error("{path}: {reason}")]
    KeyFile { path: String, reason: String },
    #[error(
        "its path begins in the directory of the configuration, which is no file here; write key and the key itself"
    )]
    KeyFileNowhere,
    #[error(
        "has no key: whoever can send into this link can pretend to be {peer} and say any rate; give both ends the same key_file or key"
    )]
    LsccUnsigned { peer: Ipv4Addr },
    #[error(
        "the key of config/keys/example.key is public: whoever can send into this link can say any rate; make a key of your own with openssl rand -hex 16"
    )]
    LsccExampleKey,
    #[error(
        "without a step the rates of LSCC jump from one end to the other once least or most holds one; leave step out for one that senders can follow"
    )]
    LsccNoStep,
    #[error(
        "a step of {step} does not satisfy equation (12): more than {}, to take away a hundredth of reference within a round trip and an interval, and less than {}, which DCQCN can follow in an interval where M = {flows}{}",
        rounded(*above), rounded(*below),
        if above < below { "" } else { "; for there to be such steps, the interval must be longer or the reference smaller" }
    )]
    LsccStep { step: BitRate, above: u64, below: u64, flows: u32 },
    #[error(
        "LSCC alone loses frames when the bottleneck slows down, and PFC beneath it on port {port} has {headroom} of headroom for priority {priority}, where the link holds {bdp}; add [port.bifrost], or headroom"
    )]
    LsccUncovered { port: String, priority: Priority, headroom: Bytes, bdp: Bytes },
    #[error(
        "a buffer of {buffer} is less than the queue that LSCC keeps, {reference}, and what the link holds: Bifrost would slow the link down for that queue; leave buffer out, or state at least {least}"
    )]
    LsccAboveBifrost { reference: Bytes, buffer: Bytes, least: Bytes },
    #[error(
        "PFC pauses priority {priority} at {xoff}, before the queue is what LSCC aims at, {reference}; raise XOFF, or lower the reference"
    )]
    LsccAbovePfc { priority: Priority, reference: Bytes, xoff: Bytes },
    #[error(
        "one queue pair of port {port} can have {in_flight} packets in flight over {round_trip}, and sequence numbers tell at most {most} apart, for at most a second: LSCC finds senders by connection management alone and marks the packets of all others"
    )]
    LsccPsns { port: String, in_flight: u64, most: u32, round_trip: Interval },
    #[error(
        "port {port} obeys no pauses, so the watchdog has nothing to watch; make a priority lossless, or leave the watchdog out"
    )]
    NothingWatched { port: String },
    #[error(
        "port {port} obeys pauses and has no watchdog: nobody is told of a peer that pauses it without end; leave watchdog out for one that tells and changes nothing"
    )]
    Unwatched { port: String },
    #[error(
        "a single pause frame may last {longest} at {rate}, longer than a detection time of {detection}: one that is not followed by XON is taken for a storm"
    )]
    ShortDetection { detection: Interval, longest: Interval, rate: BitRate },
    #[error("port {port} is lossless and has no distance, so its headroom could not be checked")]
    HeadroomUnchecked { port: String },
    #[error(
        "the groups may use {sum} of headroom and the pool has {pool}: oversubscribed {:.2} to 1; if all are paused at once, lossless frames are dropped",
        sum.0 as f64 / pool.0.max(1) as f64
    )]
    HeadroomOversubscribed { sum: Bytes, pool: Bytes },
    #[error("resumes at the level that pauses; every frame would flap between XOFF and XON")]
    Flapping,
    #[error(
        "a pause of {given} runs out before its refresh is on the wire: half of it must cover the longest frame, tx_window and interface_delay, so it must be at least {least}"
    )]
    PauseTooShort { given: Interval, least: Interval },
    #[error("no PFC frame can ask for {given} at {rate}; the longest pause is {most}")]
    PauseTooLong { given: Interval, rate: BitRate, most: Interval },
    #[error(
        "on priority {priority}, PFC pauses port {port} at {xoff} of its frames, so ECN with Kmin {kmin} never acts before PFC"
    )]
    EcnAfterPfc { priority: Priority, port: String, kmin: Bytes, xoff: Bytes },
    #[error(
        "a queue of {kmax} never builds up: the buffer holds {buffer}, so not every frame beyond is marked"
    )]
    KmaxAboveBuffer { kmax: Bytes, buffer: Bytes },
    #[error(
        "on priority {priority}, lossy frames are dropped at {limit}, before ECN with Kmin {kmin} marks any"
    )]
    EcnAfterDrop { priority: Priority, kmin: Bytes, limit: Bytes },
    #[error("a limit of {limit} above the link rate of {rate} has no effect")]
    LimitAboveRate { limit: BitRate, rate: BitRate },
    #[error("priority {priority} is lossless, but classification gives it to no frame")]
    NeverClassified { priority: Priority },

    // Scenarios.
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Poisson(#[from] PoissonError),
    #[error("{host} has nobody to send to {place}")]
    Alone { host: String, place: &'static str },
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error("{got} matches no {what}{}", did_you_mean(nearest))]
    Nobody { what: &'static str, got: String, nearest: Option<String> },
    #[error("{key} is no table or array, so there is no {name} in it")]
    NotInside { key: String, name: String },
    #[error("in the configuration of {switch}, {key}: {kind}")]
    InSwitch { switch: String, key: String, kind: Box<ProblemKind> },
    #[error("{file} has {ports} ports, and the plan gives {switch} {links} links")]
    PortsOfFile { file: String, switch: String, ports: usize, links: usize },
    #[error("port {port} of {file} has {rate}, and its link {link} has {of_link}")]
    RateOfFile { file: String, port: String, link: String, rate: BitRate, of_link: BitRate },
    #[error("two priorities would have DSCP {}, so switches could not tell them apart", dscp.number())]
    SameCode { dscp: Dscp },

    // A running gateway.
    #[error("{argument} is what {key} says; leave it out")]
    ArgumentOfKey { argument: &'static str, key: &'static str },
    #[error("core {core} is none of dpdk.cores, which are {cores}")]
    CoreUnlisted { core: usize, cores: String },
    #[error("{}", load.behind())]
    CoreBehind { load: Box<CoreLoad> },
    #[error(
        "an AF_XDP device needs an mbuf within a page of {page}, and for frames of {frame}, as on port {port}, one takes {mbuf}; lower mtu or max_frame on every port, or use driver = \"af_packet\""
    )]
    LongMbuf { port: String, frame: Bytes, mbuf: Bytes, page: Bytes },
    #[error(
        "a delay of {delay} is longer than that of {distance}, {propagation}, with which headroom and round trips are computed; leave one of them out, or state a distance of {least} at least"
    )]
    DelayBeyondDistance { delay: Interval, distance: Distance, propagation: Interval, least: Distance },
    #[error("with mode {mode:o} everybody on this machine can reload the gateway")]
    OpenSocket { mode: u32 },
    #[error(
        "the gateway keeps every privilege that it is started with, and so does whoever gets hold of it; leave it out"
    )]
    PrivilegesKept,
    #[error(
        "{address} can be reached from other machines, and metrics are neither encrypted nor authenticated"
    )]
    OpenMetrics { address: SocketAddr },
}

impl ProblemKind {
    /// Whether both say the same of the same key of a switch, each perhaps of its own switch and port.
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
    nearest.as_ref().map_or_else(String::new, |nearest| format!(", did you mean \"{nearest}\"?"))
}

fn defined(names: &[String]) -> String {
    if names.is_empty() { "none is defined".into() } else { format!("defined are {}", names.join(", ")) }
}

/// The one of `candidates` that somebody who wrote `got` may have meant.
pub(crate) fn nearest<'a>(got: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A long text is no slip of the pen, and the distance costs its length times the candidate's.
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

/// A syntax error of the TOML parser on one line, without the excerpt it draws.
pub(crate) fn syntax(error: &toml::de::Error) -> (ProblemKind, Range<usize>) {
    let message = error.message().trim().replace('\n', "; ");
    (ProblemKind::Syntax(message), error.span().unwrap_or(0..0))
}
