//! The schemes of a port that notify the senders of marked packets: their settings and checks.

use super::supplement::{self, SupplementError};
use super::themis::{self, Themis, ThemisError};
use crate::program::FlowSettings;
use serde::{Deserialize, Serialize};
use units::{BitRate, PrioritySet};

/// The schemes of a port that notify the senders of marked packets, with their settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notifiers {
    /// THEMIS on the port of a long link.
    pub themis: Option<Themis>,
    /// Supplemental CNPs, and thinning of CNPs.
    pub supplement: Option<supplement::Settings>,
}

/// An error in the settings of these schemes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifiersError {
    /// An error in the settings of THEMIS.
    #[error(transparent)]
    Themis(#[from] ThemisError),
    /// An error in the settings of supplemental CNPs.
    #[error("supplemental CNPs: {0}")]
    Supplement(#[from] SupplementError),
    /// THEMIS and another scheme that answers the same marks.
    #[error(
        "a sender could get two CNPs for one mark, from [port.themis] and from [port.{other}]; set cnp_interval = \"none\" in themis, or remove one of them"
    )]
    Twice {
        /// The table of the other scheme.
        other: &'static str,
    },
    /// Supplemental CNPs or thinning on a port with LSCC, which has both.
    #[error("LSCC of the port makes and thins CNPs itself; use far_cnp_interval of LSCC to thin CNPs")]
    SupplementWithLscc,
}

impl Notifiers {
    /// The flows that the port must keep for these schemes.
    pub(crate) fn flows(&self, rate: BitRate) -> impl Iterator<Item = FlowSettings> {
        let notifiers = [self.themis.map(|it| it.notifier), self.supplement.map(|it| it.notifier)];
        notifiers.into_iter().flatten().map(move |it| it.table(rate))
    }

    /// Checks the schemes of a port with these `lossless` priorities, and with LSCC or without.
    ///
    /// # Errors
    /// [`NotifiersError`] for the first setting that is wrong.
    pub(crate) fn validate(&self, lossless: PrioritySet, with_lscc: bool) -> Result<(), NotifiersError> {
        let Self { themis, supplement } = self;
        if let Some(themis) = themis {
            themis.validate(lossless)?;
        }
        if let Some(supplement) = supplement {
            supplement.validate()?;
        }
        let answers = themis.is_some_and(|it| it.cnp_interval.is_some());
        let supplements = supplement.is_some_and(|it| it.threshold.is_some());
        match (with_lscc, supplements) {
            (true, _) if answers => Err(NotifiersError::Twice { other: "lscc" }),
            (true, _) if supplement.is_some() => Err(NotifiersError::SupplementWithLscc),
            (_, true) if answers => Err(NotifiersError::Twice { other: "supplement" }),
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
