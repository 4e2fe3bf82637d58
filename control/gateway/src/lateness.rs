//! The lateness of workers, compared to what the buffer covers.
//!
//! The scheduler of a shared core may suspend a worker for any time. Frames that arrive meanwhile need room,
//! which the configuration reserves. If that is too little, the shared pool gives what it can
//! ([`Gateway::covering`]), and the log states what is no longer covered.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use config::Gateway;
use units::{Interval, PortId};

use crate::crew::{self, Member};

/// Measures for `time` the longest suspension of a busy thread on each of `cores`. All cores are busy at
/// once, as with workers.
///
/// # Errors
/// The error of the system if a thread cannot be started.
pub fn measure(cores: &BTreeSet<usize>, time: Duration) -> io::Result<BTreeMap<usize, Interval>> {
    let watch = move |core| {
        worker::pin(core);
        longest_gap(time)
    };
    let threads: Result<Vec<_>, _> =
        cores.iter().copied().map(|core| crew::spawn(core, move || watch(core))).collect();
    let gaps = threads?.into_iter().map(|thread| thread.join().expect("reading a clock does not panic"));
    Ok(cores.iter().copied().zip(gaps).collect())
}

/// The longest time between two reads of the clock.
fn longest_gap(time: Duration) -> Interval {
    let began = Instant::now();
    let (mut last, mut longest) = (began, Duration::ZERO);
    while last - began < time {
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    Interval(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX))
}

/// A core that was suspended for longer than one of its ports covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    core: usize,
    port: PortId,
    away: Interval,
}

/// Tracks the lateness of workers.
pub struct Lateness {
    /// The lateness that each port should cover.
    wanted: Vec<Interval>,
    /// The last warning about each port.
    told: Vec<Option<Instant>>,
    /// Late turns seen so far, by core.
    known: BTreeMap<usize, u64>,
    /// Whether a port should cover more than at the last call of [`Lateness::cover`].
    raised: bool,
}

impl Lateness {
    /// No lateness seen yet, for `ports` ports.
    pub fn new(ports: usize) -> Self {
        let (wanted, told) = (vec![Interval::ZERO; ports], vec![None; ports]);
        Self { wanted, told, known: BTreeMap::new(), raised: false }
    }

    /// The late turns of `members` since the last look that ports of `gateway`, the configuration in force,
    /// do not cover. A turn longer than `stall` counts as `stall`; the crew reports it.
    pub fn look(&mut self, members: &[Member], gateway: &Gateway, stall: Interval) -> Vec<Late> {
        let mut late = Vec::new();
        for member in members {
            let turns = member.monitor.late_turns();
            if self.known.insert(member.core, turns).unwrap_or(0) < turns {
                let away = member.monitor.longest_turn().min(stall);
                late.extend(self.see(member.core, &member.ports, away, gateway));
            }
        }
        late
    }

    /// Notes that the core of `ports` was suspended for `away`. Returns the ports that do not cover that;
    /// they should cover half as much again.
    pub fn see(&mut self, core: usize, ports: &[PortId], away: Interval, gateway: &Gateway) -> Vec<Late> {
        let short = |port: &PortId| gateway.covered_lateness(*port).is_some_and(|covered| covered < away);
        let late: Vec<_> =
            ports.iter().copied().filter(short).map(|port| Late { core, port, away }).collect();
        for Late { port, .. } in &late {
            let wanted = &mut self.wanted[port.index()];
            let more = (*wanted).max(with_margin(away));
            self.raised |= more > *wanted;
            *wanted = more;
        }
        late
    }

    /// Whether a port should cover more than at the last call of [`Lateness::cover`].
    pub fn is_raised(&self) -> bool {
        self.raised
    }

    /// `configured`, with as much room as its buffer can give for the lateness seen. No port covers less than
    /// under `in_force`, if `configured` has room for that.
    pub fn cover(&mut self, configured: &Gateway, in_force: &Gateway) -> Gateway {
        self.raised = false;
        let ports = (0..).map(PortId).take(self.wanted.len());
        let held = ports.map(|port| in_force.covered_lateness(port).unwrap_or_default());
        let held: Vec<_> = held.zip(&self.wanted).map(|(held, wanted)| held.min(*wanted)).collect();
        configured.covering(&self.wanted, &held)
    }

    /// Logs whether `gateway`, now in force, covers `late` workers. It warns of a port once per `control.repeat`.
    pub fn tell(&mut self, late: &[Late], gateway: &Gateway, now: Instant) {
        let again = Duration::from_nanos(gateway.runtime.control.repeat.0);
        for it in late {
            let told = &mut self.told[it.port.index()];
            let wanted = self.wanted[it.port.index()];
            match coverage(it, wanted, gateway) {
                (true, text) => tracing::info!("{text}"),
                (false, text) if told.is_none_or(|told| now - told >= again) => {
                    *told = Some(now);
                    tracing::warn!("{text}");
                }
                _ => {}
            }
        }
    }
}

/// Half as much again, in whole steps of 10 us: the next one may be later still.
fn with_margin(away: Interval) -> Interval {
    const STEP: u64 = 10_000;
    Interval((away.0.saturating_add(away.0 / 2)).div_ceil(STEP).saturating_mul(STEP))
}

/// Whether a port covers a late worker, and the message about it.
fn coverage(late: &Late, wanted: Interval, gateway: &Gateway) -> (bool, String) {
    let Late { core, port, away } = *late;
    let covered = gateway.covered_lateness(port).unwrap_or_default();
    let (name, enough) = (&gateway.program.port(port).name, covered >= away);
    let keys = gateway.keys_for_lateness(port, wanted);
    let text = if enough {
        format!(
            "core {core} was late by {away:#}: port {name} now covers {covered:#}, with room from the shared pool; set \
             {keys} to cover it from the start"
        )
    } else {
        let remedy = match gateway.can_cover(port, away) {
            true => format!(", or raise buffer.shared and set {keys}"),
            false => "; a larger buffer cannot help, because no pause frame lasts longer".into(),
        };
        format!(
            "core {core} was late by {away:#}, but port {name} covers only {covered:#}: lossless frames are lost when its \
             worker is later than that; give the worker its own core (dpdk.cores){remedy}"
        )
    };
    (enough, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LH: PortId = PortId(0);
    const DC: PortId = PortId(1);

    fn gateway(shared: &str) -> Gateway {
        let text = format!(
            "[buffer]\nshared = \"{shared}\"\n[[port]]\nname = \"lh0\"\nrate = \"1G\"\ndistance = \"80km\"\n\
             [[port.lossless]]\npriorities = [3]\n[[port]]\nname = \"dc0\"\nrate = \"1G\"\n"
        );
        config::parse(&text, "gw.toml").unwrap()
    }

    fn millis(count: u64) -> Interval {
        Interval::from_millis(count)
    }

    #[test]
    fn what_a_late_worker_needs_is_taken_from_the_shared_pool_with_half_as_much_again() {
        let configured = gateway("8MiB");
        let mut lateness = Lateness::new(2);
        let late = lateness.see(5, &[LH, DC], millis(4), &configured);
        assert_eq!(late, [Late { core: 5, port: LH, away: millis(4) }], "nothing is lossless at dc0");
        let covers = lateness.cover(&configured, &configured);
        assert_eq!(covers.covered_lateness(LH), Some(millis(6)));
        assert_eq!(lateness.see(5, &[LH, DC], millis(6), &covers), [], "it is covered now");
        assert!(coverage(&late[0], millis(6), &covers).0);
    }

    /// The coverage of port lh0 with this shared pool after its core was suspended for `away`.
    fn told(shared: &str, away: Interval) -> (bool, String) {
        let configured = gateway(shared);
        let mut lateness = Lateness::new(2);
        let late = lateness.see(5, &[LH], away, &configured);
        let covers = lateness.cover(&configured, &configured);
        coverage(&late[0], with_margin(away), &covers)
    }

    #[test]
    fn a_port_that_cannot_be_covered_is_named_with_what_to_do() {
        let (enough, text) = told("128KiB", millis(4));
        assert!(!enough);
        for part in ["core 5 was late by 4.00 ms", "port lh0 covers only", "port.interface_delay = \"6ms\""] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_pool_is_asked_for_room_once_for_each_lateness_that_is_new() {
        let configured = gateway("128KiB");
        let mut lateness = Lateness::new(2);
        lateness.see(5, &[LH], millis(4), &configured);
        assert!(lateness.is_raised());
        let covers = lateness.cover(&configured, &configured);
        assert_eq!(lateness.see(5, &[LH], millis(4), &covers).len(), 1, "it is late still");
        assert!(!lateness.is_raised(), "and no more is wanted");
        lateness.see(5, &[LH], millis(5), &covers);
        assert!(lateness.is_raised());
    }

    #[test]
    fn a_port_that_is_not_covered_is_warned_of_again_after_the_time_that_the_file_states() {
        let text = "[buffer]\nshared = \"128KiB\"\n[control]\nrepeat = \"10s\"\n[[port]]\nname = \"lh0\"\nrate = \"1G\"\n\
                    distance = \"80km\"\nlossless = [{ priorities = [3] }]\n[[port]]\nname = \"dc0\"\nrate = \"1G\"\n";
        let gateway = config::parse(text, "gw.toml").unwrap();
        let mut lateness = Lateness::new(2);
        let late = lateness.see(5, &[LH], millis(4), &gateway);
        let began = Instant::now();
        let is_told = |seconds| {
            let now = began + Duration::from_secs(seconds);
            lateness.tell(&late, &gateway, now);
            lateness.told[LH.index()] == Some(now)
        };
        assert_eq!([0, 9, 10, 19, 20].map(is_told), [true, false, true, false, true]);
    }

    #[test]
    fn a_pause_that_cannot_be_longer_is_named_as_the_limit() {
        // 65,535 quanta are 33.6 ms at 1G, and are refreshed at half of that.
        let (enough, text) = told("64MiB", millis(50));
        assert!(!enough && text.contains("no pause frame lasts longer"), "{text}");
    }

    #[test]
    fn each_core_that_is_asked_for_is_measured() {
        let cores: BTreeSet<usize> = worker::allowed_cores().into_iter().take(1).collect();
        let gaps = measure(&cores, Duration::from_millis(5)).unwrap();
        assert_eq!(gaps.keys().copied().collect::<BTreeSet<_>>(), cores);
    }
}
