//! The lateness of workers that the buffer covers, and the room that a gateway makes for later workers.
//!
//! While a worker is suspended, it sends no pauses, so the buffer must hold all that arrives. The configuration
//! gives the time that it covers: under Bifrost by `lateness`, otherwise by `interface_delay` and any headroom
//! beyond the formula. If a machine turns out to be slower, the gateway takes the room out of the shared pool.
//! Lossless frames stay safe, queues get shorter, and the memory stays the same.

use std::sync::Arc;

use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Settings, Threshold};
use units::{Bytes, Cells, Interval, PauseQuanta, PortId, Priority, WireBytes};

use crate::flow_control;
use crate::gateway::Gateway;
use crate::headroom::frame_time;
use crate::keys::long_haul::LONGEST;
use crate::link::Link;
use crate::thresholds::{least_shared, set_shared};

/// The precision with which a level of lateness that fits is found.
const RESOLUTION: Interval = Interval::from_micros(1);

impl Gateway {
    /// The time for which the worker of `port` may be suspended before lossless frames are lost; `None` if nothing
    /// is lossless. Without a `distance`, the headroom is assumed to cover `interface_delay` and no more.
    pub fn covered_lateness(&self, port: PortId) -> Option<Interval> {
        covered(self.program.port(port), &self.links[port.index()], self.cell_occupancy)
    }

    /// For each lossless port: its name, the lateness that it covers, and the most that it can cover if all other
    /// ports need as much.
    pub fn lateness(&self) -> impl Iterator<Item = (&str, Interval, Interval)> {
        let ports = self.links.len();
        let most = self.covering(&vec![LONGEST; ports], &vec![Interval::ZERO; ports]);
        (0..).map(PortId).zip(self.port_names()).filter_map(move |(port, name)| {
            Some((name, self.covered_lateness(port)?, most.covered_lateness(port)?))
        })
    }

    /// The time for which a worker with all of `ports` may be suspended; `None` if none of them is lossless.
    pub fn covered_by(&self, ports: impl IntoIterator<Item = PortId>) -> Option<Interval> {
        ports.into_iter().filter_map(|port| self.covered_lateness(port)).min()
    }

    /// The keys, as written in a file, that make `port` cover `lateness` from the start, or as much of it as pause
    /// frames and keys allow.
    pub fn keys_for_lateness(&self, port: PortId, lateness: Interval) -> String {
        let settings = self.program.port(port);
        let lateness = lateness.min(most_covered(settings)).min(LONGEST);
        let of_scheme = flow_control::keys_for_lateness(settings, lateness);
        of_scheme.unwrap_or_else(|| format!("port.interface_delay = \"{lateness}\""))
    }

    /// Whether a larger buffer could make `port` cover `lateness`. If not, no pause frame lasts long enough.
    pub fn can_cover(&self, port: PortId, lateness: Interval) -> bool {
        lateness <= most_covered(self.program.port(port))
    }

    /// This gateway with room for workers as late as `wanted`, port by port, as far as half of the shared pool and
    /// the longest pause allow. If the room is short, all ports are covered up to a common level, so those that want
    /// least get all they want. No port gets less than in `held`, unless even that does not fit. The size of the
    /// buffer does not change.
    #[must_use]
    pub fn covering(&self, wanted: &[Interval], held: &[Interval]) -> Self {
        let settings = self.program.settings();
        let spare = settings.buffer.shared.saturating_sub(least_shared(&settings.ports, &settings.buffer));
        let fits = |level, held: &[Interval]| self.taken(&self.lacking(wanted, held, level)) <= spare;
        let nothing = vec![Interval::ZERO; held.len()];
        let held = if fits(Interval::ZERO, held) { held } else { &nothing };
        let mut level = Interval::ZERO;
        let mut above = wanted.iter().copied().max().unwrap_or_default() + RESOLUTION;
        while above - level > RESOLUTION {
            let between = level + Interval((above - level).0 / 2);
            if fits(between, held) {
                level = between;
            } else {
                above = between;
            }
        }
        self.covering_more(&self.lacking(wanted, held, level))
    }

    /// This gateway with the shared pool of `other`, if that is smaller.
    #[must_use]
    pub fn with_shared_pool_of(&self, other: &Self) -> Self {
        let mut settings = self.program.settings().clone();
        let BufferSettings { shared, egress_lossy, .. } = other.program.settings().buffer;
        if shared >= settings.buffer.shared {
            return self.clone();
        }
        (settings.buffer.shared, settings.buffer.egress_lossy) = (shared, egress_lossy);
        self.with(settings, self.links.clone())
    }

    /// The additional lateness that each port must cover to reach its value in `wanted`, up to `level` or its value
    /// in `held`.
    fn lacking(&self, wanted: &[Interval], held: &[Interval], level: Interval) -> Vec<Interval> {
        let lacks = |(port, (wanted, held)): (PortId, (&Interval, &Interval))| {
            let wanted = (*wanted).min(most_covered(self.program.port(port)));
            Some(wanted.min(level.max(*held)) - self.covered_lateness(port)?)
        };
        let ports = (0..).map(PortId).take(self.links.len()).zip(wanted.iter().zip(held));
        ports.map(|port| lacks(port).unwrap_or_default()).collect()
    }

    /// The part of the shared pool needed to cover `more` per port.
    fn taken(&self, more: &[Interval]) -> Bytes {
        let ports = self.program.settings().ports.iter().zip(&self.links).zip(more);
        let taken = |((port, link), more): ((&PortSettings, &Link), &Interval)| {
            let groups = port.groups.iter().filter_map(GroupSettings::lossless).count() as u64;
            Bytes(room(port, link, *more, self.cell_occupancy).0.saturating_mul(groups))
        };
        ports.map(taken).sum()
    }

    /// This gateway with each port covering `more`, which must fit.
    fn covering_more(&self, more: &[Interval]) -> Self {
        let taken = self.taken(more);
        let mut settings = self.program.settings().clone();
        let mut links = self.links.clone();
        let Settings { ports, buffer, .. } = &mut settings;
        for ((port, link), more) in ports.iter_mut().zip(&mut links).zip(more) {
            cover(port, link, *more, self.cell_occupancy, buffer);
        }
        let shared = buffer.shared.saturating_sub(taken);
        set_shared(buffer, shared);
        self.with(settings, links)
    }

    /// This gateway with other settings. The callers keep them valid; invalid settings would change nothing.
    pub(crate) fn with(&self, settings: Settings, links: Vec<Link>) -> Self {
        match self.program.with_settings(settings) {
            Ok(program) => Self { program: Arc::new(program), links, ..self.clone() },
            Err(_) => self.clone(),
        }
    }
}

/// The lateness that `port` on `link` covers.
pub(crate) fn covered(port: &PortSettings, link: &Link, cell_occupancy: f64) -> Option<Interval> {
    let least = port.groups.iter().filter_map(GroupSettings::lossless).map(|group| group.headroom).min()?;
    if let Some(lateness) = flow_control::lateness(&port.flow_control) {
        return Some(lateness);
    }
    let stated = link.interface_delay;
    let Some(sum) = link.headroom(port, cell_occupancy) else { return Some(stated) };
    // Headroom beyond the formula covers time too, as long as pauses last until they are refreshed.
    let beyond = least.saturating_sub(sum.total()).0 as f64 / link.late_occupancy(cell_occupancy);
    let beyond = port.rate.serialization().time_within(WireBytes(beyond as u64));
    // In whole microseconds, because a remainder of rounding up covers nothing.
    let beyond = Interval(beyond.0 / 1_000 * 1_000);
    Some(stated.max((stated + beyond).min(refreshed_within(port, port.pfc.pause))))
}

/// The most that `port` can cover with any buffer. A pause must last until it is refreshed at half of its time, or a
/// paused sender would resume while the worker is suspended. The pauses of a scheme need none.
fn most_covered(port: &PortSettings) -> Interval {
    match flow_control::lateness(&port.flow_control) {
        Some(_) => Interval(u64::MAX),
        None => refreshed_within(port, PauseQuanta::MAX),
    }
}

/// The greatest lateness of a worker that refreshes `pause` at half of its time.
fn refreshed_within(port: &PortSettings, pause: PauseQuanta) -> Interval {
    Interval(pause.interval_at(port.rate).0 / 2) - refresh_waits(port)
}

/// The time for which a refresh may wait at the port itself.
fn refresh_waits(port: &PortSettings) -> Interval {
    frame_time(port.rate, port.max_frame) + port.tx_window
}

/// The bytes that arrive while a worker is late by `more`; for a scheme on several lanes, while one is late after another.
fn arriving(port: &PortSettings, link: &Link, more: Interval) -> WireBytes {
    let twice = link.lanes > 1 && flow_control::lateness(&port.flow_control).is_some();
    let more = if twice { more * 2 } else { more };
    WireBytes(port.rate.bytes_in(more) + u64::from(more > Interval::ZERO))
}

/// The room that each lossless group of `port` needs for a worker that is late by `more`.
fn room(port: &PortSettings, link: &Link, more: Interval, cell_occupancy: f64) -> Bytes {
    let arriving = arriving(port, link, more);
    match flow_control::lateness(&port.flow_control) {
        Some(_) => Cells::of_any_mix(arriving).bytes(),
        None => Bytes((arriving.0 as f64 * link.late_occupancy(cell_occupancy)).ceil() as u64),
    }
}

/// Makes room for a worker that is late by `more`.
fn cover(
    port: &mut PortSettings,
    link: &mut Link,
    more: Interval,
    cell_occupancy: f64,
    buffer: &mut BufferSettings,
) {
    let Some(covers) = covered(port, link, cell_occupancy).filter(|_| more > Interval::ZERO) else { return };
    let (room, arriving) = (room(port, link, more, cell_occupancy), arriving(port, link, more));
    let by_headroom = flow_control::lateness(&port.flow_control).is_none();
    if by_headroom {
        link.interface_delay += more;
        let least = (covers + more + refresh_waits(port)) * 2;
        port.pfc.pause = port.pfc.pause.max(PauseQuanta::covering(least, port.rate));
    } else {
        flow_control::provide(port, more, arriving, link.lanes > 1);
    }
    for priority in Priority::all() {
        match port.groups[priority.index()].lossless_mut() {
            Some(group) if by_headroom => {
                group.headroom += room;
                buffer.headroom += room;
            }
            Some(group) => reserve(group, room),
            None => {}
        }
    }
}

fn reserve(group: &mut LosslessGroup, room: Bytes) {
    group.reserved += room;
    if let Threshold::Static(xoff) = &mut group.xoff {
        *xoff += room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::capacity;

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
    const BIFROST: &str = "flow_control = \"bifrost\"\n[[port.lossless]]\npriorities = [3]\n[port.bifrost]\nlateness = \"10us\"";

    const NONE: [Interval; 2] = [Interval::ZERO; 2];

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
        let after = before.covering(&late(1_010), &NONE);
        assert_eq!(after.covered_lateness(LH), Some(Interval::from_micros(1_010)));
        // A millisecond at 10G, by the factor of 1.125 that the formula has.
        assert_eq!(group(&after).headroom, group(&before).headroom + Bytes(1_406_252));
        assert_eq!(group(&after).reserved, group(&before).reserved);
        assert_eq!(memory(&after), memory(&before));
    }

    #[test]
    fn the_buffer_of_bifrost_grows_with_all_that_belongs_to_it() {
        let before = gateway("8MiB", BIFROST);
        let after = before.covering(&late(1_010), &NONE);
        let [was, is] = [&before, &after].map(|it| *it.program.port(LH).bifrost().unwrap());
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
            let after = before.covering(&late(10_000), &NONE);
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
        let after = before.covering(&late(500), &NONE);
        let least = Interval::from_micros(1_000);
        assert!(after.program.port(LH).pfc.pause.interval_at(after.program.port(LH).rate) >= least);
        let most = before.covering(&late(50_000), &NONE).covered_lateness(LH).unwrap();
        assert!(most < Interval(3_355_392 / 2) && most > Interval::from_micros(1_600), "{most}");
    }

    #[test]
    fn what_could_be_covered_is_known_before() {
        let gateway = gateway("2MiB", PFC);
        let told: Vec<_> = gateway.lateness().collect();
        let [(name, covered, most)] = told[..] else { panic!("{told:?}") };
        assert_eq!((name, covered), ("lh0", Interval::from_micros(10)));
        assert_eq!(Some(most), gateway.covering(&late(1_000_000), &NONE).covered_lateness(LH));
        assert!(most > Interval::from_micros(700), "{most}");
    }

    #[test]
    fn a_worker_that_is_as_early_as_configured_changes_nothing() {
        let before = gateway("8MiB", PFC);
        let after = before.covering(&late(10), &NONE);
        assert_eq!(after.program.settings(), before.program.settings());
        assert_eq!(after.links, before.links);
    }

    /// Both ports lossless, at 1G.
    fn two_lossless(shared: &str) -> Gateway {
        let port = |name| {
            format!(
                "[[port]]\nname = \"{name}\"\nrate = \"1G\"\ndistance = \"10m\"\n[[port.lossless]]\npriorities = [3]\n"
            )
        };
        let (lh, dc) = (port("lh0"), port("dc0"));
        crate::parse(&format!("[buffer]\nshared = \"{shared}\"\n{lh}{dc}"), "gw.toml").unwrap()
    }

    #[test]
    fn a_port_that_wants_much_takes_nothing_from_one_that_wants_little() {
        let gateway = two_lossless("1MiB");
        let wanted = [1, 100].map(Interval::from_millis);
        let covers = gateway.covering(&wanted, &NONE);
        let [lh, dc] = [LH, DC].map(|port| covers.covered_lateness(port).unwrap());
        assert_eq!(lh, Interval::from_millis(1));
        assert!(dc > lh && dc < Interval::from_millis(4), "{dc}");
    }

    #[test]
    fn what_is_covered_stays_covered_when_another_port_wants_more() {
        let gateway = two_lossless("1MiB");
        let first = gateway.covering(&[3, 0].map(Interval::from_millis), &NONE);
        let held = [LH, DC].map(|port| first.covered_lateness(port).unwrap());
        assert_eq!(held[0], Interval::from_millis(3));
        let second = gateway.covering(&[3, 100].map(Interval::from_millis), &held);
        assert_eq!(second.covered_lateness(LH), Some(Interval::from_millis(3)));
        assert!(second.covered_lateness(DC).unwrap() < Interval::from_millis(2));
        let smaller = two_lossless("64KiB").covering(&[3, 100].map(Interval::from_millis), &held);
        assert!(
            smaller.covered_lateness(LH).unwrap() < Interval::from_millis(3),
            "another file has less room"
        );
    }

    #[test]
    fn headroom_beyond_its_formula_covers_lateness_and_needs_none_of_the_pool() {
        let stated = format!("{PFC}\nheadroom = \"4MB\"");
        let gateway = gateway("8MiB", &stated);
        let covered = gateway.covered_lateness(LH).unwrap();
        assert!(covered > Interval::from_micros(1_500), "{covered}");
        assert_eq!(gateway.covering(&late(1_000), &NONE).program.settings(), gateway.program.settings());
    }

    #[test]
    fn the_keys_that_are_told_can_be_put_into_the_file() {
        for (rate, scheme) in
            ["1G", "10G", "100G"].into_iter().flat_map(|rate| [(rate, PFC), (rate, BIFROST)])
        {
            let text = |keys: &str, scheme: &str| {
                format!(
                    "[buffer]\nshared = \"64MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"{rate}\"\ndistance = \"80km\"\n{keys}\n{scheme}"
                ) + "\n[[port]]\nname = \"dc0\"\nrate = \"1G\"\n"
            };
            let gateway = crate::parse(&text("", scheme), "gw.toml").unwrap();
            for wanted in [Interval::from_micros(150), Interval::from_millis(150), Interval::from_secs(90)] {
                let keys = gateway.keys_for_lateness(LH, wanted);
                let pinned = match keys.strip_prefix("port.bifrost.") {
                    Some(keys) => text("", &BIFROST_WITH.replace("KEYS", &keys.replace(" and ", "\n"))),
                    None => text(keys.trim_start_matches("port."), scheme),
                };
                let pinned =
                    crate::parse(&pinned, "gw.toml").unwrap_or_else(|error| panic!("{keys}: {error}"));
                let covered = pinned.covered_lateness(LH).unwrap();
                assert!(covered == wanted || !gateway.can_cover(LH, wanted) || wanted > LONGEST, "{covered}");
            }
        }
    }

    const BIFROST_WITH: &str =
        "flow_control = \"bifrost\"\n[[port.lossless]]\npriorities = [3]\n[port.bifrost]\nKEYS";
}
