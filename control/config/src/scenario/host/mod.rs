//! `[host]`: how hosts send.

mod control;
mod transport;

use endpoint::{
    CongestionControl, Dcqcn, GoBackN, HostSettings, Hpcc, Irn, NewReno, Station, Timely, Transport,
};
use units::{BitRate, Interval, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;

use super::set::set;
use super::words::{ControlPriority, ControlWord, TransportWord};
use crate::section::Section;

/// How a host sends; what a host does not say itself is what all say.
#[derive(Clone, Debug)]
pub(super) struct HostWish {
    mtu: u16,
    control_priority: Option<Priority>,
    control: ControlWord,
    transport: TransportWord,
    /// Where it is stated; none at all may be what is stated.
    cnp_interval: Option<Option<Interval>>,
    dcqcn: Dcqcn,
    timely: Timely,
    hpcc: Hpcc,
    go_back_n: GoBackN,
    irn: Irn,
    new_reno: NewReno,
}

impl Default for HostWish {
    fn default() -> Self {
        Self {
            mtu: 1_024,
            control_priority: Some(Priority::from_low_bits(6)),
            control: ControlWord::Dcqcn,
            transport: TransportWord::GoBackN,
            cnp_interval: None,
            dcqcn: Dcqcn::default(),
            timely: Timely::default(),
            hpcc: Hpcc::default(),
            go_back_n: GoBackN::default(),
            irn: Irn::default(),
            new_reno: NewReno::default(),
        }
    }
}

/// N of DCQCN, where nothing is said.
const CNP_INTERVAL: Interval = Interval::from_micros(50);

impl HostWish {
    /// Reads `[host]` over what holds without it.
    pub fn read(section: &mut Section<'_, '_>, below: &Self) -> Self {
        let mut wish = below.clone();
        let mtu = section.optional::<u16>("mtu").filter(|mtu| section.is_within(mtu, &(256..=8_192)));
        wish.mtu = mtu.map_or(below.mtu, |mtu| mtu.value);
        let mut control_priority = ControlPriority(below.control_priority);
        set(section, "control_priority", &mut control_priority);
        wish.control_priority = control_priority.0;
        set(section, "congestion_control", &mut wish.control);
        set(section, "transport", &mut wish.transport);
        let cnp_interval = section.optional::<Option<Interval>>("cnp_interval").map(|it| it.value);
        wish.cnp_interval = cnp_interval.or(below.cnp_interval);
        section.table("dcqcn", |it| control::dcqcn(it, &mut wish.dcqcn));
        section.table("timely", |it| control::timely(it, &mut wish.timely));
        section.table("hpcc", |it| control::hpcc(it, &mut wish.hpcc));
        section.table("go_back_n", |it| transport::go_back_n(it, &mut wish.go_back_n));
        section.table("irn", |it| transport::irn(it, &mut wish.irn));
        section.table("new_reno", |it| transport::new_reno(it, &mut wish.new_reno));
        wish
    }

    /// Whether its packets collect in-band telemetry.
    pub fn wants_telemetry(&self) -> bool {
        self.control == ControlWord::Hpcc && self.transport != TransportWord::NewReno
    }

    /// The settings of one host.
    pub fn settings(
        &self,
        station: Station,
        next_hop: MacAddress,
        rate: BitRate,
        (lossless, dscp): (PrioritySet, [Dscp; Priority::COUNT]),
    ) -> HostSettings {
        // Nobody else listens to notifications.
        let notified = (self.control == ControlWord::Dcqcn).then_some(CNP_INTERVAL);
        HostSettings {
            station,
            next_hop,
            rate,
            mtu: self.mtu,
            lossless,
            dscp,
            control_priority: self.control_priority,
            transport: match self.transport {
                TransportWord::GoBackN => Transport::GoBackN(self.go_back_n),
                TransportWord::Irn => Transport::Irn(self.irn),
                TransportWord::NewReno => Transport::NewReno(self.new_reno),
            },
            congestion_control: match self.control {
                ControlWord::None => CongestionControl::None,
                ControlWord::Dcqcn => CongestionControl::Dcqcn(self.dcqcn),
                ControlWord::Timely => CongestionControl::Timely(self.timely),
                ControlWord::Hpcc => CongestionControl::Hpcc(self.hpcc),
            },
            cnp_interval: self.cnp_interval.unwrap_or(notified),
        }
    }
}
