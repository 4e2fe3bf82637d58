//! `[host]`: how hosts send.

use endpoint::{CongestionControl, GoBackN, HostSettings, Station, Transport};
use units::{BitRate, Interval, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;

use super::words::{ControlPriority, ControlWord, TransportWord};
use crate::problem::ProblemKind;
use crate::reader::Section;

/// How a host sends; what a host does not say itself is what all say.
#[derive(Clone, Debug)]
pub(super) struct HostWish {
    pub mtu: u16,
    pub control_priority: Option<Priority>,
    pub transport: Transport,
    pub congestion_control: CongestionControl,
    pub cnp_interval: Option<Interval>,
}

impl Default for HostWish {
    fn default() -> Self {
        Self {
            mtu: 1_024,
            control_priority: Some(Priority::from_low_bits(6)),
            transport: Transport::GoBackN(GoBackN::default()),
            congestion_control: CongestionControl::None,
            cnp_interval: Some(Interval::from_micros(50)),
        }
    }
}

impl HostWish {
    /// Reads `[host]` over what holds without it.
    pub fn read(section: &mut Section<'_, '_>, below: &Self) -> Self {
        let mtu = section.optional::<u16>("mtu").filter(|mtu| {
            let valid = (256..=8_192).contains(&mtu.value);
            if !valid {
                let kind = ProblemKind::OutOfRange { got: mtu.value.to_string(), valid: "256 to 8192 bytes" };
                section.problems.error(&mtu.place, kind);
            }
            valid
        });
        let control_priority = section.optional::<ControlPriority>("control_priority");
        let control = section.optional::<ControlWord>("congestion_control");
        let transport = section.optional::<TransportWord>("transport");
        Self {
            mtu: mtu.map_or(below.mtu, |mtu| mtu.value),
            control_priority: control_priority.map_or(below.control_priority, |it| it.value.0),
            transport: transport.map_or(below.transport, |word| match word.value {
                TransportWord::GoBackN => Transport::GoBackN(GoBackN::default()),
            }),
            congestion_control: control.map_or(below.congestion_control, |word| match word.value {
                ControlWord::None => CongestionControl::None,
            }),
            cnp_interval: below.cnp_interval,
        }
    }

    /// The longest frame that such a host sends, without FCS.
    pub fn longest_frame(&self) -> u64 {
        // Ethernet, IPv4, UDP, BTH, the message padded to 4, ICRC.
        14 + 20 + 8 + 12 + u64::from(self.mtu).next_multiple_of(4) + 4
    }

    /// The settings of one host.
    pub fn settings(
        &self,
        station: Station,
        next_hop: MacAddress,
        rate: BitRate,
        (lossless, dscp): (PrioritySet, [Dscp; Priority::COUNT]),
        seed: u64,
    ) -> HostSettings {
        HostSettings {
            station,
            next_hop,
            rate,
            mtu: self.mtu,
            lossless,
            dscp,
            control_priority: self.control_priority,
            transport: self.transport,
            congestion_control: self.congestion_control,
            cnp_interval: self.cnp_interval,
            seed,
        }
    }
}
