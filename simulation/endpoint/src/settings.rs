//! What a host is, and what it is asked to send.

mod hpcc;
mod irn;
mod new_reno;
mod timely;

pub use hpcc::Hpcc;
pub use irn::Irn;
pub use new_reno::NewReno;
pub use timely::Timely;

use crate::packet::Format;
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use units::{BitRate, Bytes, Interval, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::roce::{Psn, QueuePair};

/// The addresses of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Its MAC address.
    pub mac: MacAddress,
    /// Its IP address.
    pub address: Ipv4Addr,
}

/// A flow, by a number that is its own in the whole network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What a host is.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSettings {
    /// Its own addresses.
    pub station: Station,
    /// The MAC address to which all of its frames go: the router behind its port, or its only neighbour.
    pub next_hop: MacAddress,
    /// Of its port.
    pub rate: BitRate,
    /// Bytes of a message in one packet (path MTU), 256 to 8192.
    pub mtu: u16,
    /// The priorities for which it obeys PFC.
    pub lossless: PrioritySet,
    /// The code point that it writes for each priority.
    pub dscp: [Dscp; Priority::COUNT],
    /// The priority of acknowledgements and CNPs; that of the data where there is none.
    pub control_priority: Option<Priority>,
    /// How what is lost is sent again.
    pub transport: Transport,
    /// How fast it sends.
    pub congestion_control: CongestionControl,
    /// How long after a congestion notification (CNP) the same flow gets no other one, as its receiver: N of the
    /// notification point (NP) of DCQCN, 50 us there; `min_time_between_cnps` of NVIDIA's (Mellanox's) NICs. Zero
    /// answers each marked packet; `None` sends no notification at all.
    pub cnp_interval: Option<Interval>,
}

impl HostSettings {
    /// The stored length, without FCS, of a data packet with `payload` bytes of a message: that of RoCEv2
    /// ([`crate::data_length`]), with in-band telemetry where there is HPCC, or that of TCP.
    #[inline]
    pub fn data_length(&self, payload: u16) -> Bytes {
        Format::of(self).data_length(payload)
    }
}

/// How what is lost is sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// RoCE as NICs have it.
    GoBackN(GoBackN),
    /// IRN, for networks without PFC.
    Irn(Irn),
    /// TCP in place of RoCE. It controls congestion itself: [`HostSettings::congestion_control`] has no effect.
    NewReno(NewReno),
}

/// Go-back-N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoBackN {
    /// Every so many packets ask for an acknowledgement, and so does the last one of a message.
    pub ack_every: NonZeroU32,
    /// How long after the last progress everything that is not acknowledged is sent again. More than a round trip,
    /// queues and pauses included.
    pub retransmission_timeout: Interval,
}

/// Every packet is acknowledged; the timeout is 67.1 ms, that of the timer code 14 with which many NICs begin
/// (4.096 us times 2^14, InfiniBand section 9.7.6.1.3).
impl Default for GoBackN {
    fn default() -> Self {
        Self { ack_every: NonZeroU32::MIN, retransmission_timeout: Interval(67_108_864) }
    }
}

/// How fast a host sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionControl {
    /// At the rate of its port.
    None,
    /// DCQCN. What its notification point does is [`HostSettings::cnp_interval`] of the receiver.
    Dcqcn(Dcqcn),
    /// TIMELY.
    Timely(Timely),
    /// HPCC. Data packets collect in-band telemetry ([`wire::int`]), and acknowledgements return it.
    Hpcc(Hpcc),
}

/// The reaction point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). Each setting has
/// the paper's name, and that of NVIDIA's (Mellanox's) NICs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    /// g, the gain of alpha, between 0 and 1 (`dce_tcp_g`, there in units of 1/1024 and of what is kept of alpha).
    pub g: f64,
    /// Alpha before the first notification, between 0 and 1 (`initial_alpha_value`).
    pub initial_alpha: f64,
    /// K: alpha falls whenever so long no notification came (`dce_tcp_rtt`).
    pub alpha_timer: Interval,
    /// T: the rate rises whenever so long no notification came (`rpg_time_reset`).
    pub rate_timer: Interval,
    /// B: the rate rises whenever so many bytes were sent without a notification; frames count as stored
    /// (`rpg_byte_reset`, there in units of 64 bytes). `None` leaves increases to the timer alone, as the ns-3 models
    /// of HPCC's authors have it.
    pub byte_counter: Option<Bytes>,
    /// F: so many events of timer or byte counter end fast recovery (`rpg_threshold`).
    pub fast_recovery_steps: u32,
    /// R_AI, by which the target rate rises behind fast recovery (`rpg_ai_rate`).
    pub additive_increase: BitRate,
    /// R_HAI, by which the target rate rises once both timer and byte counter, if there is one, are behind fast recovery: once with
    /// the first event, twice with the second one, and so on, as in QCN (`rpg_hai_rate`).
    pub hyper_increase: BitRate,
    /// The least rate (`rpg_min_rate`).
    pub minimum_rate: BitRate,
    /// Whether each reduction makes the rate before it the target, as in the paper (`clamp_tgt_rate`). If not, only
    /// one before which the byte counter raised the rate does.
    pub clamp_target_rate: bool,
    /// Whether one before which the timer raised the rate does too (`clamp_tgt_rate_after_time_inc`). Without effect
    /// where the target is always clamped.
    pub clamp_target_rate_after_time_inc: bool,
    /// For so long the rate is not reduced again; notifications that come meanwhile count as one at the end
    /// (`rate_reduce_monitor_period`). Zero leaves it to the receiver how often notifications come, as in the paper.
    pub rate_reduce_monitor_period: Interval,
}

/// Those with which the paper runs its testbed. It gives no R_HAI and no least rate: ten times R_AI keeps the ratio
/// with which NICs come (5 and 50 Mb/s), and 1 Mb/s is theirs.
impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Interval::from_micros(55),
            rate_timer: Interval::from_micros(55),
            byte_counter: Some(Bytes(10_000_000)),
            fast_recovery_steps: 5,
            additive_increase: const { BitRate::megabits(40) },
            hyper_increase: const { BitRate::megabits(400) },
            minimum_rate: const { BitRate::megabits(1) },
            clamp_target_rate: true,
            clamp_target_rate_after_time_inc: true,
            rate_reduce_monitor_period: Interval::ZERO,
        }
    }
}

/// Which end of a flow a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

/// A flow as one of its ends sees it: one message over a queue pair of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Which flow.
    pub flow: FlowId,
    /// Which end of it.
    pub end: End,
    /// The queue pair of this host, from [`crate::Host::reserve`].
    pub local: QueuePair,
    /// The queue pair of the other end.
    pub remote: QueuePair,
    /// The address of the other end.
    pub peer: Ipv4Addr,
    /// What its data is sent with.
    pub priority: Priority,
    /// The sequence number of the first packet.
    pub first_psn: Psn,
    /// How long the message is, in bytes; `None`: without end, until [`crate::Host::stop`].
    pub length: Option<u64>,
}
