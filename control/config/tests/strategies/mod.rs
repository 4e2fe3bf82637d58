//! Schemes that notify senders, but for LSCC.

pub mod runtime;

use proptest::prelude::*;
use switch::program::{FastCnp, FlowSettings, MarkAt, Notifier, PortSettings, QueueSettings, Supplement};
use units::{Bytes, Interval, Priority};
use wire::ip::Dscp;
use wire::roce::fast_cnp::OptionType;

/// Settings of these schemes.
pub type Told = (Option<Supplement>, Option<FastCnp>);

/// All of them, each on or off.
pub fn senders() -> impl Strategy<Value = Told> {
    (prop::option::of(supplement()), prop::option::of(fast_cnp()))
}

/// `port` with those of them that may stand beside each other.
pub fn with_senders(port: PortSettings, (supplement, fast_cnp): Told) -> PortSettings {
    with_fast_cnp(with_supplement(port, supplement), fast_cnp)
}

/// DSCP and PCP of CNPs.
fn cnp() -> impl Strategy<Value = (Dscp, Priority)> {
    (0_u8..64, 0_u8..8)
        .prop_map(|(dscp, priority)| (Dscp::from_low_bits(dscp), Priority::from_low_bits(priority)))
}

/// Settings of supplemental CNPs.
fn supplement() -> impl Strategy<Value = Supplement> {
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
fn with_supplement(mut port: PortSettings, supplement: Option<Supplement>) -> PortSettings {
    port.supplement = supplement.filter(|_| port.lscc.is_none());
    port
}

/// Settings of Fast CNPs.
fn fast_cnp() -> impl Strategy<Value = FastCnp> {
    let capable = prop::sample::subsequence(vec!["::/0", "2001:db8::/32", "2001:db8:1:2::/64"], 0..3);
    let capable = capable.prop_map(|it| it.into_iter().map(|prefix| prefix.parse().unwrap()).collect());
    let source =
        prop::option::of(any::<u64>().prop_map(|low| (0x2001_0db8_u128 << 96 | u128::from(low)).into()));
    let time = || (1_000_u64..=1_000_000_000).prop_map(Interval);
    let roles = (any::<bool>(), source, capable, 2_u8..=31);
    let rest = (1..=FlowSettings::MOST, 1_u64.., cnp());
    (roles, (time(), time(), time()), rest).prop_map(|(roles, times, rest)| {
        let (accept, source, capable, option) = roles;
        let (interval, port_interval, round_trip) = times;
        let (flows, ageing, (cnp_dscp, cnp_priority)) = rest;
        FastCnp {
            option: OptionType::new(option).unwrap(),
            accept,
            source,
            capable,
            interval,
            port_interval,
            notifier: Notifier { flows, ageing: Interval(ageing), round_trip, cnp_dscp, cnp_priority },
        }
    })
}

/// `port` with Fast CNPs. It sends none where a queue marks at its tail, has no role beside supplemental CNPs, and is not
/// there beside LSCC.
fn with_fast_cnp(mut port: PortSettings, fast_cnp: Option<FastCnp>) -> PortSettings {
    let at_enqueue = |queue: &QueueSettings| queue.red.is_some_and(|red| red.mark_at == MarkAt::Enqueue);
    port.fast_cnp = fast_cnp.filter(|_| port.lscc.is_none());
    if let Some(fast_cnp) = port.fast_cnp.as_mut().filter(|_| port.supplement.is_some()) {
        (fast_cnp.accept, fast_cnp.source) = (false, None);
    }
    if let Some(fast_cnp) = &mut port.fast_cnp
        && port.queues.iter().any(at_enqueue)
    {
        fast_cnp.source = None;
    }
    port
}
