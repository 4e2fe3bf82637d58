//! Schemes that notify senders, except for LSCC.

pub mod runtime;

use proptest::prelude::*;
use switch::congestion::supplement::Settings as Supplement;
use switch::program::{FlowSettings, Notifier, PortSettings};
use units::{Bytes, Interval, Priority};
use wire::ip::Dscp;

/// DSCP and PCP of CNPs.
fn cnp() -> impl Strategy<Value = (Dscp, Priority)> {
    (0_u8..64, 0_u8..8)
        .prop_map(|(dscp, priority)| (Dscp::from_low_bits(dscp), Priority::from_low_bits(priority)))
}

/// Settings of supplemental CNPs.
pub fn supplement() -> impl Strategy<Value = Supplement> {
    let times = (1_000_u64..=1_000_000_000, 1_u64..=1_000_000_000, 1_000_u64..=1_000_000_000, 1_u64..);
    let (threshold, thinning) =
        (prop::option::of((0_u64..10_000_000).prop_map(Bytes)), prop::option::of(1_000_u64..=1_000_000_000));
    (times, threshold, thinning, 1..=FlowSettings::MOST, cnp()).prop_map(
        |((timer, more, round_trip, ageing), threshold, thinning, flows, (cnp_dscp, cnp_priority))| {
            let thinning = thinning.map(|thinning| Interval(thinning.min(timer)));
            Supplement {
                // One of both is needed.
                threshold: threshold.or(thinning.is_none().then_some(Bytes(1))),
                increase_timer: Interval(timer),
                mark_lasts: Interval(timer + more),
                thinning,
                notifier: Notifier {
                    flows,
                    ageing: Interval(ageing),
                    round_trip: Interval(round_trip),
                    cnp_dscp,
                    cnp_priority,
                },
            }
        },
    )
}

/// `port` with supplemental CNPs, where it has no LSCC.
pub fn with_supplement(mut port: PortSettings, supplement: Option<Supplement>) -> PortSettings {
    port.notifiers.supplement = supplement.filter(|_| port.notifiers.lscc.is_none());
    port
}
