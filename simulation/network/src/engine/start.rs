//! A flow that is about to start.

use crate::flows::Flow;
use serde::{Deserialize, Serialize};
use wire::roce::Psn;

/// A flow that is about to start, with what is drawn for it in the order of starts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub flow: Flow,
    pub first_psn: Psn,
}
