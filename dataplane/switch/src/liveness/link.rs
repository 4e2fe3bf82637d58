//! The use of a link, by whether it lives.

use super::event::LinkState;
use super::settings::Liveness;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// A link. The first time that it lives, it has nothing to prove.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Link {
    pub state: LinkState,
    /// The end of `hold_off`, or of the time of proof.
    until: Nanos,
    /// The time of proof after the last failure.
    pub wait: Interval,
    /// When the last proof succeeded.
    returned: Option<Nanos>,
    /// Whether a proof has begun for which its delay has to be measured anew.
    pub measures_anew: bool,
}

/// The time after which a link that has lived long enough, and whose delay is not known to be short enough, is looked at again.
const LOOK_AGAIN: Interval = Interval::from_millis(1);

impl Link {
    /// Changes the state as far as it goes at `now`. `may_return` says whether its delay allows that.
    pub fn judge(
        &mut self,
        now: Nanos,
        settings: &Liveness,
        (lives, is_drained, may_return): (bool, bool, bool),
    ) {
        use LinkState::{Drained, Held, Out, Proving, Up};
        loop {
            let next = match self.state {
                Drained if !is_drained => Out,
                Up | Held | Out | Proving if is_drained => Drained,
                Up if !lives => Held,
                Held if lives => Up,
                Held if self.until <= now => Out,
                Out if lives => Proving,
                Proving if !lives => Out,
                Proving if self.until <= now && (may_return || self.wait == Interval::ZERO) => Up,
                Proving if self.until <= now => {
                    self.until = now + LOOK_AGAIN;
                    return;
                }
                _ => return,
            };
            match (self.state, next) {
                (_, Held) => self.until = now + settings.hold_off,
                (Drained, _) => (self.wait, self.returned) = (settings.return_after, None),
                (Held, Out) => {
                    let is_relapse = self.returned.is_some_and(|it| now.since(it) < Liveness::LONGEST_RETURN);
                    self.wait_longer(settings, is_relapse);
                }
                (Proving, Out) => self.wait_longer(settings, true),
                // Optics may have restored it along another way.
                (Held, Up) => self.measures_anew = true,
                (_, Proving) => {
                    (self.until, self.measures_anew) = (now + self.wait, self.wait != Interval::ZERO)
                }
                (Proving, _) => self.returned = (self.wait != Interval::ZERO).then_some(now),
                _ => {}
            }
            self.state = next;
        }
    }

    fn wait_longer(&mut self, settings: &Liveness, is_relapse: bool) {
        let (least, most) = (settings.return_after, Liveness::LONGEST_RETURN.max(settings.return_after));
        self.wait = if is_relapse { (self.wait * 2).clamp(least, most) } else { least };
    }

    /// When to judge again if nothing happens.
    pub fn deadline(&self) -> Nanos {
        match self.state {
            LinkState::Held | LinkState::Proving => self.until,
            _ => Nanos::NEVER,
        }
    }
}
