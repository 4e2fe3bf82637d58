//! Feedback to the neighbour upstream, so that the buffer has room for its frames.
//!
//! A `Scheme` is its own state machine, in a folder beside its paper. Data wakes it, and at its deadline it
//! gets a `Look` at the switch and gives `Directive`s. It never handles frames: the `PauseSender` of the
//! port turns directives into PFC frames, refreshes them, and alone keeps the state of pauses. The thresholds of
//! the groups (`threshold`) apply beneath every scheme. This file lists the schemes: their settings, errors,
//! state in both directions, and reports.

pub mod bifrost;
pub mod bifrostx;
pub mod capfc;
pub mod cbfc;
mod choice;
mod look;
pub mod p_pfc;
pub(crate) mod pause_time;
pub mod port_grants;
pub mod relay;
mod rota;
mod sender;
mod sequence;
pub(crate) mod threshold;
mod upstream;

pub use choice::{FlowControl, FlowControlError};
pub(crate) use look::{Accounts, Look, OtherLanes};
pub(crate) use sender::{Directive, PauseSender, PauseTimes};
pub use sender::{PauseCause, PausesSent};
pub use sequence::Sequence;
pub(crate) use upstream::Upstream;

use crate::hash::HashKey;
use crate::service::{FrameRoom, Outgoing, Service};
pub(crate) use bifrost::Unrepaired;
use bifrost::{Bifrost, BifrostReport};
use bifrostx::{BifrostX, BifrostXReport};
use capfc::{CaPfc, CaPfcReport};
use cbfc::{CbfcReport, Credits};
use p_pfc::{PPfc, PPfcReport};
pub(crate) use port_grants::{Behind, Upstream as Steering, behind};
use port_grants::{PortGrants, PortGrantsReport};
pub(crate) use relay::PauseEnds;
pub(crate) use relay::settings::validate_together;
use relay::{Relay, RelayReport};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Nanos, PortId, WireBytes};
use wire::ethernet::MacAddress;
use wire::grants::Message;

/// The flow control of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Scheme {
    /// Only the thresholds.
    Pfc,
    Bifrost(Box<Bifrost>),
    BifrostX(Box<BifrostX>),
    Cbfc(Box<Credits>),
    PPfc(Box<PPfc>),
    CaPfc(Box<CaPfc>),
    Relay(Box<Relay>),
    PortGrants(Box<PortGrants>),
}

impl Scheme {
    /// The flow control of a port of `rate`, which `look` shows, in a switch whose key is `key`.
    pub fn new(settings: FlowControl, rate: BitRate, key: HashKey, look: Look<'_>) -> Self {
        match settings {
            FlowControl::Pfc => Self::Pfc,
            FlowControl::Bifrost(bifrost) => Self::Bifrost(Box::new(Bifrost::new(bifrost, rate, look))),
            FlowControl::BifrostX(bifrost) => Self::BifrostX(Box::new(BifrostX::new(bifrost, rate, look))),
            FlowControl::Cbfc(cbfc) => Self::Cbfc(Box::new(Credits::new(cbfc, look))),
            FlowControl::PPfc(p_pfc) => Self::PPfc(Box::new(PPfc::new(p_pfc, rate, key, look))),
            FlowControl::CaPfc(capfc) => Self::CaPfc(Box::new(CaPfc::new(capfc, rate))),
            FlowControl::Relay(relay) => Self::Relay(Box::new(Relay::new(relay))),
            FlowControl::PortGrants(it) => Self::PortGrants(Box::new(PortGrants::new(it, rate, look))),
        }
    }

    /// Applies new settings. A scheme of another kind, or one that cannot take them over, restarts. Returns whether
    /// it did.
    pub fn configure(&mut self, settings: FlowControl, rate: BitRate, key: HashKey, look: Look<'_>) -> bool {
        match (&mut *self, settings) {
            (Self::Pfc, FlowControl::Pfc) => false,
            (Self::Bifrost(bifrost), FlowControl::Bifrost(new)) => bifrost.configure(new, rate, look),
            (Self::BifrostX(bifrost), FlowControl::BifrostX(new)) => bifrost.configure(new, rate, look),
            (Self::Cbfc(credits), FlowControl::Cbfc(new)) => credits.configure(new, look),
            (Self::PPfc(p_pfc), FlowControl::PPfc(new)) => p_pfc.configure(new, rate, key),
            (Self::PortGrants(it), FlowControl::PortGrants(new)) => it.configure(new, rate, look),
            (Self::CaPfc(capfc), FlowControl::CaPfc(new)) => capfc.configure(new, rate),
            (Self::Relay(relay), FlowControl::Relay(new)) => relay.configure(new),
            _ => {
                *self = Self::new(settings, rate, key, look);
                true
            }
        }
    }

    /// Learns what is behind the ports of the switch, from its routes.
    pub fn learn(&mut self, behind: &Arc<Behind>, look: Look<'_>) {
        if let Self::PortGrants(it) = self {
            it.learn(behind, look);
        }
    }

    /// Whether it has deadlines or messages of its own.
    pub fn acts(&self) -> bool {
        !matches!(self, Self::Pfc)
    }

    /// Whether it sleeps until data comes in, and needs [`Scheme::wake`].
    #[inline]
    pub fn wakes(&self) -> bool {
        !matches!(self, Self::Pfc | Self::Relay(_))
    }

    /// Wakes it, because data came in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        match self {
            Self::Pfc | Self::Relay(_) => {}
            Self::Bifrost(bifrost) => bifrost.wake(now),
            Self::BifrostX(bifrost) => bifrost.wake(now),
            Self::Cbfc(credits) => credits.wake(now),
            Self::PPfc(p_pfc) => p_pfc.wake(now),
            Self::CaPfc(capfc) => capfc.wake(now),
            Self::PortGrants(it) => it.wake(now),
        }
    }

    /// Takes what a repaired port does not have yet.
    pub fn note_unrepaired(&mut self, unrepaired: Unrepaired) {
        if let Self::Bifrost(bifrost) = self {
            bifrost.note_unrepaired(unrepaired);
        }
    }

    /// As [`Scheme::wake`], where `received` has come in before, on other lanes.
    pub fn wake_behind(&mut self, now: Nanos, received: WireBytes) {
        match self {
            Self::Bifrost(bifrost) => bifrost.wake_behind(now, received),
            _ => self.wake(now),
        }
    }

    /// The time of its next call.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        match self {
            Self::Pfc => Nanos::NEVER,
            Self::Bifrost(bifrost) => bifrost.deadline(),
            Self::BifrostX(bifrost) => bifrost.deadline(),
            Self::Cbfc(credits) => credits.next,
            Self::PPfc(p_pfc) => p_pfc.next,
            Self::CaPfc(capfc) => capfc.next,
            Self::Relay(relay) => relay.next,
            Self::PortGrants(it) => it.deadline(),
        }
    }

    /// Runs it at its deadline, and gives its directives to `pauses`.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>, pauses: &mut PauseSender) {
        let mut follow =
            |directive: Option<Directive>| directive.into_iter().for_each(|it| pauses.follow(it));
        match self {
            Self::Pfc => {}
            Self::Bifrost(bifrost) => follow(bifrost.on_deadline(now, look)),
            Self::BifrostX(bifrost) => follow(bifrost.on_deadline(now, look)),
            Self::Cbfc(credits) => credits.on_deadline(now, look),
            Self::PPfc(p_pfc) => p_pfc.on_deadline(now, look, pauses),
            Self::CaPfc(capfc) => capfc.on_deadline(now, look, pauses),
            Self::Relay(relay) => follow(Some(relay.on_deadline(now, look))),
            Self::PortGrants(it) => follow(it.on_deadline(now, look)),
        }
    }

    /// The port whose received pauses it acts on, if it does: it must hear of each change there.
    pub fn listens_to(&self) -> Option<PortId> {
        if let Self::Relay(relay) = self { Some(relay.settings.from) } else { None }
    }

    /// Takes the pauses in force at the port that it listens to.
    pub fn hear_pauses(&mut self, now: Nanos, ends: &PauseEnds) {
        if let Self::Relay(relay) = self {
            relay.hear_pauses(now, ends);
        }
    }

    /// Takes a message that came in through the port, in the format of the scheme.
    pub fn hear(&mut self, now: Nanos, message: &Message, look: Look<'_>) {
        match (self, message) {
            (Self::BifrostX(bifrost), Message::Slot(slot)) => bifrost.hear(now, &slot.head),
            (Self::PortGrants(it), Message::FarPort(grants)) => it.hear(now, &grants.head),
            (Self::Cbfc(credits), Message::Credit(credit)) => credits.hear(now, credit, look),
            _ => {}
        }
    }

    /// The session in which it speaks; zero if its messages have none.
    pub fn session(&self) -> u32 {
        if let Self::Cbfc(credits) = self { credits.session } else { 0 }
    }

    /// Its report, with what the `upstream` side of the same port has counted.
    pub fn report(&self, upstream: Option<&Upstream>) -> SchemeReport {
        match (self, upstream) {
            (Self::Pfc, _) => SchemeReport::Pfc,
            (Self::Bifrost(bifrost), _) => SchemeReport::Bifrost(bifrost.report()),
            (Self::PPfc(p_pfc), _) => SchemeReport::PPfc(p_pfc.report),
            (Self::CaPfc(capfc), _) => SchemeReport::CaPfc(capfc.report),
            (Self::Relay(relay), _) => SchemeReport::Relay(relay.report),
            (Self::BifrostX(bifrost), Some(Upstream::BifrostX(it))) => {
                SchemeReport::BifrostX(bifrost.report(it.counters()))
            }
            (Self::Cbfc(credits), Some(Upstream::Cbfc(it))) => {
                SchemeReport::Cbfc(credits.report(it.numbers()))
            }
            (Self::PortGrants(grants), Some(Upstream::PortGrants(it))) => {
                SchemeReport::PortGrants(grants.report(it.counters()))
            }
            // Both sides of a port have the same scheme.
            (Self::BifrostX(_) | Self::Cbfc(_) | Self::PortGrants(_), _) => SchemeReport::Pfc,
        }
    }
}

/// Its messages wait for the link alone.
impl Service for Scheme {
    #[inline]
    fn frame_due(&self) -> Nanos {
        let has_message = match self {
            Self::BifrostX(bifrost) => bifrost.message.is_some(),
            Self::Cbfc(credits) => credits.has_message,
            Self::PortGrants(it) => it.has_message(),
            _ => false,
        };
        if has_message { Nanos::ZERO } else { Nanos::NEVER }
    }

    fn next_frame(
        &mut self,
        _: Nanos,
        source: MacAddress,
        outgoing: &Outgoing,
        frame: &mut FrameRoom,
    ) -> Option<usize> {
        let message = match self {
            Self::BifrostX(bifrost) => bifrost.message.take().map(Message::Slot),
            Self::Cbfc(credits) => credits.take_message(outgoing.sent).map(Message::Credit),
            Self::PortGrants(it) => it.take_message(),
            _ => None,
        };
        message?.emit(source, frame).ok()
    }

    fn sent(&mut self, _: Nanos) {}
}

/// The report of the flow control of one port, as plain data.
#[expect(
    clippy::large_enum_variant,
    reason = "an inspection has room for any of them, and copies it in place"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SchemeReport {
    /// Thresholds have no figures beyond those of the groups.
    #[default]
    Pfc,
    /// Bifrost.
    Bifrost(BifrostReport),
    /// BifrostX.
    BifrostX(BifrostXReport),
    /// Credits.
    Cbfc(CbfcReport),
    /// P-PFC.
    PPfc(PPfcReport),
    /// CaPFC.
    CaPfc(CaPfcReport),
    /// A relay.
    Relay(RelayReport),
    /// Port grants.
    PortGrants(PortGrantsReport),
}

impl SchemeReport {
    /// The slots, where Bifrost, BifrostX or port grants run.
    pub fn bifrost(&self) -> Option<&BifrostReport> {
        match self {
            Self::Bifrost(report) => Some(report),
            Self::BifrostX(report) => Some(&report.slots),
            Self::PortGrants(report) => Some(&report.slots),
            _ => None,
        }
    }

    /// BifrostX, where it runs.
    pub fn bifrostx(&self) -> Option<&BifrostXReport> {
        if let Self::BifrostX(report) = self { Some(report) } else { None }
    }

    /// Port grants, where they run.
    pub fn port_grants(&self) -> Option<&PortGrantsReport> {
        if let Self::PortGrants(report) = self { Some(report) } else { None }
    }

    /// Credits, where they run.
    pub fn cbfc(&self) -> Option<&CbfcReport> {
        if let Self::Cbfc(report) = self { Some(report) } else { None }
    }

    /// P-PFC, where it runs.
    pub fn p_pfc(&self) -> Option<&PPfcReport> {
        if let Self::PPfc(report) = self { Some(report) } else { None }
    }

    /// CaPFC, where it runs.
    pub fn capfc(&self) -> Option<&CaPfcReport> {
        if let Self::CaPfc(report) = self { Some(report) } else { None }
    }

    /// A relay, where one runs.
    pub fn relay(&self) -> Option<&RelayReport> {
        if let Self::Relay(report) = self { Some(report) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::bifrost::settings::{self, BifrostError};
    use super::*;
    use crate::ledger::{Ledger, Volume};
    use core::num::NonZeroU32;
    use units::{Bytes, Interval, PauseQuanta, PortId, Priority, PrioritySet, WireBytes};

    /// A byte a nanosecond.
    const RATE: BitRate = BitRate::gigabits(8);
    const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(Priority::from_low_bits(3));

    /// Bifrost with slots of 1,000 bytes.
    fn bifrost(buffer: u64) -> FlowControl {
        FlowControl::Bifrost(settings::Bifrost {
            buffer: WireBytes(buffer),
            slot: Interval(1_000),
            round_trip: Interval(3_000),
            check_every: NonZeroU32::MIN,
            virtual_incoming: settings::VirtualIncoming::Counter,
            holdover: Interval::ZERO,
            lateness: Interval::ZERO,
        })
    }

    /// Shows `use_look` a port through which nothing has come.
    fn at_rest<T>(use_look: impl FnOnce(Look<'_>) -> T) -> T {
        let (ledger, received) = (Ledger::new(1, 1), [Volume::ZERO; Priority::COUNT]);
        use_look(Look {
            port: PortId(0),
            lossless: LOSSLESS,
            received: &received,
            accounts: (&ledger).into(),
            shared_free: Bytes::ZERO,
            shared_held: Bytes::ZERO,
            holding: PrioritySet::EMPTY,
        })
    }

    #[test]
    fn a_scheme_restarts_for_settings_of_another_kind_and_for_those_that_it_cannot_take_over() {
        let all = [FlowControl::Pfc, bifrost(20_000), bifrost(30_000)];
        for (old, new) in all.into_iter().flat_map(|old| all.map(|new| (old, new))) {
            let (restarted, report) = at_rest(|look| {
                let mut scheme = Scheme::new(old, RATE, HashKey::from(1), look);
                (scheme.configure(new, RATE, HashKey::from(1), look), scheme.report(None))
            });
            assert_eq!(restarted, old != new, "{old:?} {new:?}");
            assert_eq!(report.bifrost().is_some(), new.bifrost().is_some(), "{old:?} {new:?}");
        }
    }

    #[test]
    fn thresholds_need_no_call_and_bifrost_ends_a_slot_after_it_was_woken() {
        at_rest(|look| {
            let mut thresholds = Scheme::new(FlowControl::Pfc, RATE, HashKey::from(1), look);
            thresholds.wake(Nanos(5));
            assert_eq!((thresholds.wakes(), thresholds.deadline()), (false, Nanos::NEVER));
            let mut pauses = PauseSender::new(PauseQuanta(10), RATE);
            thresholds.on_deadline(Nanos(1_005), look, &mut pauses);
            assert_eq!(pauses.deadline(), Nanos::NEVER);
            assert_eq!(thresholds.report(None), SchemeReport::Pfc);

            // A round trip and a slot may come in, which leaves room for 600 bytes of the next slot.
            let mut bifrost = Scheme::new(bifrost(4_600), RATE, HashKey::from(1), look);
            assert_eq!((bifrost.wakes(), bifrost.deadline()), (true, Nanos::NEVER));
            bifrost.wake(Nanos(5));
            assert_eq!(bifrost.deadline(), Nanos(1_005));
            bifrost.on_deadline(Nanos(1_005), look, &mut pauses);
            let times = pauses.take_due(Nanos(1_005), Nanos(1_005));
            // 400 ns, in quanta of 64.
            assert_eq!((times[3], times.iter().flatten().count()), (Some(PauseQuanta(7)), 1));
            let report = bifrost.report(None);
            let slots = report.bifrost().map(|it| (it.slots.slots, it.slots.granted));
            assert_eq!(slots, Some((1, WireBytes(600))));
        });
    }

    #[test]
    fn the_settings_of_a_scheme_are_checked_and_thresholds_have_none() {
        let validate =
            |flow_control: FlowControl| flow_control.validate(RATE, Bytes(1_500), PrioritySet::EMPTY);
        assert_eq!(validate(FlowControl::Pfc), Ok(()));
        assert_eq!(validate(bifrost(20_000)), Err(BifrostError::NoLossless.into()));
        let slot = |flow_control: FlowControl| flow_control.bifrost().map(|it| it.slot);
        assert_eq!([FlowControl::Pfc, bifrost(20_000)].map(slot), [None, Some(Interval(1_000))]);
    }
}
