//! Which flow control a port has, and its settings.

use super::bifrost::settings::Bifrost;

/// The flow control of a port toward its upstream. The thresholds of the groups hold beneath every scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowControl {
    /// XOFF and XON at the thresholds, and nothing else.
    #[default]
    Pfc,
    /// Time slots, announced as pauses.
    Bifrost(Bifrost),
}
