//! The choice of a flow control for a port: its settings, and their errors.

use super::bifrost::settings::{self, BifrostError};
use super::bifrostx;
use super::capfc::{self, settings::CaPfcError};
use super::cbfc::settings::{Cbfc, CbfcError};
use super::p_pfc::{self, settings::PPfcError};
use super::port_grants;
use super::relay::{self, settings::RelayError};
use units::{BitRate, Bytes, PortId, PrioritySet};

/// The flow control of a port toward its upstream, with its settings. The thresholds of the groups apply beneath
/// every scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FlowControl {
    /// XOFF and XON at the thresholds, and nothing else.
    #[default]
    Pfc,
    /// Time slots, announced as pauses.
    Bifrost(settings::Bifrost),
    /// Time slots, announced as grants to a peer that speaks them.
    BifrostX(settings::Bifrost),
    /// Credits for each priority.
    Cbfc(Cbfc),
    /// Pauses ahead of the thresholds, by prediction.
    PPfc(p_pfc::settings::PPfc),
    /// Pauses for the ports that congest an egress queue.
    CaPfc(capfc::settings::CaPfc),
    /// The pauses that another port receives.
    Relay(relay::settings::Relay),
    /// Time slots, announced as grants for each port behind the peer's.
    PortGrants(port_grants::settings::PortGrants),
}

/// An error in the settings of a scheme.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FlowControlError {
    /// An error in the settings of Bifrost.
    #[error(transparent)]
    Bifrost(#[from] BifrostError),
    /// An error in the settings of credits.
    #[error(transparent)]
    Cbfc(#[from] CbfcError),
    /// An error in the settings of P-PFC.
    #[error(transparent)]
    PPfc(#[from] PPfcError),
    /// An error in the settings of CaPFC.
    #[error(transparent)]
    CaPfc(#[from] CaPfcError),
    /// An error in the settings of a relay.
    #[error(transparent)]
    Relay(#[from] RelayError),
}

impl FlowControl {
    /// Whether one of several lanes can run it for all: it needs no more than what they show each other, and holds back nothing
    /// that they send.
    pub(crate) fn runs_for_lanes(&self) -> bool {
        matches!(self, Self::Pfc | Self::Bifrost(_))
    }

    /// Whether it leaves room for frames that are lost and come once more. A counter of grants would keep for ever what is given
    /// up.
    pub(crate) fn bounds_repair(&self) -> bool {
        match self {
            Self::Pfc => true,
            Self::Bifrost(it) => it.virtual_incoming != settings::VirtualIncoming::Counter,
            _ => false,
        }
    }

    /// Whether grants expire before their bytes are counted where a lane is late as a slot ends in time.
    pub(crate) fn expires_early(&self) -> bool {
        self.bifrost().is_some_and(settings::Bifrost::expires_early)
    }

    /// Checks the settings on a link of `rate` with frames of up to `max_frame` and these `lossless` priorities.
    pub(crate) fn validate(
        &self,
        rate: BitRate,
        max_frame: Bytes,
        lossless: PrioritySet,
    ) -> Result<(), FlowControlError> {
        match self {
            Self::Pfc => Ok(()),
            Self::Bifrost(bifrost) => Ok(bifrost.validate(rate, max_frame, lossless)?),
            Self::BifrostX(bifrost) => Ok(bifrostx::timed(*bifrost).validate(rate, max_frame, lossless)?),
            Self::Cbfc(cbfc) => Ok(cbfc.validate(max_frame, lossless)?),
            Self::PPfc(p_pfc) => Ok(p_pfc.validate(lossless)?),
            Self::CaPfc(capfc) => Ok(capfc.validate(lossless)?),
            Self::Relay(relay) => Ok(relay.validate(lossless)?),
            Self::PortGrants(it) => Ok(bifrostx::timed(it.slots).validate(rate, max_frame, lossless)?),
        }
    }

    /// The settings of the slots, where Bifrost, BifrostX or port grants run.
    pub const fn bifrost(&self) -> Option<&settings::Bifrost> {
        match self {
            Self::Bifrost(bifrost) | Self::BifrostX(bifrost) => Some(bifrost),
            Self::PortGrants(it) => Some(&it.slots),
            _ => None,
        }
    }

    /// Whether its pauses follow slots of time, and not the queues.
    pub const fn has_slots(&self) -> bool {
        self.bifrost().is_some()
    }

    /// [`Self::bifrost`], to be changed.
    pub const fn bifrost_mut(&mut self) -> Option<&mut settings::Bifrost> {
        match self {
            Self::Bifrost(bifrost) | Self::BifrostX(bifrost) => Some(bifrost),
            Self::PortGrants(it) => Some(&mut it.slots),
            _ => None,
        }
    }

    /// The settings of port grants, where they run.
    pub const fn port_grants(&self) -> Option<&port_grants::settings::PortGrants> {
        if let Self::PortGrants(it) = self { Some(it) } else { None }
    }

    /// Whether it chooses among several queues of a priority for what the port sends.
    pub fn chooses_queues(&self) -> bool {
        self.port_grants().is_some_and(|it| it.far_ports > 0)
    }

    /// Whether it tells the other end what is behind each port, by the routes at the start or of a reload.
    pub const fn tells_routes(&self) -> bool {
        self.port_grants().is_some()
    }

    /// The settings of credits, where they run.
    pub const fn cbfc(&self) -> Option<&Cbfc> {
        if let Self::Cbfc(cbfc) = self { Some(cbfc) } else { None }
    }

    /// The port whose received pauses it acts on, where it does.
    pub const fn listens_to(&self) -> Option<PortId> {
        if let Self::Relay(relay) = self { Some(relay.from) } else { None }
    }
}
