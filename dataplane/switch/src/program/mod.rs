//! One immutable, validated configuration.
//!
//! [`Settings`] is plain data, made by the reader of a configuration. [`Program::new`] checks it once, at the edge;
//! past that point no code can meet an invalid value.

mod bundle;
mod classification;
mod error;
mod forwarding;
mod members;
mod orientation;
mod port;
mod remap;
mod settings;
mod validate;
mod watchdog;

pub use crate::congestion::lscc::settings::{Feedback, Lscc, RateCalculation, RateLimiting};
pub use crate::congestion::notifier::{Notifier, NotifierError};
pub use crate::congestion::red::settings::{MarkAt, Red};
pub use crate::flow_control::bifrost::settings::{Bifrost, BifrostError, BufferTerms, VirtualIncoming};
pub use crate::flow_control::{FlowControl, FlowControlError};
pub use crate::flows::settings::FlowSettings;
pub use bundle::{BundleError, Membership};
pub use classification::{Classification, Trust};
pub use error::{GroupError, NotLive, PortError, ProgramError, QueueError};
pub use forwarding::{
    BridgeSettings, ForwardingSettings, KernelPath, LearnedRoute, Neighbour, Route, RouteSettings,
};
pub use orientation::{Orientation, Remap};
pub(crate) use port::longest_quantum;
pub use port::{
    DynamicThreshold, GroupSettings, LosslessGroup, LossyQueue, PfcSettings, PortSettings, QueueSettings,
    RateLimit, Scheduling, Threshold,
};
pub use remap::RemapError;
pub use settings::{BufferSettings, Packing, Settings};
pub use watchdog::{Watchdog, WatchdogAction};

use crate::bundle::Bundles;
use crate::flow_control::{Behind, behind};
use crate::forwarding::{Addresses, Bounces, Forwarding};
use crate::hash::HashKey;
use core::net::IpAddr;
use std::sync::Arc;
use units::{PortId, PortSet, Priority};

/// A valid configuration, with the tables that follow from it. It takes time and memory to build and drop, but none
/// to use.
pub struct Program {
    settings: Settings,
    forwarding: Forwarding,
    /// The addresses for which each port answers.
    addresses: Vec<Addresses>,
    /// The destinations behind the other ports that the other end of each port may know.
    behind: Vec<Arc<Behind>>,
    /// The bounces from each port, where frames are remapped.
    bounces: Vec<Option<Bounces>>,
    keeps_flows: bool,
    bundles: Option<Arc<Bundles>>,
    /// The team of each port.
    teams: Vec<PortSet>,
    hash_key: HashKey,
}

impl core::fmt::Debug for Program {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Program").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Program {
    /// Checks `settings`.
    ///
    /// # Errors
    /// [`ProgramError`]: the first invalid setting, with its port and priority.
    pub fn new(settings: Settings) -> Result<Self, ProgramError> {
        validate::validate(&settings)?;
        let ports = || (0..settings.ports.len() as u16).map(PortId);
        let behind = ports().map(|port| Arc::new(behind(&settings, port))).collect();
        let bundles = Bundles::new(&settings).map(Arc::new);
        Ok(Self {
            forwarding: Forwarding::new(&settings, bundles.as_ref()),
            bundles,
            behind,
            addresses: ports().map(|port| Addresses::new(port, &settings)).collect(),
            bounces: ports().map(|port| Bounces::new(port, &settings)).collect(),
            keeps_flows: settings.ports.iter().any(|port| port.flows().is_some()),
            teams: ports().map(|port| settings.team(port)).collect(),
            hash_key: HashKey::from(settings.seed),
            settings,
        })
    }

    /// Sets the hash key of its tables, which a switch on the wire keeps secret. Otherwise the key follows from the
    /// seed.
    #[must_use]
    pub fn with_hash_key(self, key: HashKey) -> Self {
        Self { hash_key: key, ..self }
    }

    /// Checks other `settings`, for a program with the hash key of this one.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn with_settings(&self, settings: Settings) -> Result<Self, ProgramError> {
        Ok(Self::new(settings)?.with_hash_key(self.hash_key))
    }

    /// The settings that it was made of.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings of one port.
    pub fn port(&self, port: PortId) -> &PortSettings {
        &self.settings.ports[port.index()]
    }

    /// The ports through which frames for `address` leave, by the routes; `None` on a bridge or patch.
    pub fn ports_toward(&self, address: IpAddr) -> Option<PortSet> {
        Some(self.forwarding.routes()?.ports_toward(address))
    }

    /// The priority of the queue in which frames that came in through `ingress` by `priority` wait at `egress`:
    /// another one if they bounce and are remapped. Copies of flooded lossless frames are not told apart: they are charged to
    /// a lossy priority, and wait in the queue of the frame.
    pub fn queue_of(&self, ingress: PortId, egress: PortId, priority: Priority) -> Priority {
        self.bounces(ingress).map_or(priority, |bounces| bounces.queue(egress, priority))
    }

    /// The bounces from `port`; `None` if nothing is remapped there.
    #[inline]
    pub(crate) fn bounces(&self, port: PortId) -> Option<&Bounces> {
        self.bounces[port.index()].as_ref()
    }

    pub(crate) fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    pub(crate) fn hash_key(&self) -> HashKey {
        self.hash_key
    }

    /// Its bundles, if it has any.
    #[inline]
    pub(crate) fn bundles(&self) -> Option<&Arc<Bundles>> {
        self.bundles.as_ref()
    }

    /// Whether any port keeps flows for a scheme that notifies senders.
    #[inline]
    pub(crate) fn keeps_flows(&self) -> bool {
        self.keeps_flows
    }

    pub(crate) fn behind(&self, port: PortId) -> &Arc<Behind> {
        &self.behind[port.index()]
    }

    #[inline]
    pub(crate) fn addresses(&self, port: PortId) -> &Addresses {
        &self.addresses[port.index()]
    }

    /// Checks that it can replace `old` while frames are inside.
    ///
    /// # Errors
    /// [`NotLive`] names the setting that cannot change while the switch runs: the ports, their names, the
    /// priorities of their queues, and their bundles.
    pub fn can_replace(&self, old: &Self) -> Result<(), NotLive> {
        let (new, old) = (&self.settings, &old.settings);
        if new.ports.len() != old.ports.len() {
            return Err(NotLive::PortCount { running: old.ports.len(), wanted: new.ports.len() });
        }
        if let Some((running, wanted)) =
            old.ports.iter().zip(&new.ports).find(|(running, wanted)| running.name != wanted.name)
        {
            return Err(NotLive::PortName { running: running.name.clone(), wanted: wanted.name.clone() });
        }
        let both = || old.ports.iter().zip(&new.ports);
        let moved = |(running, wanted): &(&PortSettings, &PortSettings)| {
            let bundle = |port: &PortSettings| port.bundle.as_ref().map(|it| (it.bundle.clone(), it.head));
            // The other end takes hellos of its neighbour alone, as long as neither end starts anew.
            let place = |port: &PortSettings| port.bundle.as_ref()?.liveness?.place();
            let is_other =
                place(running).zip(place(wanted)).is_some_and(|(running, wanted)| running != wanted);
            is_other || bundle(running) != bundle(wanted)
        };
        if let Some((running, _)) = both().find(moved) {
            return Err(NotLive::Bundle { port: running.name.clone() });
        }
        let differ = |(running, wanted): &(&PortSettings, &PortSettings)| {
            running.queues.iter().map(|it| it.priority).ne(wanted.queues.iter().map(|it| it.priority))
        };
        if let Some((running, _)) = both().find(differ) {
            return Err(NotLive::Queues { port: running.name.clone() });
        }
        Ok(())
    }

    /// Checks that one core can have the ports `owned`, and no others: that each of them exchanges frames and pauses with none
    /// but them ([`Settings::team`]).
    ///
    /// # Errors
    /// [`NotLive::Team`]: two ports that have to be on one core.
    pub fn has_whole_teams(&self, owned: PortSet) -> Result<(), NotLive> {
        let name = |port: PortId| self.port(port).name.clone();
        let stranger = |port: PortId| self.teams[port.index()].iter().find(|other| !owned.contains(*other));
        match owned.iter().find_map(|port| Some((port, stranger(port)?))) {
            Some((port, other)) => Err(NotLive::Team { port: name(port), other: name(other) }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Notifiers;
    use crate::flow_control::relay::settings::Relay;
    use units::{BitRate, Bytes, WireBytes};
    use wire::ethernet::MacAddress;

    const RATE: BitRate = BitRate::gigabits(8);

    fn port() -> PortSettings {
        PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), RATE)
    }

    fn settings(port: PortSettings, forwarding: ForwardingSettings) -> Settings {
        let pool = Bytes(1 << 20);
        let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
        Settings { ports: vec![port], buffer, forwarding, seed: 5 }
    }

    fn patch() -> ForwardingSettings {
        ForwardingSettings::Patch(Vec::new())
    }

    #[test]
    fn the_key_follows_from_the_seed_until_it_is_set_and_then_stays_with_new_settings() {
        let seeded = Program::new(settings(port(), patch())).unwrap();
        assert_eq!(seeded.hash_key(), HashKey::from(5));
        let key = HashKey::new([7; 16]);
        let keyed = seeded.with_hash_key(key);
        assert_eq!(keyed.hash_key(), key);
        assert_eq!(keyed.with_settings(settings(port(), patch())).unwrap().hash_key(), key);
    }

    #[test]
    fn flows_are_kept_where_a_port_has_lscc() {
        let mut lscc = Lscc::PLAIN;
        (lscc.calculation.reference, lscc.calculation.most) = (WireBytes(1), RATE);
        (lscc.limiting.reference, lscc.limiting.long_flow) = (WireBytes(1), Some(WireBytes(1_000_000)));
        let mut with_lscc =
            PortSettings { notifiers: Notifiers { lscc: Some(lscc), ..Default::default() }, ..port() };
        with_lscc.groups[3] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(1_600)),
            xon: Bytes::ZERO,
            xon_offset: Bytes::ZERO,
            headroom: Bytes::ZERO,
        });
        assert_eq!(with_lscc.flows(), Some(lscc.flows(RATE)));
        let keeps = |port| Program::new(settings(port, patch())).unwrap().keeps_flows();
        assert_eq!((keeps(with_lscc), keeps(port())), (true, false));
    }

    #[test]
    fn routes_alone_say_through_which_ports_an_address_is_reached() {
        let [here, elsewhere] = ["10.0.0.1", "10.0.0.2"].map(|it| it.parse::<IpAddr>().unwrap());
        let mac = MacAddress([2, 0, 0, 0, 0, 2]);
        let neighbours = vec![Neighbour { address: here, mac, port: PortId(0) }];
        let routes = ForwardingSettings::Route(RouteSettings { neighbours, ..Default::default() });
        let toward =
            |forwarding, address| Program::new(settings(port(), forwarding)).unwrap().ports_toward(address);
        assert_eq!(toward(routes.clone(), here), Some([PortId(0)].into_iter().collect()));
        assert_eq!(toward(routes, elsewhere), Some(PortSet::EMPTY));
        assert_eq!(toward(patch(), here), None);
    }

    #[test]
    fn a_core_has_all_ports_that_exchange_frames_or_none_of_them() {
        let lossless = LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(10_000)),
            xon: Bytes(5_000),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(10_000),
        };
        let program = |forwarding, joined: bool| {
            let mut ports = vec![port(); 6];
            for (number, port) in (0..).zip(&mut ports) {
                (port.name, port.mac) = (number.to_string(), MacAddress([2, 0, 0, 0, 0, number]));
            }
            if joined {
                ports[4].groups[3] = GroupSettings::Lossless(lossless);
                ports[4].flow_control = FlowControl::Relay(Relay { from: PortId(1) });
            }
            let pool = Bytes(1 << 20);
            let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
            Program::new(Settings { ports, buffer, forwarding, seed: 1 }).unwrap()
        };
        let patch = || ForwardingSettings::Patch(vec![(PortId(0), PortId(1)), (PortId(3), PortId(2))]);
        let whole = |program: &Program, owned: &[u16]| {
            program.has_whole_teams(owned.iter().copied().map(PortId).collect())
        };
        let apart = |port: &str, other: &str| Err(NotLive::Team { port: port.into(), other: other.into() });
        let pairs = program(patch(), false);
        for owned in [&[][..], &[0, 1], &[2, 3], &[4], &[0, 1, 5], &[0, 1, 2, 3, 4, 5]] {
            assert_eq!(whole(&pairs, owned), Ok(()), "{owned:?}");
        }
        assert_eq!(whole(&pairs, &[0, 2, 3]), apart("0", "1"));
        let relayed = program(patch(), true);
        assert_eq!(whole(&relayed, &[0, 1]), apart("0", "4"));
        assert_eq!(whole(&relayed, &[0, 1, 4]), Ok(()));
        let bridge = program(ForwardingSettings::Bridge(BridgeSettings::default()), false);
        assert_eq!(whole(&bridge, &[0, 1, 2, 3, 4]), apart("0", "5"));
        assert_eq!(whole(&bridge, &[0, 1, 2, 3, 4, 5]), Ok(()));
    }
}
