//! How a command fails, and with which exit status.

use config::ConfigError;
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
    #[error("{wrong} of {files} files do not hold")]
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
    /// An interrupt ended a replay. What was played is written.
    #[error("interrupted after {frames} frames; what they led to is written")]
    Interrupted {
        /// Frames that were played.
        frames: u64,
    },
    /// Signals cannot be heard.
    #[error("signals: {0}")]
    Signal(io::Error),
    /// Standard output cannot be written.
    #[error("standard output: {0}")]
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

    /// Whether everything was said already: of one file, what is wrong with it.
    pub fn is_said(&self) -> bool {
        matches!(self, Self::Check { files: 1, .. })
    }

    /// 1 for what failed while running, 2 for a wrong usage or configuration.
    pub fn status(&self) -> ExitCode {
        match self {
            Self::Usage(_)
            | Self::Config(_)
            | Self::Check { .. }
            | Self::Start(_)
            | Self::Write { running: false, .. } => ExitCode::from(2),
            Self::Run(_)
            | Self::Write { running: true, .. }
            | Self::Interrupted { .. }
            | Self::Signal(_)
            | Self::Print(_)
            | Self::NotConserved { .. } => ExitCode::from(1),
        }
    }
}
