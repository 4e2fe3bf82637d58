//! Measured delays of links, and the headroom that follows from them.
//!
//! The switch measures; here its result is judged. A delay within the bounds of its port takes the place of the
//! configured one. Any other changes nothing: whoever answers at the other end of a link moves headroom between the
//! bounds and no further.

use core::time::Duration;
use std::time::Instant;

use config::{DelayBounds, Gateway};
use telemetry::CoveredDelayReport;
use units::{Interval, PortId};

/// The interval of looks at what the workers have measured.
const LOOK: Duration = Duration::from_millis(200);

/// The consequence of a measured delay for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// Headroom stays as it is.
    Keep,
    /// Headroom is to cover this delay.
    Cover(Interval),
    /// No link of this port has that delay.
    Refuse,
}

/// The delay of one link.
#[derive(Clone, Copy, Debug, Default)]
struct OfPort {
    /// The delay that headroom covers instead of the configured one.
    covered: Option<Interval>,
    /// The delay that is refused now.
    refused: Option<Interval>,
    /// The last warning.
    told: Option<Instant>,
    report: CoveredDelayReport,
}

/// The measured delays of all links.
pub struct LinkDelays {
    ports: Vec<OfPort>,
    next_look: Option<Instant>,
}

/// A change of the delay that the headroom of a port covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    port: PortId,
    measured: Interval,
}

impl LinkDelays {
    /// Nothing measured yet, for `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self { ports: vec![OfPort::default(); ports], next_look: None }
    }

    /// Whether it is time to look at the ports of `configured`; never if none sets headroom by a measured delay.
    pub fn is_due(&mut self, configured: &Gateway, now: Instant) -> bool {
        let mut ports = (0..).map(PortId).take(self.ports.len());
        if !ports.any(|port| configured.delay_bounds(port).is_some())
            || self.next_look.is_some_and(|next| now < next)
        {
            return false;
        }
        self.next_look = Some(now + LOOK);
        true
    }

    /// Judges the `measured` delays of the ports of `configured`, of which `None` is unknown and changes nothing. Returns
    /// the ports whose headroom is to change, and those whose delay is refused from now on.
    pub fn see(&mut self, measured: &[Option<Interval>], configured: &Gateway) -> Vec<Change> {
        let mut changes = Vec::new();
        for (port, (it, measured)) in (0..).map(PortId).zip(self.ports.iter_mut().zip(measured)) {
            let (Some(bounds), Some(measured)) = (configured.delay_bounds(port), *measured) else { continue };
            let covered = it.covered.filter(|delay| is_within(bounds, *delay));
            let in_force = covered.or(configured.link_delay(port)).unwrap_or(bounds.most);
            match judge(bounds, in_force, measured) {
                Judgement::Keep => it.refused = None,
                Judgement::Cover(delay) => {
                    (it.covered, it.refused) = (Some(delay), None);
                    it.report.applied += 1;
                    changes.push(Change { port, measured });
                }
                Judgement::Refuse => {
                    it.report.refused += u64::from(it.refused.is_none());
                    it.refused = Some(measured);
                }
            }
        }
        changes
    }

    /// `configured`, with the headroom that the measured delays need.
    pub fn apply(&self, configured: &Gateway) -> Gateway {
        let within = |(port, it): (PortId, &OfPort)| {
            let bounds = configured.delay_bounds(port)?;
            it.covered.filter(|delay| is_within(bounds, *delay))
        };
        let delays: Vec<_> = (0..).map(PortId).zip(&self.ports).map(within).collect();
        configured.with_link_delays(&delays)
    }

    /// Logs `changes`, which lead to `gateway`. It warns of a refused delay once per `control.repeat`.
    pub fn tell(&mut self, changes: &[Change], gateway: &Gateway, now: Instant) {
        for change in changes {
            tracing::info!("{}", change_text(change, gateway));
        }
        let again = Duration::from_nanos(gateway.runtime.control.repeat.0);
        for (port, it) in (0..).map(PortId).zip(&mut self.ports) {
            let (Some(bounds), Some(refused)) = (gateway.delay_bounds(port), it.refused) else { continue };
            if it.told.is_none_or(|told| now - told >= again) {
                it.told = Some(now);
                let DelayBounds { least, most } = bounds;
                tracing::warn!(
                    "port {}: the link delay of {refused} is refused: it is outside port.link_delay.least = {least} to most = {most}; the headroom stays as it is",
                    gateway.program.port(port).name
                );
            }
        }
    }

    /// How often a measured delay of `port` was applied, and refused.
    pub fn report(&self, port: PortId) -> CoveredDelayReport {
        self.ports.get(port.index()).map(|it| it.report).unwrap_or_default()
    }
}

/// Judges `measured` on a port whose headroom covers `in_force`. Headroom grows as soon as the link is longer, and shrinks
/// only if it is much shorter, so a delay that varies a little changes nothing.
fn judge(bounds: DelayBounds, in_force: Interval, measured: Interval) -> Judgement {
    if !is_within(bounds, measured) {
        return Judgement::Refuse;
    }
    // Smaller changes change nothing.
    let margin = DelayBounds::margin(measured);
    let wanted = (measured + margin).min(bounds.most);
    if measured > in_force || wanted + margin < in_force {
        return Judgement::Cover(wanted);
    }
    Judgement::Keep
}

fn is_within(bounds: DelayBounds, delay: Interval) -> bool {
    (bounds.least..=bounds.most).contains(&delay)
}

/// A change, with the terms of the headroom that it leads to.
fn change_text(change: &Change, gateway: &Gateway) -> String {
    let Change { port, measured } = *change;
    let name = &gateway.program.port(port).name;
    let covered = gateway.link_delay(port).unwrap_or_default();
    let sum = gateway.headroom_sum(port).map(|sum| format!("\n{sum}")).unwrap_or_default();
    format!("port {name}: the link delay is {measured:#}; the headroom now covers {covered:#}{sum}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LH: PortId = PortId(0);

    fn gateway(bounds: &str) -> Gateway {
        let text = format!(
            "[buffer]\nshared = \"64MiB\"\n[control]\nrepeat = \"10s\"\n[[port]]\nname = \"lh0\"\nrate = \"100G\"\n\
             distance = \"39600m\"\nlossless = [{{ priorities = [3] }}]\n[port.link_delay]\n{bounds}\n\
             [[port]]\nname = \"dc0\"\nrate = \"100G\"\n"
        );
        config::parse(&text, "gw.toml").unwrap()
    }

    /// 200 us, which may be 100 us to 500 us.
    fn bounded() -> Gateway {
        gateway("least = \"100us\"\nmost = \"500us\"")
    }

    fn micros(count: u64) -> Option<Interval> {
        Some(Interval::from_micros(count))
    }

    fn covers(delays: &LinkDelays, configured: &Gateway) -> Interval {
        delays.apply(configured).link_delay(LH).unwrap()
    }

    #[test]
    fn headroom_covers_a_longer_link_at_once_with_a_margin_and_never_more_than_the_bounds() {
        let configured = bounded();
        let mut delays = LinkDelays::new(2);
        for (measured, expected) in [(200, 200), (201, 207), (207, 207), (320, 330), (490, 500), (500, 500)] {
            delays.see(&[micros(measured), None], &configured);
            let covered = covers(&delays, &configured);
            assert_eq!(covered.0 / 1_000, expected, "{measured}");
        }
        assert_eq!(delays.report(LH).applied, 3);
    }

    #[test]
    fn headroom_shrinks_only_for_a_link_that_is_much_shorter() {
        let configured = bounded();
        let mut delays = LinkDelays::new(2);
        for (measured, expected) in [(199, 200), (190, 200), (160, 165), (158, 165), (100, 103)] {
            delays.see(&[micros(measured), None], &configured);
            assert_eq!(covers(&delays, &configured).0 / 1_000, expected, "{measured}");
        }
    }

    #[test]
    fn an_unknown_delay_and_one_outside_of_the_bounds_leave_what_is_in_force() {
        let configured = bounded();
        let mut delays = LinkDelays::new(2);
        delays.see(&[micros(320), None], &configured);
        for measured in [None, micros(99), micros(0), micros(501), micros(250_000)] {
            assert_eq!(delays.see(&[measured, micros(7)], &configured), []);
            assert_eq!(covers(&delays, &configured), Interval::from_micros(330));
        }
        assert_eq!(delays.report(LH).refused, 1, "it is counted when it begins");
        delays.see(&[micros(320), None], &configured);
        delays.see(&[micros(501), None], &configured);
        assert_eq!(delays.report(LH).refused, 2);
    }

    #[test]
    fn a_file_with_other_bounds_or_without_them_ends_what_they_do_not_allow() {
        let mut delays = LinkDelays::new(2);
        delays.see(&[micros(320), None], &bounded());
        assert_eq!(covers(&delays, &gateway("most = \"400us\"")), Interval::from_micros(330));
        for file in ["most = \"300us\"", "apply = false", "measure = false"] {
            assert_eq!(covers(&delays, &gateway(file)), Interval::from_micros(200), "{file}");
        }
    }

    #[test]
    fn ports_are_looked_at_now_and_then_and_never_if_none_applies_its_delay() {
        let (mut delays, now) = (LinkDelays::new(2), Instant::now());
        assert!(!delays.is_due(&gateway("apply = false"), now));
        let looks = [0, 199, 200, 399, 400]
            .map(|after| delays.is_due(&bounded(), now + Duration::from_millis(after)));
        assert_eq!(looks, [true, false, true, false, true]);
    }

    #[test]
    fn a_change_is_told_with_the_terms_of_the_headroom() {
        let configured = bounded();
        let mut delays = LinkDelays::new(2);
        let changes = delays.see(&[micros(320), None], &configured);
        let text = change_text(&changes[0], &delays.apply(&configured));
        for part in ["port lh0", "320 us", "330 us", "on the fibre, both ways", "in all"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_refused_delay_is_warned_of_again_after_the_time_that_the_file_states() {
        let (configured, mut delays, began) = (bounded(), LinkDelays::new(2), Instant::now());
        delays.see(&[micros(501), None], &configured);
        let is_told = |seconds| {
            let now = began + Duration::from_secs(seconds);
            delays.tell(&[], &configured, now);
            delays.ports[LH.index()].told == Some(now)
        };
        assert_eq!([0, 9, 10, 19, 20].map(is_told), [true, false, true, false, true]);
    }
}
