//! Supplemental CNPs on a port, and thinning of CNPs: their keys, and what builds their settings.

use switch::congestion::supplement::{Settings as Supplement, SupplementError};
use switch::program::NotifierError;
use units::{Bytes, Interval};

use crate::keys::long_haul::{CnpDecl, SPANS};
use crate::place::{At, Place};
use crate::table::{at, or, table};
use crate::value::Spacing;

/// The timer that the report gives for NICs.
const INCREASE_TIMER: Interval = Interval::from_micros(300);
/// Queues in a data center make a round trip some hundred microseconds long.
const ROUND_TRIP: Interval = Interval::from_millis(1);

table! {
    /// Supplemental CNPs, and thinning of CNPs.
    SupplementDecl {
        /// A queue that holds this much is severely congested. `"none"`: the port makes no CNPs, and only thins
        threshold: At<Option<Bytes>>, required("threshold = \"1MB\"");
        /// The time without a CNP after which senders raise their rates. The port sends the CNP that is missing then, so set it to the timer of the NICs or a little less
        increase_timer: At<Interval>, within(SPANS), default(INCREASE_TIMER);
        /// A flow counts as congested for this long after a marked packet. Must be more than `increase_timer`. With less than the time to its next marked packet, its rate rises in between
        mark_lasts: At<Interval>, auto("`ageing`: as long as the queue is severely congested");
        /// The port passes on one CNP of its receivers per flow in this time; `"none"` passes all. At most `increase_timer`
        thinning: At<Spacing>, default(Spacing(None));
        /// How many flows the port knows at once, in both directions, 1 to 4,194,304; each takes 149 to 157 bytes
        flows: At<u32>, default(1_u32 << 16);
        /// The port forgets a flow that is idle for this long
        ageing: At<Interval>, default(Interval::from_secs(10));
        /// Round trip to the receivers, queues included. A response counts for the search for queue pairs within it
        round_trip: At<Interval>, within(SPANS), default(ROUND_TRIP);
        cnp: CnpDecl, absent;
    }
}

/// Builds the settings; `None` if the threshold is missing, which is an error elsewhere.
pub(crate) fn build(decl: &SupplementDecl) -> Option<Supplement> {
    let increase_timer = decl.increase_timer();
    Some(Supplement {
        threshold: decl.threshold.as_ref()?.value,
        increase_timer,
        mark_lasts: or(&decl.mark_lasts, decl.ageing()),
        thinning: decl.thinning().0,
        notifier: decl.cnp().notifier(decl.flows(), decl.ageing(), decl.round_trip()),
    })
}

/// The keys from which [`build`] builds the same settings.
pub(crate) fn in_force(settings: &Supplement) -> SupplementDecl {
    SupplementDecl {
        threshold: at(settings.threshold),
        increase_timer: at(settings.increase_timer),
        mark_lasts: at(settings.mark_lasts),
        thinning: at(Spacing(settings.thinning)),
        flows: at(settings.notifier.flows),
        ageing: at(settings.notifier.ageing),
        round_trip: at(settings.notifier.round_trip),
        cnp: CnpDecl::in_force(settings.notifier.cnp_dscp, settings.notifier.cnp_priority),
        place: Place::default(),
    }
}

/// The key at fault, if it is a single one.
pub(crate) const fn keys_at_fault(error: &SupplementError) -> &'static [&'static str] {
    match error {
        SupplementError::Idle => &[],
        SupplementError::IncreaseTimer { .. } => &["increase_timer"],
        SupplementError::MarkLasts { .. } => &["mark_lasts"],
        SupplementError::Thinning { .. } => &["thinning"],
        SupplementError::Notifier(NotifierError::Flows { .. }) => &["flows"],
        SupplementError::Notifier(NotifierError::Ageing) => &["ageing"],
    }
}
