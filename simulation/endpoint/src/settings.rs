//! The settings of hosts and flows.

mod hpcc;
mod irn;
mod new_reno;
mod timely;

pub use hpcc::Hpcc;
pub use irn::Irn;
pub use new_reno::NewReno;
pub use timely::Timely;

use core::net::IpAddr;
use core::num::NonZeroU32;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::roce::{Psn, QueuePair};

/// The addresses of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Station {
    /// Its MAC address.
    pub mac: MacAddress,
    /// Its IP address, whose version is that of all its packets.
    pub address: IpAddr,
}

/// A flow, by a number that is unique in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowId(pub u32);

/// The settings of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSettings {
    /// Its own addresses.
    pub station: Station,
    /// The destination MAC address of all its frames: the router at its port, or its only neighbour.
    pub next_hop: MacAddress,
    /// The rate of its port.
    pub rate: BitRate,
    /// Message bytes per packet (path MTU), 256 to 9000.
    pub mtu: u16,
    /// The priorities for which it obeys PFC.
    pub lossless: PrioritySet,
    /// The DSCP that it writes for each priority.
    pub dscp: [Dscp; Priority::COUNT],
    /// The priority of acknowledgements and CNPs; `None` uses that of the data.
    pub control_priority: Option<Priority>,
    /// The retransmission of lost packets.
    pub transport: Transport,
    /// The congestion control, which sets its sending rate.
    pub congestion_control: CongestionControl,
    /// The minimum interval between congestion notification packets (CNPs) that it sends for a flow as
    /// receiver: N of the notification point (NP) of DCQCN, 50 us there; `min_time_between_cnps` of NVIDIA's
    /// (Mellanox's) NICs. Zero answers each marked packet; `None` disables CNPs.
    pub cnp_interval: Option<Interval>,
    /// Whether the connection manager opens queue pairs (InfiniBand specification volume 1, chapter 12), and the time after
    /// which it sends a message again that has no answer. `None` opens them at once, without a message. No effect
    /// with [`Transport::NewReno`]: TCP has none.
    pub connection_management: Option<Interval>,
}

impl HostSettings {
    /// Whether the connection manager opens its queue pairs.
    pub fn manages_connections(&self) -> bool {
        self.connection_management.is_some() && !matches!(self.transport, Transport::NewReno(_))
    }
}

/// The retransmission of lost packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// Go-back-N, as in RoCE NICs.
    GoBackN(GoBackN),
    /// IRN, for networks without PFC.
    Irn(Irn),
    /// TCP instead of RoCE. It has its own congestion control, so [`HostSettings::congestion_control`] has no
    /// effect.
    NewReno(NewReno),
}

/// Go-back-N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoBackN {
    /// Every `ack_every`th packet requests an acknowledgement, and so does the last one of a message.
    pub ack_every: NonZeroU32,
    /// The time without progress after which everything unacknowledged is sent again. It should exceed a
    /// round trip including queues and pauses.
    pub retransmission_timeout: Interval,
}

/// Every packet is acknowledged. The timeout is 67.1 ms: timer code 14, the default of many NICs (4.096 us
/// times 2^14, InfiniBand section 9.7.6.1.3).
impl Default for GoBackN {
    fn default() -> Self {
        Self { ack_every: NonZeroU32::MIN, retransmission_timeout: Interval(67_108_864) }
    }
}

impl GoBackN {
    /// The defaults for a path whose round trip is `round_trip` without queues: the first timer code from 14 on whose
    /// timeout is at least four round trips, since queues and pauses may be as long as the path.
    pub fn for_round_trip(round_trip: Interval) -> Self {
        let mut usual = Self::default();
        while usual.retransmission_timeout < round_trip * 4 {
            usual.retransmission_timeout = usual.retransmission_timeout * 2;
        }
        usual
    }
}

/// The congestion control of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionControl {
    /// None: hosts send at the rate of their port.
    None,
    /// DCQCN. Its notification point is configured by [`HostSettings::cnp_interval`] of the receiver.
    Dcqcn(Dcqcn),
    /// TIMELY.
    Timely(Timely),
    /// HPCC. Data packets collect in-band telemetry ([`wire::int`]), and acknowledgements return it.
    Hpcc(Hpcc),
}

/// The reaction point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). Each
/// setting gives its name in the paper and, in parentheses, in NVIDIA's (Mellanox's) NICs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dcqcn {
    /// g, the gain of alpha, between 0 and 1 (`dce_tcp_g`, there the share of alpha that is kept, in units of
    /// 1/1024).
    pub g: f64,
    /// Alpha before the first notification, between 0 and 1 (`initial_alpha_value`).
    pub initial_alpha: f64,
    /// K: alpha falls after each such interval without a notification (`dce_tcp_rtt`).
    pub alpha_timer: Interval,
    /// T: the rate rises after each such interval without a notification (`rpg_time_reset`).
    pub rate_timer: Interval,
    /// B: the rate rises after each such number of bytes sent without a notification; frames count as stored
    /// (`rpg_byte_reset`, there in units of 64 bytes). `None` leaves increases to the timer alone, as in the
    /// ns-3 models of HPCC's authors.
    pub byte_counter: Option<Bytes>,
    /// F: the number of timer or byte counter events that end fast recovery (`rpg_threshold`).
    pub fast_recovery_steps: u32,
    /// R_AI: the step of the target rate after fast recovery (`rpg_ai_rate`).
    pub additive_increase: BitRate,
    /// R_HAI: the step of the target rate once both the timer and the byte counter, if used, are past fast
    /// recovery: one step at the first event, two at the second, and so on, as in QCN (`rpg_hai_rate`).
    pub hyper_increase: BitRate,
    /// The minimum rate (`rpg_min_rate`).
    pub minimum_rate: BitRate,
    /// Whether each reduction sets the target to the previous rate, as in the paper (`clamp_tgt_rate`). If
    /// not, a reduction does so only after the rate has risen, as with `clamp_tgt_rate_after_time_inc`, the default.
    pub clamp_target_rate: bool,
    /// The minimum interval between reductions; notifications in between count as one at its end
    /// (`rate_reduce_monitor_period`). With zero, the receiver's notification interval is the only limit, as
    /// in the paper.
    pub rate_reduce_monitor_period: Interval,
}

/// The parameters of the paper's testbed. The paper gives no R_HAI and no minimum rate: ten times R_AI is the
/// ratio of NICs' defaults (5 and 50 Mb/s), and 1 Mb/s is NICs' default.
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
            rate_reduce_monitor_period: Interval::ZERO,
        }
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
}

/// A flow from the view of one end: one message over its own queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The flow.
    pub flow: FlowId,
    /// The end.
    pub end: End,
    /// The queue pair of this host, from [`crate::Host::reserve`].
    pub local: QueuePair,
    /// The queue pair of the far end.
    pub remote: QueuePair,
    /// The UDP source port of its frames, by which switches choose among equal paths. New queue pairs have
    /// [`wire::roce::source_port_of_queue_pairs`].
    pub source_port: u16,
    /// The address of the far end, of the version of the host's own.
    pub peer: IpAddr,
    /// The priority of its data.
    pub priority: Priority,
    /// The sequence number of the first packet.
    pub first_psn: Psn,
    /// The length of the message in bytes; `None` is endless, until [`crate::Host::stop`].
    pub length: Option<u64>,
}
