//! A link of a bundle that is restored along a longer way carries data again only if its delay, measured anew, is covered.

use conformance::settings::patched;
use conformance::{B, C, TestFrame, Testbench};
use switch::link_delay::LinkDelay;
use switch::liveness::{LinkState, Liveness, Proof};
use switch::program::Membership;
use units::{Interval, Nanos};

const COVERED: Interval = Interval::from_micros(400);
/// How long a step of both gateways takes. So late a frame may be read.
const STEP: Interval = Interval::from_micros(5);
const RETURN_AFTER: Interval = Interval::from_millis(2);

/// Two gateways with two links between them, the first of which has `delay`.
struct Pair {
    gateways: [Testbench; 2],
    delay: Interval,
    /// Frames on the first link: when they arrive, and at which gateway.
    under_way: Vec<(Nanos, usize, TestFrame)>,
}

impl Pair {
    fn new(returns_up_to: Option<Interval>) -> Self {
        let mut settings = patched(3);
        for port in [B, C] {
            let liveness = Liveness {
                proof: Proof::Carrier,
                hold_off: Interval::ZERO,
                return_after: RETURN_AFTER,
                is_drained: false,
            };
            let settings = &mut settings.ports[port.index()];
            let (bundle, delay, jitter) = ("lh".into(), COVERED, Interval::ZERO);
            settings.bundle = Some(Membership { bundle, head: B, delay, jitter, liveness: Some(liveness) });
            settings.link_delay = Some(LinkDelay { interval: Some(Interval::from_millis(1)), returns_up_to });
        }
        let gateways = [(); 2].map(|()| Testbench::new(settings.clone()));
        let mut pair = Self { gateways, delay: COVERED, under_way: Vec::new() };
        pair.set_carrier(true);
        pair
    }

    fn set_carrier(&mut self, up: bool) {
        for gateway in &mut self.gateways {
            let now = gateway.now();
            [B, C].into_iter().for_each(|port| gateway.shard.set_carrier(now, port, up || port == C));
        }
        self.under_way.clear();
    }

    fn run_for(&mut self, time: Interval) {
        let end = self.gateways[0].now() + time;
        while self.gateways[0].now() < end {
            let now = self.gateways[0].now() + STEP;
            for side in [0, 1] {
                self.gateways[side].run_until(now);
                let (arrived, rest): (Vec<_>, Vec<_>) =
                    self.under_way.drain(..).partition(|it| it.0 <= now && it.1 == side);
                self.under_way = rest;
                self.gateways[side].inject(B, arrived.into_iter().map(|it| it.2));
                let sent = self.gateways[side].newly_sent(B);
                self.under_way.extend(sent.into_iter().map(|it| (it.start + self.delay, 1 - side, it.frame)));
            }
        }
    }

    /// The states of the first link at both ends.
    fn states(&self) -> [LinkState; 2] {
        self.gateways.each_ref().map(|it| it.look(B).liveness.expect("it is watched").state)
    }
}

/// The states of a link that was cut and came back with `delay`, well after it might have returned.
fn after_a_cut(returns_up_to: Option<Interval>, delay: Interval) -> [LinkState; 2] {
    let mut pair = Pair::new(returns_up_to);
    pair.run_for(Interval::from_millis(12));
    assert_eq!(pair.states(), [LinkState::Up; 2]);
    pair.set_carrier(false);
    pair.run_for(Interval::from_millis(1));
    assert_eq!(pair.states(), [LinkState::Out; 2]);
    pair.delay = delay;
    pair.set_carrier(true);
    pair.run_for(Interval::from_millis(4));
    let is_unknown = returns_up_to.is_some();
    assert_eq!(pair.states(), [if is_unknown { LinkState::Proving } else { LinkState::Up }; 2]);
    pair.run_for(Interval::from_millis(16));
    pair.states()
}

#[test]
fn a_link_that_is_restored_along_a_longer_way_stays_out_of_use_and_one_as_long_as_before_returns() {
    let most = Some(COVERED + STEP * 2);
    assert_eq!(after_a_cut(most, COVERED), [LinkState::Up; 2]);
    assert_eq!(after_a_cut(most, COVERED * 2), [LinkState::Proving; 2]);
}

#[test]
fn a_link_that_is_kept_out_returns_once_a_reload_ends_the_measurement() {
    let mut pair = Pair::new(Some(COVERED));
    pair.run_for(Interval::from_millis(12));
    pair.set_carrier(false);
    pair.run_for(Interval::from_millis(1));
    pair.delay = COVERED * 2;
    pair.set_carrier(true);
    pair.run_for(Interval::from_millis(20));
    assert_eq!(pair.states(), [LinkState::Proving; 2]);
    for gateway in &mut pair.gateways {
        gateway.install(|settings| settings.ports[B.index()].link_delay = None);
    }
    pair.run_for(Interval::from_millis(2));
    assert_eq!(pair.states(), [LinkState::Up; 2]);
}

#[test]
fn without_a_bound_a_longer_link_returns() {
    assert_eq!(after_a_cut(None, COVERED * 2), [LinkState::Up; 2]);
}
