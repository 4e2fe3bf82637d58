//! How late a worker may be before lossless frames are lost, and how a gateway covers workers that are later.
//!
//! While a worker is away, its upstreams are told nothing, and what they send meanwhile must have room. Under Bifrost
//! that is `lateness`, otherwise `interface_delay`: both say how late the gateway may be, and the buffer is made for it.
//! A machine may turn out to be slower than its configuration says. Then the gateway takes the room out of the
//! shared pool, so that it holds what it promises and only its queues are shorter. The memory stays as large as it is.

use std::sync::Arc;

use switch::program::{
    Bifrost, BufferSettings, GroupSettings, LosslessGroup, PortSettings, Settings, Threshold,
};
use units::{Bytes, Cells, Interval, PauseQuanta, PortId, Priority, WireBytes};

use crate::gateway::{Gateway, Link};
use crate::headroom::frame_time;

/// What is lacking, in parts.
const WHOLE: u64 = 1_024;

impl Gateway {
    /// For how long the worker of `port` may be away before lossless frames are lost; `None` where nothing is lossless.
    pub fn covered_lateness(&self, port: PortId) -> Option<Interval> {
        covered(self.program.port(port), &self.links[port.index()])
    }

    /// What [`Gateway::covered_lateness`] becomes at most when workers turn out later: each lossless port with its name,
    /// what it covers, and what it can, if all others need as much.
    pub fn lateness(&self) -> impl Iterator<Item = (&str, Interval, Interval)> {
        let most = self.covering(&vec![Interval(u64::MAX); self.links.len()]);
        (0..).map(PortId).zip(self.port_names()).filter_map(move |(port, name)| {
            Some((name, self.covered_lateness(port)?, most.covered_lateness(port)?))
        })
    }

    /// For how long a worker may be away that has all of `ports`; `None` where none of them is lossless.
    pub fn covered_by(&self, ports: impl IntoIterator<Item = PortId>) -> Option<Interval> {
        ports.into_iter().filter_map(|port| self.covered_lateness(port)).min()
    }

    /// The same gateway that covers workers which are as late as `lateness` says, port by port, as far as half of the
    /// shared pool and the longest pause reach; where they do not, each port gets the same share of what it lacks.
    /// What is covered is never less than it was. The buffer is as large as before, so the result can take the
    /// place of `self` while it runs.
    #[must_use]
    pub fn covering(&self, lateness: &[Interval]) -> Self {
        let (mut share, mut wider) = (0, None);
        // The highest share for which there is room, bit by bit.
        for bit in (0..=WHOLE.ilog2()).rev().map(|bit| 1 << bit) {
            if let Some(found) = self.covering_share(lateness, share | bit) {
                (share, wider) = (share | bit, Some(found));
            }
        }
        let Some((settings, links)) = wider else { return self.clone() };
        match self.program.with_settings(settings) {
            Ok(program) => Self { program: Arc::new(program), links, ..self.clone() },
            // Nothing that it checks was made worse, so this is for safety alone: what is in force is kept.
            Err(_) => self.clone(),
        }
    }

    /// What covers `share` of what is lacking; `None` where nothing is, or the buffer does not reach.
    fn covering_share(&self, lateness: &[Interval], share: u64) -> Option<(Settings, Vec<Link>)> {
        if share > WHOLE {
            return None;
        }
        let mut settings = self.program.settings().clone();
        let mut links = self.links.clone();
        let Settings { ports, buffer, .. } = &mut settings;
        let (shared, kept) = (buffer.shared, least_shared(ports, buffer));
        let mut taken = Bytes::ZERO;
        for ((port, link), wanted) in ports.iter_mut().zip(&mut links).zip(lateness) {
            let Some(covered) = covered(port, link) else { continue };
            // More than the whole pool can hold needs no fractions of it.
            let pool = port.rate.serialization().time_of(WireBytes(shared.0));
            let lacking = (most_covered(port).min(*wanted) - covered).min(pool);
            let more = Interval((u128::from(lacking.0) * u128::from(share) / u128::from(WHOLE)) as u64);
            if more > Interval::ZERO {
                taken += cover(port, link, more, self.cell_occupancy, buffer);
            }
        }
        let left = buffer.shared.0.checked_sub(taken.0).map(Bytes);
        buffer.shared = left.filter(|left| *left >= kept && taken > Bytes::ZERO)?;
        // Lossy frames keep their share of it.
        let lossy = u128::from(buffer.egress_lossy.0) * u128::from(buffer.shared.0);
        buffer.egress_lossy = Bytes(u64::try_from(lossy / u128::from(shared.0.max(1))).ok()?);
        Some((settings, links))
    }
}

/// What of the shared pool stays shared: half of it, and what the fixed thresholds reach into it.
fn least_shared(ports: &[PortSettings], buffer: &BufferSettings) -> Bytes {
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    let fixed = groups.filter_map(|group| match group.xoff {
        Threshold::Static(xoff) => Some(xoff - group.reserved),
        Threshold::Dynamic(_) => None,
    });
    fixed.fold(Bytes(buffer.shared.0 / 2), Bytes::max)
}

/// What `port` on `link` covers.
fn covered(port: &PortSettings, link: &Link) -> Option<Interval> {
    let lateness = port.bifrost.as_ref().map_or(link.interface_delay, |bifrost| bifrost.lateness);
    (!port.lossless().is_empty()).then_some(lateness)
}

/// The most that `port` can cover however large the buffer is. A pause must last until it is refreshed at half of its
/// time, or a sender that was stopped goes on while the worker is away. Grants of Bifrost need no refresh.
fn most_covered(port: &PortSettings) -> Interval {
    match &port.bifrost {
        Some(_) => Interval(u64::MAX),
        None => {
            let half = Interval(PauseQuanta::MAX.interval_at(port.rate).0 / 2);
            half - (frame_time(port.rate, port.max_frame) + port.tx_window)
        }
    }
}

/// Makes room for a worker that is later by `more`. Returns what that takes of the shared pool.
fn cover(
    port: &mut PortSettings,
    link: &mut Link,
    more: Interval,
    cell_occupancy: f64,
    buffer: &mut BufferSettings,
) -> Bytes {
    let arriving = WireBytes(port.rate.bytes_in(more) + 1);
    match port.bifrost.as_mut() {
        Some(bifrost) => {
            let longest = PauseQuanta::MAX.interval_at(port.rate);
            cover_slots(bifrost, more, arriving, longest);
            let room = Cells::of_any_mix(arriving).bytes();
            for_each_group(port, |group| reserve(group, room))
        }
        None => {
            link.interface_delay += more;
            let waits = frame_time(port.rate, port.max_frame) + port.tx_window + link.interface_delay;
            port.pfc.pause = port.pfc.pause.max(PauseQuanta::covering(waits * 2, port.rate));
            let room = Bytes((arriving.0 as f64 * cell_occupancy).ceil() as u64);
            let taken = for_each_group(port, |group| add_headroom(group, room));
            buffer.headroom += taken;
            taken
        }
    }
}

/// A slot that ends later is provided for, and the pause of a slot without a grant lasts until then.
fn cover_slots(bifrost: &mut Bifrost, more: Interval, arriving: WireBytes, longest_pause: Interval) {
    bifrost.lateness += more;
    bifrost.buffer = bifrost.buffer + arriving;
    let most = longest_pause - bifrost.slot;
    bifrost.holdover = bifrost.holdover.max(bifrost.lateness.min(most));
}

fn reserve(group: &mut LosslessGroup, room: Bytes) -> Bytes {
    group.reserved += room;
    if let Threshold::Static(xoff) = &mut group.xoff {
        *xoff += room;
    }
    room
}

fn add_headroom(group: &mut LosslessGroup, room: Bytes) -> Bytes {
    group.headroom += room;
    room
}

/// Changes each lossless group of `port`. Returns the sum of what `change` returns.
fn for_each_group(port: &mut PortSettings, change: impl Fn(&mut LosslessGroup) -> Bytes) -> Bytes {
    Priority::all().filter_map(|priority| Some(change(port.groups[priority.index()].lossless_mut()?))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::capacity;

    const LH: PortId = PortId(0);
    const DC: PortId = PortId(1);

    /// Two ports of 10G, the first with what `scheme` adds to it; `shared` is the shared pool.
    fn gateway(shared: &str, scheme: &str) -> Gateway {
        let text = format!(
            "[buffer]\nshared = \"{shared}\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\ndistance = \"80km\"\n\
             interface_delay = \"10us\"\n{scheme}\n[[port]]\nname = \"dc0\"\nrate = \"10G\"\n"
        );
        crate::parse(&text, "gw.toml").unwrap()
    }

    const PFC: &str = "[[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"";
    const BIFROST: &str = "[[port.lossless]]\npriorities = [3]\n[port.bifrost]\nlateness = \"10us\"";

    fn late(micros: u64) -> [Interval; 2] {
        [Interval::from_micros(micros); 2]
    }

    fn memory(gateway: &Gateway) -> Bytes {
        let settings = gateway.program.settings();
        capacity(&settings.buffer, &settings.ports)
    }

    fn group(gateway: &Gateway) -> LosslessGroup {
        *gateway.program.port(LH).groups[3].lossless().unwrap()
    }

    #[test]
    fn a_port_covers_its_interface_delay_and_under_bifrost_its_lateness() {
        let (pfc, bifrost) = (gateway("8MiB", PFC), gateway("8MiB", BIFROST));
        assert_eq!(pfc.covered_lateness(LH), Some(Interval::from_micros(10)));
        assert_eq!(bifrost.covered_lateness(LH), Some(Interval::from_micros(10)));
        assert_eq!(pfc.covered_lateness(DC), None, "nothing is lossless there");
    }

    #[test]
    fn headroom_grows_by_what_arrives_while_a_worker_is_later_and_the_memory_does_not() {
        let before = gateway("8MiB", PFC);
        let after = before.covering(&late(1_010));
        assert_eq!(after.covered_lateness(LH), Some(Interval::from_micros(1_010)));
        // A millisecond at 10G, by the factor of 1.125 that the formula has.
        assert_eq!(group(&after).headroom, group(&before).headroom + Bytes(1_406_252));
        assert_eq!(group(&after).reserved, group(&before).reserved);
        assert_eq!(memory(&after), memory(&before));
    }

    #[test]
    fn the_buffer_of_bifrost_grows_with_all_that_belongs_to_it() {
        let before = gateway("8MiB", BIFROST);
        let after = before.covering(&late(1_010));
        let [was, is] = [&before, &after].map(|it| it.program.port(LH).bifrost.unwrap());
        assert_eq!(is.lateness, Interval::from_micros(1_010));
        assert_eq!(is.holdover, Interval::from_micros(1_010), "an upstream that was stopped stays so");
        assert_eq!(is.buffer, was.buffer + WireBytes(1_250_001));
        let grown = Cells::of_any_mix(WireBytes(1_250_001)).bytes();
        assert_eq!(group(&after).reserved, group(&before).reserved + grown);
        assert_eq!(memory(&after), memory(&before));
    }

    #[test]
    fn half_of_the_shared_pool_stays_shared_and_what_is_covered_is_told() {
        for scheme in [PFC, BIFROST] {
            let before = gateway("2MiB", scheme);
            let after = before.covering(&late(10_000));
            let covered = after.covered_lateness(LH).unwrap();
            assert!(
                covered > Interval::from_micros(500) && covered < Interval::from_micros(1_000),
                "{covered}"
            );
            let [was, is] = [&before, &after].map(|it| it.program.settings().buffer.shared.0);
            assert!(is >= was / 2 && is < was / 2 + was / 100, "{is} of {was}");
            assert!(after.program.settings().buffer.egress_lossy.0 <= is);
        }
    }

    #[test]
    fn a_pause_that_would_run_out_before_its_refresh_is_made_longer_and_no_more_is_covered_than_it_can_be() {
        // 65,535 quanta are 3.355 ms at 10G, and refreshed at half of that.
        let short = format!("{PFC}\n[port.pfc]\npause = \"100us\"");
        let before = gateway("64MiB", &short);
        let after = before.covering(&late(500));
        let least = Interval::from_micros(1_000);
        assert!(after.program.port(LH).pfc.pause.interval_at(after.program.port(LH).rate) >= least);
        let most = before.covering(&late(50_000)).covered_lateness(LH).unwrap();
        assert!(most < Interval(3_355_392 / 2) && most > Interval::from_micros(1_600), "{most}");
    }

    #[test]
    fn what_could_be_covered_is_known_before() {
        let gateway = gateway("2MiB", PFC);
        let told: Vec<_> = gateway.lateness().collect();
        let [(name, covered, most)] = told[..] else { panic!("{told:?}") };
        assert_eq!((name, covered), ("lh0", Interval::from_micros(10)));
        assert_eq!(Some(most), gateway.covering(&late(1_000_000)).covered_lateness(LH));
        assert!(most > Interval::from_micros(700), "{most}");
    }

    #[test]
    fn a_worker_that_is_as_early_as_configured_changes_nothing() {
        let before = gateway("8MiB", PFC);
        let after = before.covering(&late(10));
        assert_eq!(after.program.settings(), before.program.settings());
        assert_eq!(after.links, before.links);
    }
}
