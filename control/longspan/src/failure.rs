//! Failures of commands, and their exit status.

use crate::simulate::page::PageError;
use config::ConfigError;
use gateway::socket::{ClientError, Response};
use replay::capture::CaptureError;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use telemetry::health::HealthVerdict;
use telemetry::{NoSuchPort, Restarted};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The gateway has no port of the name on the command line.
    #[error("{0}")]
    Port(#[from] NoSuchPort),
    /// A configuration is invalid.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// `check` found invalid files.
    #[error("{wrong} of {files} files are invalid")]
    Check {
        /// Invalid files.
        wrong: usize,
        /// Checked files.
        files: usize,
    },
    /// A capture cannot be opened, read from its start, or created.
    #[error("{0}")]
    Start(CaptureError),
    /// Reading or writing a capture failed later.
    #[error("{0}")]
    Run(CaptureError),
    /// A run cannot go on from its checkpoint now, and leaves it as it is.
    #[error("{run}: cannot go on from its checkpoint: {why}; --again begins anew")]
    Resume {
        /// The name of the run.
        run: String,
        /// The reason.
        why: String,
    },
    /// A directory has the name of the checkpoint of a run. It may hold anything, so no one removes it.
    #[error("{}: a checkpoint needs this name, but it is a directory; move it away, or choose another --out", .0.display())]
    InTheWay(PathBuf),
    /// A file or directory cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// Whether the replay or simulation had started.
        running: bool,
    },
    /// A table of known figures cannot be read.
    #[error("{}: {source}", path.display())]
    Figures {
        /// The file.
        path: PathBuf,
        /// The error, with its line.
        source: csv::Error,
        /// Whether the simulation had started.
        running: bool,
    },
    /// The page of an experiment cannot be created. The results are written.
    #[error("{0}")]
    Page(#[from] PageError),
    /// An interrupt ended a replay. The output up to that point is written.
    #[error("interrupted after {frames} frames; the output up to that point is complete")]
    Interrupted {
        /// Frames replayed.
        frames: u64,
    },
    /// An interrupt ended a simulation. Complete runs will not be repeated.
    #[error("interrupted; {complete} of {planned} runs are complete; run the same command again to resume")]
    Unfinished {
        /// Complete runs.
        complete: usize,
        /// Planned runs.
        planned: usize,
    },
    /// Runs have no results that could be joined. Some were named.
    #[error(
        "nothing joined; {missing} of {planned} runs are missing; run their shards again, or run without --join"
    )]
    Missing {
        /// Runs without results.
        missing: usize,
        /// Planned runs.
        planned: usize,
    },
    /// Another process runs a run of this simulation.
    #[error("{}: another process is running this run", directory.display())]
    Running {
        /// The directory of the run.
        directory: PathBuf,
    },
    /// Runs of a simulation failed. Each was reported.
    #[error("{failed} of {planned} runs failed")]
    FailedRuns {
        /// Failed runs.
        failed: usize,
        /// Planned runs.
        planned: usize,
    },
    /// The worst cases did not show that a plan holds. They were printed.
    #[error("the plan is not proved: {0}")]
    Unproved(String),
    /// A plan does not hold on a machine. It was printed.
    #[error("the plan does not hold: {0}")]
    Lacking(String),
    /// Signal handlers cannot be installed.
    #[error("cannot install signal handlers: {0}")]
    Signal(io::Error),
    /// No gateway answered.
    #[error("{0}")]
    Ask(#[from] ClientError),
    /// A lossless class is not healthy. The page is printed.
    #[error("the lossless classes are not healthy: {}", .0.name())]
    Health(HealthVerdict),
    /// The gateway has started again within an interval.
    #[error("{0}")]
    Restarted(#[from] Restarted),
    /// The gateway is busy.
    #[error("the gateway is busy, try again: {0}")]
    Busy(String),
    /// The gateway cannot do what the command line asks for.
    #[error("{0}")]
    Rejected(String),
    /// The gateway ended a stream before its time. What came until then is written.
    #[error(
        "the gateway cut the {0} off: it has ended, or no one read what it wrote for too long; what came until then is written"
    )]
    CutOff(&'static str),
    /// The gateway's answer does not match the request.
    #[error("unexpected answer from the gateway: {0}")]
    Unexpected(String),
    /// A running gateway refused a configuration. Nothing has changed.
    #[error("reload refused, nothing has changed:\n{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The gateway cannot start.
    #[cfg(feature = "dpdk")]
    #[error("{0}")]
    Gateway(#[from] gateway::RunError),
    /// A worker of the gateway panicked, which is a bug.
    #[cfg(feature = "dpdk")]
    #[error("internal error: the worker on core {core} panicked; please report the message above")]
    LostWorker {
        /// Its core.
        core: usize,
    },
    /// The gateway stopped with frames still queued.
    #[cfg(feature = "dpdk")]
    #[error("{frames} frames were still queued when the gateway stopped, and are lost")]
    LeftInside {
        /// Frames.
        frames: u64,
    },
    /// A commissioned link is not as its file promises, or not all was tried. The report is printed.
    #[cfg(feature = "dpdk")]
    #[error("the link is not fit yet: {0}")]
    Commission(String),
    /// The ports of a traffic run cannot be used.
    #[cfg(feature = "dpdk")]
    #[error("{0}")]
    Ports(#[from] traffic::ports::PortsError),
    /// A traffic run did not do what its plan says.
    #[cfg(feature = "dpdk")]
    #[error("{0}")]
    Traffic(#[from] traffic::Unfinished),
    /// A capture was not sent to its end.
    #[cfg(feature = "dpdk")]
    #[error("the capture was not sent to its end; {} were left unsent by the device", units::human::count_of(*unsent, "frame"))]
    NotPlayed {
        /// Frames.
        unsent: u64,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Print(io::Error),
    /// The gateway lost track of frames, which is a bug.
    #[error(
        "internal error: not every frame of {ports} is accounted for; see \"conservation\" in the report, \
         and please report this with your configuration"
    )]
    NotConserved {
        /// The ports.
        ports: String,
    },
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The failure of writing `path` after the command had started.
    pub fn unwritten(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source, running: true }
    }

    /// The failure of creating `path`, which keeps the command from starting.
    pub fn uncreated(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source, running: false }
    }

    /// The failure of a request with this response.
    pub fn unexpected(response: &Response) -> Self {
        match response {
            Response::InvalidRequest(why) => Self::Rejected(why.clone()),
            Response::Busy(why) => Self::Busy(why.clone()),
            _ => Self::Unexpected("it may run another version of Longspan".into()),
        }
    }

    /// Whether the problem is already printed: for a single file of `check`, and the view `roce`.
    pub fn is_printed(&self) -> bool {
        matches!(self, Self::Check { files: 1, .. } | Self::Health(_))
    }

    /// 2 for wrong usage or configuration and for what keeps a command from starting, 1 for later failures and for a gateway
    /// that may start later as it is; 3 and 4 for the health of a gateway.
    pub fn status(&self) -> ExitCode {
        match self {
            Self::Health(HealthVerdict::Watch) => return ExitCode::from(3),
            Self::Health(_) => return ExitCode::from(4),
            _ => {}
        }
        let is_early = match self {
            #[cfg(feature = "dpdk")]
            Self::Gateway(error) => !error.may_heal(),
            #[cfg(feature = "dpdk")]
            Self::Ports(_) => true,
            Self::Usage(_) | Self::Port(_) | Self::Rejected(_) | Self::Config(_) | Self::Check { .. } => true,
            Self::Start(_) | Self::Refused(_) => true,
            Self::Figures { running: false, .. } | Self::Write { running: false, .. } => true,
            _ => false,
        };
        ExitCode::from(if is_early { 2 } else { 1 })
    }
}
