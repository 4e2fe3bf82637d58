//! The headroom of ports whose links have a measured delay.

use switch::program::{GroupSettings, PortSettings, Settings};
use units::{Bytes, Interval, PortId};

use crate::emulation;
use crate::flow_control;
use crate::gateway::Gateway;
use crate::headroom::HeadroomSum;
use crate::link::{DelayBounds, Link};
use crate::thresholds::{least_shared, set_shared};

impl Gateway {
    /// The bounds within which a measured delay sets the headroom of `port`; `None` if it does not. A scheme with a
    /// buffer of its own needs no headroom for the link.
    pub fn delay_bounds(&self, port: PortId) -> Option<DelayBounds> {
        let settings = self.program.port(port);
        let by_headroom = flow_control::lateness(&settings.flow_control).is_none();
        self.links[port.index()].delay.filter(|_| by_headroom && !settings.lossless().is_empty())
    }

    /// The delay of the link of `port` that its headroom covers; `None` if it is unknown.
    pub fn link_delay(&self, port: PortId) -> Option<Interval> {
        Some(self.links[port.index()].distance?.propagation())
    }

    /// The headroom that the link of `port` needs, term by term; `None` if its length is unknown.
    pub fn headroom_sum(&self, port: PortId) -> Option<HeadroomSum> {
        self.links[port.index()].headroom(self.program.port(port), self.cell_occupancy)
    }

    /// This gateway, with links that have these delays, by port; `None` leaves a link as it is. The headroom of each
    /// lossless group changes by what the formula gives more or less, so a margin beyond it stays. The shared pool gives
    /// or takes that, so the memory stays the same.
    ///
    /// Each delay must be within the bounds of its port: then the shared pool has room for all.
    #[must_use]
    pub fn with_link_delays(&self, delays: &[Option<Interval>]) -> Self {
        let (mut settings, mut links) = (self.program.settings().clone(), self.links.clone());
        let Settings { ports, buffer, .. } = &mut settings;
        let (mut more, mut less) = (Bytes::ZERO, Bytes::ZERO);
        for (number, (port, link)) in (0..).map(PortId).zip(ports.iter_mut().zip(&mut links)) {
            let delay = delays.get(number.index()).copied().flatten();
            let Some(delay) = delay.filter(|_| self.delay_bounds(number).is_some()) else { continue };
            let total = |link: &Link| link.headroom(port, self.cell_occupancy).map(|sum| sum.total());
            let before = total(link).unwrap_or_default();
            link.distance = Some(emulation::reach(delay));
            let after = total(link).unwrap_or_default();
            for group in port.groups.iter_mut().filter_map(GroupSettings::lossless_mut) {
                group.headroom = (group.headroom + after).saturating_sub(before);
                (more, less) = (more + after, less + before);
            }
        }
        let capacity = buffer.shared + buffer.headroom;
        buffer.headroom = (buffer.headroom + more).saturating_sub(less);
        let shared = capacity.saturating_sub(buffer.headroom);
        set_shared(buffer, shared);
        self.with(settings, links)
    }

    /// The bytes that the shared pool must give if all links have the longest delays within their bounds, and the
    /// bytes that it can give.
    pub(super) fn most_for_links(&self) -> (Bytes, Bytes) {
        let Settings { ports, buffer, .. } = self.program.settings();
        let more = |(number, port): (PortId, &PortSettings)| {
            let (bounds, link) = (self.delay_bounds(number)?, &self.links[number.index()]);
            let longest = Link { distance: Some(emulation::reach(bounds.most)), ..*link };
            let [now, then] = [link, &longest].map(|link| link.headroom(port, self.cell_occupancy));
            let groups = port.groups.iter().filter_map(GroupSettings::lossless).count() as u64;
            Some(Bytes((then?.total().saturating_sub(now?.total())).0.saturating_mul(groups)))
        };
        let more = (0..).map(PortId).zip(ports).filter_map(more).sum();
        (more, buffer.shared.saturating_sub(least_shared(ports, buffer)))
    }
}

#[cfg(test)]
mod tests;
