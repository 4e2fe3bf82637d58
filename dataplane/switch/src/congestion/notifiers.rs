//! The schemes of a port that notify senders: their settings and checks.

use super::lscc::settings::{Lscc, LsccError};
use super::supplement::{self, SupplementError};
use super::themis::{self, ThemisError};
use crate::flows::settings::FlowSettings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, PrioritySet};

/// The schemes of a port that notify senders, with their settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notifiers {
    /// LSCC with the other end of a long link.
    pub lscc: Option<Lscc>,
    /// THEMIS on the port of a long link.
    pub themis: Option<themis::Settings>,
    /// Supplemental CNPs, and thinning of CNPs.
    pub supplement: Option<supplement::Settings>,
}

/// An error in the settings of these schemes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifiersError {
    /// An error in the settings of LSCC.
    #[error(transparent)]
    Lscc(#[from] LsccError),
    /// An error in the settings of THEMIS.
    #[error(transparent)]
    Themis(#[from] ThemisError),
    /// An error in the settings of supplemental CNPs.
    #[error("supplemental CNPs: {0}")]
    Supplement(#[from] SupplementError),
    /// THEMIS and another scheme that answers the same marks.
    #[error("a sender could get two CNPs for one mark, from THEMIS and from {other}")]
    #[allow(missing_docs, reason = "the message names its field")]
    Twice { other: &'static str },
    /// Supplemental CNPs or thinning on a port with LSCC, which has both.
    #[error("LSCC of the port makes and thins CNPs itself")]
    SupplementWithLscc,
}

impl Notifiers {
    /// The flows that a port of `rate` must keep for these schemes; `None` without a scheme.
    pub fn flows(&self, rate: BitRate) -> Option<FlowSettings> {
        let lscc = self.lscc.map(|it| it.flows(rate));
        let others = [self.themis.map(|it| it.notifier), self.supplement.map(|it| it.notifier)];
        let others = others.into_iter().flatten().map(|it| it.table(rate));
        lscc.into_iter().chain(others).reduce(FlowSettings::joined)
    }

    /// The keys of [`Notifiers::shared_flows`].
    pub(crate) const SHARED_FLOWS: &str = "`flows`, `ageing`, `learn` or `direct` of LSCC";

    /// The settings of the flows that the members of a bundle keep together, which have to be the same: size of the table,
    /// ageing, sample, and whether senders get direct INT. `None` where each member keeps its own.
    pub(crate) fn shared_flows(&self) -> Option<(u32, Interval, u32, bool)> {
        let limiting = self.lscc.filter(|_| self.themis.is_none())?.limiting;
        Some((limiting.flows, limiting.ageing, limiting.learn, limiting.direct_int.is_some()))
    }

    /// Whether each of several lanes can run them for its own senders.
    pub(crate) fn run_on_lanes(&self) -> bool {
        let Self { lscc, themis, supplement } = self;
        let is_direct = lscc.is_none_or(|it| it.limiting.direct_int.is_none());
        is_direct && themis.is_none() && supplement.is_none()
    }

    /// Gives each of `lanes` its part of the flows.
    pub(crate) fn divide_flows(&mut self, lanes: u32) {
        if let Some(lscc) = &mut self.lscc {
            lscc.limiting.flows = lscc.limiting.flows.div_ceil(lanes);
        }
    }

    /// Checks the schemes of a port of `rate` with these `lossless` priorities.
    ///
    /// # Errors
    /// [`NotifiersError`] for the first setting that is wrong.
    pub(crate) fn validate(&self, rate: BitRate, lossless: PrioritySet) -> Result<(), NotifiersError> {
        let Self { lscc, themis, supplement } = self;
        lscc.map_or(Ok(()), |it| it.validate(rate, lossless))?;
        themis.map_or(Ok(()), |it| it.validate(lossless))?;
        supplement.map_or(Ok(()), |it| it.validate())?;
        let answers = themis.is_some_and(|it| it.cnp_interval.is_some());
        let supplements = supplement.is_some_and(|it| it.threshold.is_some());
        match (lscc, supplements) {
            (Some(_), _) if answers => Err(NotifiersError::Twice { other: "LSCC" }),
            (Some(_), _) if supplement.is_some() => Err(NotifiersError::SupplementWithLscc),
            (_, true) if answers => Err(NotifiersError::Twice { other: "supplemental CNPs" }),
            _ => Ok(()),
        }
    }
}

/// Checks the schemes of all ports together, each with its name. Returns the name of the port at fault.
///
/// # Errors
/// [`NotifiersError`] where two ports want what one may have.
pub(crate) fn validate_together<'a>(
    ports: impl Iterator<Item = (&'a str, &'a Notifiers)>,
) -> Result<(), (&'a str, NotifiersError)> {
    let themis = ports.filter_map(|(name, it)| Some((name, it.themis?)));
    themis::validate_together(themis).map_err(|(port, error)| (port, error.into()))
}
