//! The load under which throughput is measured: senders with DCQCN, and a receiver that takes half of what they bring.

use endpoint::Dcqcn;
use units::{BitRate, Bytes, Interval};

use super::network::{Hosts, LONGEST};
use crate::core_load::packet_of;
use crate::plan::built::Built;
use crate::plan::longest::{held, on_the_wire};

/// The most senders. If more are needed to fill the link, these fill a part of it, and the receiver takes half of that.
const SENDERS: u64 = 64;
/// N of DCQCN's receivers: the least interval between two CNPs of a flow.
const CNP_INTERVAL: Interval = Interval::from_micros(50);
/// Round trips of the start, besides the time that fills the buffers.
const ROUND_TRIPS: u64 = 8;
/// The longest time for which a sender's climb is waited for. That of DCQCN as its paper sets it takes 34 ms at 25G.
const CLIMB: Interval = Interval::from_secs(1);

/// The load: the senders, the receiver, and for how long they start and are measured.
pub(super) struct Load {
    /// The senders, and the rate of each.
    pub senders: (u64, BitRate),
    /// The rate of the receiver.
    pub receiver: BitRate,
    /// The time of the start, and as much again to measure.
    pub span: Interval,
}

impl Load {
    /// Senders that start together fill the buffers, are marked, and climb again by a step of R_AI in each T_i.
    pub fn of(built: &Built) -> Self {
        let request = &built.request;
        let senders = request.senders;
        let rate = senders.rate.min(request.rate);
        let count = request.rate.bits_per_second().div_ceil(rate.bits_per_second()).min(SENDERS);
        let carried = request.rate.bits_per_second().min(count.saturating_mul(rate.bits_per_second()));
        let receiver = BitRate::new(carried / 2).unwrap_or(rate);
        // The senders are dealt out to the priorities.
        let groups = request.count().min(count);
        let each = held(built.long().0) + held(built.local().0);
        let buffers = on_the_wire(Bytes(each.0.saturating_mul(groups)));
        let steps = rate.bits_per_second().div_ceil(senders.additive_increase.bits_per_second());
        let span = receiver.serialization().time_of(buffers)
            + built.round_trip().total() * ROUND_TRIPS
            + (senders.rate_timer * steps).min(CLIMB);
        Self { senders: (count, rate), receiver, span }
    }

    /// The hosts of the load.
    pub fn hosts(&self, built: &Built) -> Hosts {
        let senders = built.request.senders;
        let dcqcn = Dcqcn {
            additive_increase: senders.additive_increase,
            rate_timer: senders.rate_timer,
            // The rule of the marks leaves increases to the timer.
            byte_counter: None,
            ..Dcqcn::default()
        };
        let payload = packet_of(built.long().0.max_frame).1.min(LONGEST) as u16;
        Hosts {
            payloads: vec![payload; self.senders.0 as usize],
            rate: self.senders.1,
            drain: self.receiver,
            dcqcn: Some((dcqcn, CNP_INTERVAL)),
        }
    }
}

/// The frames of both runs on the link of the receiver.
pub(super) fn frames(built: &Built) -> u64 {
    let load = Load::of(built);
    let packet = packet_of(built.long().0.max_frame).0;
    load.receiver.bytes_in(load.span * 4) / packet.0.max(1)
}
