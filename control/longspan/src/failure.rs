//! How a command fails, and with which exit status.

use crate::simulate::page::PageError;
use config::ConfigError;
use gateway::socket::{ClientError, Response};
use replay::capture::CaptureError;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// A configuration that does not hold.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// `check` found configurations that do not hold, and has said so.
    #[error("{wrong} of {files} files are invalid")]
    Check {
        /// Files that do not hold.
        wrong: usize,
        /// Files that were looked at.
        files: usize,
    },
    /// A capture that cannot be opened, read from its start, or created.
    #[error("{0}")]
    Start(CaptureError),
    /// A capture that broke while it was read or written.
    #[error("{0}")]
    Run(CaptureError),
    /// A directory, a report, a series or a plot that cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
        /// Whether the replay had begun.
        running: bool,
    },
    /// The page of an experiment cannot be made. What was measured is written.
    #[error("{0}")]
    Page(#[from] PageError),
    /// An interrupt ended a replay. What was played is written.
    #[error("interrupted after {frames} frames; the output up to that point is complete")]
    Interrupted {
        /// Frames that were played.
        frames: u64,
    },
    /// An interrupt ended a simulation. What is complete is not run again.
    #[error("interrupted; {complete} of {planned} runs are complete; run the same command again to resume")]
    Unfinished {
        /// Runs that are complete.
        complete: usize,
        /// Runs that were to be.
        planned: usize,
    },
    /// Runs of a simulation came to a bad end, each of which was told.
    #[error("{failed} of {planned} runs failed")]
    FailedRuns {
        /// Runs that failed.
        failed: usize,
        /// Runs that were to be.
        planned: usize,
    },
    /// Signals cannot be heard.
    #[error("cannot install signal handlers: {0}")]
    Signal(io::Error),
    /// No gateway answers.
    #[error("{0}")]
    Ask(#[from] ClientError),
    /// A gateway has no time.
    #[error("the gateway is busy, try again: {0}")]
    Busy(String),
    /// A gateway answers something else than it was asked for.
    #[error("unexpected answer from the gateway: {0}")]
    Unexpected(String),
    /// A running gateway refuses a configuration. Nothing has changed.
    #[error("reload refused, nothing has changed:\n{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// A gateway cannot start.
    #[cfg(feature = "dpdk")]
    #[error("{0}")]
    Gateway(#[from] gateway::RunError),
    /// A worker of a gateway ended by a panic: a mistake in Longspan.
    #[cfg(feature = "dpdk")]
    #[error("internal error: the worker on core {core} panicked; please report the message above")]
    LostWorker {
        /// Its core.
        core: usize,
    },
    /// A gateway ended with frames inside.
    #[cfg(feature = "dpdk")]
    #[error("{frames} frames were still queued when the gateway stopped, and are lost")]
    LeftInside {
        /// Frames.
        frames: u64,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Print(io::Error),
    /// The gateway lost track of frames: a mistake in Longspan.
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
    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// An answer to something else than what was asked.
    pub fn unexpected(response: &Response) -> Self {
        match response {
            Response::InvalidRequest(why) => Self::Unexpected(why.clone()),
            Response::Busy(why) => Self::Busy(why.clone()),
            _ => Self::Unexpected("it may run another version of Longspan".into()),
        }
    }

    /// Whether everything was said already: of one file, what is wrong with it.
    pub fn is_said(&self) -> bool {
        matches!(self, Self::Check { files: 1, .. })
    }

    /// 1 for what failed while running, 2 for a wrong usage or configuration.
    pub fn status(&self) -> ExitCode {
        match self {
            #[cfg(feature = "dpdk")]
            Self::Gateway(_) => ExitCode::from(2),
            #[cfg(feature = "dpdk")]
            Self::LostWorker { .. } | Self::LeftInside { .. } => ExitCode::from(1),
            Self::Usage(_)
            | Self::Config(_)
            | Self::Check { .. }
            | Self::Start(_)
            | Self::Refused(_)
            | Self::Write { running: false, .. } => ExitCode::from(2),
            Self::Run(_)
            | Self::Write { running: true, .. }
            | Self::Interrupted { .. }
            | Self::Page(_)
            | Self::Unfinished { .. }
            | Self::FailedRuns { .. }
            | Self::Signal(_)
            | Self::Ask(_)
            | Self::Unexpected(_)
            | Self::Busy(_)
            | Self::Print(_)
            | Self::NotConserved { .. } => ExitCode::from(1),
        }
    }
}
