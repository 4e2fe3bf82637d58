//! The settings of supplemental CNPs and of thinning.

use crate::program::{Notifier, NotifierError};
use serde::{Deserialize, Serialize};
use units::{Bytes, Interval};

/// Supplemental CNPs for the senders of a port that is severely congested, and thinning of CNPs from its receivers
/// (Nendica report "Intelligent Lossless Data Center Networks", "Improving Congestion Notification").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The buffered bytes from which a queue is severely congested; `None` supplements nothing. The report says
    /// "severely congested" and gives no length.
    pub threshold: Option<Bytes>,
    /// The time without a CNP after which a sender raises its rate: 1 us to a second. The report has 300 us.
    pub increase_timer: Interval,
    /// The time for which a flow counts as congested after its last marked packet; more than `increase_timer`. The
    /// report has no such limit, but a flow that has stopped sending needs no CNP.
    pub mark_lasts: Interval,
    /// At most one CNP of the receivers per flow passes in this time; `None` thins nothing. At most
    /// `increase_timer`.
    pub thinning: Option<Interval>,
    /// Its flows and its CNPs.
    pub notifier: Notifier,
}

/// A setting of supplemental CNPs that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum SupplementError {
    #[error("without a threshold and without thinning there is nothing to do; state one of them")]
    Idle,
    #[error("an increase timer of {given} is out of range; expected {least} to {most}")]
    IncreaseTimer { given: Interval, least: Interval, most: Interval },
    /// `least` is the increase timer.
    #[error("marks that last {given} end before the increase timer, {least}, so no CNP could be missing")]
    MarkLasts { given: Interval, least: Interval },
    /// `most` is the increase timer.
    #[error(
        "thinning to one CNP in {given} would withhold CNPs that the sender awaits within its timer, {most}"
    )]
    Thinning { given: Interval, most: Interval },
    #[error(transparent)]
    Notifier(#[from] NotifierError),
}

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`SupplementError`] for what is out of range or has no effect.
    pub(crate) fn validate(&self) -> Result<(), SupplementError> {
        const LEAST: Interval = Interval::from_micros(1);
        const MOST: Interval = Interval::from_secs(1);
        let Self { threshold, increase_timer, mark_lasts, thinning, notifier } = *self;
        let refused = if threshold.is_none() && thinning.is_none() {
            SupplementError::Idle
        } else if increase_timer < LEAST || increase_timer > MOST {
            SupplementError::IncreaseTimer { given: increase_timer, least: LEAST, most: MOST }
        } else if threshold.is_some() && mark_lasts <= increase_timer {
            SupplementError::MarkLasts { given: mark_lasts, least: increase_timer }
        } else if let Some(given) = thinning.filter(|it| *it > increase_timer) {
            SupplementError::Thinning { given, most: increase_timer }
        } else {
            return Ok(notifier.validate()?);
        };
        Err(refused)
    }
}

#[cfg(test)]
impl Settings {
    /// Settings for tests: severe from 100,000 bytes on.
    pub(crate) const PLAIN: Self = Self {
        threshold: Some(Bytes(100_000)),
        increase_timer: Interval::from_micros(300),
        mark_lasts: Interval::from_millis(1),
        thinning: None,
        notifier: Notifier::PLAIN,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(change: impl FnOnce(&mut Settings)) -> Result<(), SupplementError> {
        let mut settings = Settings::PLAIN;
        change(&mut settings);
        settings.validate()
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_their_reason() {
        use SupplementError as E;
        let micros = Interval::from_micros;
        assert_eq!(checked(|_| ()), Ok(()));
        assert_eq!(checked(|it| (it.threshold, it.thinning) = (None, Some(micros(300)))), Ok(()));
        assert_eq!(checked(|it| it.threshold = None), Err(E::Idle));
        let (least, most) = (micros(1), Interval::from_secs(1));
        for given in [Interval(999), most + Interval(1)] {
            let refused = checked(|it| it.increase_timer = given);
            assert_eq!(refused, Err(E::IncreaseTimer { given, least, most }));
        }
        let short = checked(|it| it.mark_lasts = micros(300));
        assert_eq!(short, Err(E::MarkLasts { given: micros(300), least: micros(300) }));
        let thin = checked(|it| it.thinning = Some(micros(301)));
        assert_eq!(thin, Err(E::Thinning { given: micros(301), most: micros(300) }));
        assert_eq!(checked(|it| it.notifier.ageing = Interval::ZERO), Err(NotifierError::Ageing.into()));
    }
}
