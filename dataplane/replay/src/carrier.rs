//! Links that fail while a capture is played.

use units::{Interval, Nanos, PortId};

/// A link that has no carrier for some time, as far as the gateway can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// The port of the link. A port that belongs to no bundle goes on sending.
    pub port: PortId,
    /// When the carrier goes, from the first frame of all captures on.
    pub from: Interval,
    /// When it is back, likewise; later than `from`.
    pub to: Interval,
}

/// The changes of carriers that are still to come.
pub(crate) struct Carriers {
    /// The last one comes next.
    changes: Vec<(Nanos, PortId, bool)>,
}

impl Carriers {
    /// The changes that `faults` make in a replay that starts at `origin`.
    pub fn new(faults: &[LinkFault], origin: Nanos) -> Self {
        let both = |it: &LinkFault| [(origin + it.from, it.port, false), (origin + it.to, it.port, true)];
        let mut changes: Vec<_> = faults.iter().flat_map(both).collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Self { changes }
    }

    /// The instant of the next change; never if there is none.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.changes.last().map_or(Nanos::NEVER, |(at, ..)| *at)
    }

    /// Whether a link has yet to fail.
    pub fn fail_yet(&self) -> bool {
        self.changes.iter().any(|(.., up)| !up)
    }

    /// Takes a change that is due at `now`: the port, and whether its link has a carrier.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> Option<(PortId, bool)> {
        self.changes.pop_if(|(at, ..)| *at <= now).map(|(_, port, up)| (port, up))
    }
}
