//! A flow that is about to start.

use crate::flows::Flow;
use wire::roce::Psn;

/// A flow that is about to start, with what is drawn for it in the order of starts.
#[derive(Debug)]
pub(super) struct Start {
    pub flow: Flow,
    pub first_psn: Psn,
}
