//! Feedback to the senders, and the schemes that notify them of congestion.

pub mod adaptive_ecn;
pub(crate) mod int;
pub mod lscc;
pub(crate) mod mark;
pub(crate) mod notifier;
mod notifiers;
pub mod red;
pub(crate) mod scheme;
pub(crate) mod senders;
pub mod supplement;
pub mod themis;

pub(crate) use adaptive_ecn::{QueueSample, Thresholds};
pub use adaptive_ecn::{ThresholdStep, ThresholdsReport};
pub use lscc::settings::{LsccError, LsccPortsError};
pub(crate) use lscc::{RateAdvertiser, RateLimiter};
pub(crate) use notifiers::validate_together;
pub use notifiers::{Notifiers, NotifiersError};
pub use senders::NotifiersReport;
pub use themis::SlowQueues;

/// The notes that schemes make of flows ([`Note`](crate::flows::Note)).
mod notes {
    use crate::flows::Note;

    /// LSCC: the flow was flagged, and may still be.
    pub const LSCC_FLAGGED: Note = Note::numbered(0);
    /// LSCC: a CNP from the far side was passed on to its sender.
    pub const LSCC_FAR_CNP: Note = Note::numbered(1);
    /// THEMIS: the gateway has notified its sender.
    pub const THEMIS_ANSWERED: Note = Note::numbered(2);
    /// THEMIS: its receiver has notified its sender.
    pub const THEMIS_TOLD: Note = Note::numbered(3);
    /// THEMIS: it has a place in a slow queue.
    pub const THEMIS_SLOW: Note = Note::numbered(4);
    /// THEMIS: there is no way to its sender.
    pub const THEMIS_UNREACHABLE: Note = Note::numbered(5);
    /// LSCC: a direct INT was made of the flow.
    pub const LSCC_DIRECT_INT: Note = Note::numbered(6);
    /// Supplemental CNPs: marked packets left, and the flow may still be congested.
    pub const SUPPLEMENT_MARKED: Note = Note::numbered(7);
    /// Supplemental CNPs: a CNP went to the sender.
    pub const SUPPLEMENT_TOLD: Note = Note::numbered(8);
    /// Supplemental CNPs: the switch made the last CNP to the sender.
    pub const SUPPLEMENT_OWN: Note = Note::numbered(9);
}
