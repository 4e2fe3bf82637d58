//! Whatever a port hears and sends, its gate and its deadline agree, and a driver that calls at each deadline gets on.

use crate::egress::gate::*;
use crate::flow_control::FlowControl;
use crate::flow_control::bifrost::settings::{Bifrost, VirtualIncoming};
use crate::flow_control::cbfc::settings::{Cbfc, Counter};
use crate::flow_control::port_grants::settings::PortGrants;
use crate::program::{GroupSettings, LosslessGroup, QueueSettings, RateLimit, Threshold};
use crate::service::Outgoing;
use core::num::NonZeroU32;
use proptest::prelude::*;
use units::{BitRate, PauseQuanta};
use wire::ethernet::MacAddress;
use wire::grants::slot::{Head, Kind};
use wire::grants::{Message, behind, credit, far_port, slot};

const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
const FAR_PORTS: u8 = 2;
/// More deadlines in a row than a gate can have while nothing comes and nothing is sent: for each queue the ends of a pause,
/// of a shaper, of a grant and of silence.
const DEADLINES: usize = 64;

/// A step of a port's life.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    WaitForDeadline,
    Hear(Message),
    Pause(Priority, u16),
    Send(u64),
    Ignore(bool),
    Configure(u64),
}

/// The values of a field of 32 bits that a forger would try.
fn extreme() -> BoxedStrategy<u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX), Just(u32::MAX / 2), any::<u32>(), 0_u32..100_000].boxed()
}

/// Numbers that are near each other, or far from all others.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..200, extreme()]
}

fn head() -> BoxedStrategy<Head> {
    let kind = prop::sample::select(vec![Kind::Pauses, Kind::Grant, Kind::Free]);
    let priorities = prop_oneof![Just(0xff), Just(0x18), any::<u8>()];
    (kind, any::<bool>(), priorities, number(), extreme(), extreme())
        .prop_map(|(kind, follows, priorities, sequence, slot, total)| Head {
            kind,
            follows,
            priorities: PrioritySet::from_bits(priorities),
            sequence,
            slot: Interval(slot.into()),
            total: WireBytes(total.into()),
        })
        .boxed()
}

fn message() -> BoxedStrategy<Message> {
    let bytes = |value: u32| WireBytes(value.into());
    let slot = (head(), prop::array::uniform8(extreme()))
        .prop_map(move |(head, each)| Message::Slot(slot::Message { head, each: each.map(bytes) }));
    let far_port = (head(), 0..=far_port::MOST, prop::array::uniform14(extreme())).prop_map(
        move |(head, count, each)| {
            let each = core::array::from_fn(|index| bytes(if index < count { each[index] } else { 0 }));
            Message::FarPort(far_port::Message { head, count: count as u8, each })
        },
    );
    let credit = (any::<u8>(), number(), 1_u32..3, 0_u32..3, prop::array::uniform8(extreme())).prop_map(
        move |(priorities, sequence, session, echo, limit)| {
            let priorities = PrioritySet::from_bits(priorities);
            let (counter, sent) = (Counter::Wide, limit.map(bytes));
            Message::Credit(credit::Message { counter, priorities, sequence, session, echo, sent, limit })
        },
    );
    let page = (number(), 0_u8..=14).prop_map(|(edition, port)| {
        let all = behind::Destination { address: [0, 0, 0, 0].into(), length: 0, port };
        Message::Behind(behind::Message::new(edition, 0, 1, &[all]))
    });
    prop_oneof![slot.boxed(), far_port.boxed(), credit.boxed(), page.boxed()].boxed()
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop_oneof![0_u64..30_000, 0_u64..2_000_000_000].prop_map(Step::Wait),
        Just(Step::WaitForDeadline),
        message().prop_map(Step::Hear),
        message().prop_map(Step::Hear),
        (prop::sample::select(vec![P3, P4]), any::<u16>()).prop_map(|(it, time)| Step::Pause(it, time)),
        (64_u64..9_240).prop_map(Step::Send),
        any::<bool>().prop_map(Step::Ignore),
        (10_000_u64..3_000_000_000).prop_map(Step::Configure),
    ]
}

/// Port of a byte a nanosecond with shapers for all of it and for priority 4, and with this scheme.
fn settings(flow_control: FlowControl) -> PortSettings {
    let mut settings = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
    let group = LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: Threshold::Static(Bytes(10_000)),
        xon: Bytes(5_000),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(10_000),
    };
    for priority in [P3, P4] {
        settings.groups[priority.index()] = GroupSettings::Lossless(group);
    }
    settings.pfc.obey = settings.lossless();
    let limit = |gigabits| Some(RateLimit { rate: BitRate::gigabits(gigabits), burst: Bytes(3_000) });
    (settings.rate_limit, settings.queues[P4.index()].rate_limit) = (limit(6), limit(2));
    settings.flow_control = flow_control;
    if let FlowControl::PortGrants(it) = flow_control {
        let base = settings.queues[P3.index()];
        let added = it.queues(settings.lossless()).map(|priority| QueueSettings { priority, ..base });
        settings.queues.extend(added);
    }
    settings
}

/// Slots of 10 us and this round trip.
fn slots(round_trip: u64) -> Bifrost {
    Bifrost {
        buffer: WireBytes(1 << 30),
        slot: Interval(10_000),
        round_trip: Interval(round_trip),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    }
}

fn schemes(round_trip: u64) -> [FlowControl; 4] {
    let credits = Cbfc { buffer: WireBytes(1 << 20), interval: Interval(10_000), counter: Counter::Wide };
    let far_ports = PortGrants { slots: slots(round_trip), far_ports: FAR_PORTS };
    [
        FlowControl::Pfc,
        FlowControl::BifrostX(slots(round_trip)),
        FlowControl::Cbfc(credits),
        FlowControl::PortGrants(far_ports),
    ]
}

/// A port whose queues all hold frames.
struct Port {
    now: Nanos,
    scheme: usize,
    settings: PortSettings,
    gate: Gate,
    waiting: QueueSet,
}

impl Port {
    fn new(scheme: usize) -> Self {
        let settings = settings(schemes(80_000)[scheme]);
        let waiting = QueueSet::first(settings.queues.len());
        Self { now: Nanos(1), scheme, gate: Gate::new(&settings), settings, waiting }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Wait(time) => self.now += Interval(*time),
            Step::WaitForDeadline => {
                let open = self.gate.open(self.now, self.waiting);
                let deadline = self.gate.opens_at(self.waiting.difference(open));
                self.now = if deadline == Nanos::NEVER { self.now } else { deadline.max(self.now) };
            }
            Step::Hear(message) => {
                if let Some(upstream) = self.gate.upstream.as_mut().filter(|it| it.understands(message)) {
                    upstream.receive(self.now, message, 1, &Outgoing::default());
                    upstream.note_waiting(self.waiting);
                }
            }
            Step::Pause(priority, time) => self.gate.pauses.stop(self.now, *priority, PauseQuanta(*time)),
            Step::Send(bytes) => {
                for queue in self.gate.open(self.now, self.waiting).iter().take(3) {
                    let mut opening = self.gate.opening(self.now, queue);
                    opening.pass(WireBytes(*bytes));
                    opening.close();
                }
            }
            Step::Ignore(all) => {
                self.gate.pauses.ignore(self.now, if *all { self.waiting } else { QueueSet::EMPTY });
            }
            Step::Configure(round_trip) => {
                let new = settings(schemes(*round_trip)[self.scheme]);
                self.gate.configure(self.now, &self.settings, &new);
                self.settings = new;
            }
        }
    }

    /// Asserts that a queue is closed now exactly if it has a deadline, and that the deadline is later.
    fn assert_agrees(&mut self) -> Result<QueueSet, TestCaseError> {
        let open = self.gate.open(self.now, self.waiting);
        for queue in self.waiting.iter() {
            let opens_at = self.gate.opens_at(QueueSet::EMPTY.with(queue));
            let is_open = open.contains(queue);
            prop_assert_eq!(opens_at <= self.now, is_open, "{:?} at {}, {}", queue, self.now, opens_at);
        }
        Ok(open)
    }

    /// Calls it at each deadline while nothing more comes. Asserts that each queue opens, or has no deadline.
    fn assert_gets_on(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..DEADLINES {
            let open = self.assert_agrees()?;
            let deadline = self.gate.opens_at(self.waiting.difference(open));
            if deadline == Nanos::NEVER {
                return Ok(());
            }
            prop_assert!(deadline > self.now);
            self.now = deadline;
        }
        Err(TestCaseError::fail(format!("it has not come to rest by {}", self.now)))
    }
}

proptest! {
    #[test]
    fn whatever_comes_a_closed_queue_has_a_deadline_in_the_future_and_a_driver_gets_on(
        scheme in 0_usize..4,
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut port = Port::new(scheme);
        for step in &steps {
            port.take(step);
            port.assert_agrees()?;
        }
        port.assert_gets_on()?;
    }

    /// What no one but the peer and a forger can limit is open when silence has ended what they said.
    #[test]
    fn one_message_closes_no_queue_for_longer_than_silence_lasts(
        scheme in prop::sample::select(vec![1_usize, 3]),
        (message, later) in (message(), 0_u64..2_000_000_000),
    ) {
        let mut port = Port::new(scheme);
        port.take(&Step::Hear(message));
        let held = Interval::from_millis(1_010) + Interval(80_000);
        port.take(&Step::Wait(later));
        port.assert_agrees()?;
        port.now = port.now.max(Nanos(1) + held);
        prop_assert_eq!(port.assert_agrees()?, port.waiting);
    }
}
