//! What a plan asks of BifrostX. Its keys are those of Bifrost.

use wire::grants::slot;

use super::bifrost::plan::Slots;

/// Grants are dealt out from the highest priority down (Bifrost paper, IV-E, algorithm 3).
pub(crate) static PLANNED: Slots =
    Slots { needs: "BifrostX, or else PFC", message: Some(slot::MESSAGE_LEN), is_strict: true };
