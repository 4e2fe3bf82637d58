//! `[host]`: how hosts send.

mod control;
mod transport;

use endpoint::{CongestionControl, HostSettings, Station, Transport};
use units::{BitRate, Interval, Priority};
use wire::ethernet::MacAddress;

use self::control::{DcqcnDecl, HpccDecl, TimelyDecl};
use self::transport::{GoBackNDecl, IrnDecl, NewRenoDecl};
use super::network::NetworkDecl;
use super::uses::Uses;
use super::words::{ControlPriority, ControlWord, TransportWord};
use crate::place::At;
use crate::problem::ProblemKind;
use crate::table::{Table as _, or, table};
use crate::value::Written as _;

/// The default of DCQCN's N.
const CNP_INTERVAL: Interval = Interval::from_micros(50);

table! {
    /// How a host sends.
    HostDecl {
        /// Message bytes in a packet
        mtu: At<u16>, within(256..=8_192), default(1_024_u16);
        /// Priority of acknowledgements and CNPs; `"data"` is that of the data
        control_priority: At<ControlPriority>, default(ControlPriority(Some(Priority::from_low_bits(6))));
        /// How fast it sends
        congestion_control: At<ControlWord>, default(ControlWord::Dcqcn);
        /// How it sends again what is lost. `"new-reno"` is TCP, which controls congestion itself
        transport: At<TransportWord>, default(TransportWord::GoBackN);
        /// A receiver sends at most one CNP per flow in this time; `"none"` sends none, zero answers each mark
        cnp_interval: At<Option<Interval>>, auto("`\"50us\"` with DCQCN, otherwise `\"none\"`");
        dcqcn: DcqcnDecl, absent, merged;
        timely: TimelyDecl, absent, merged;
        hpcc: HpccDecl, absent, merged;
        go_back_n: GoBackNDecl, absent, merged;
        irn: IrnDecl, absent, merged;
        new_reno: NewRenoDecl, absent, merged;
    }
}

impl HostDecl {
    /// Whether its packets collect in-band telemetry.
    pub fn wants_telemetry(&self) -> bool {
        self.congestion_control() == ControlWord::Hpcc && self.transport() != TransportWord::NewReno
    }

    /// Notes which of the tables of schemes the host reads.
    pub fn note_tables(&self, uses: &Uses) {
        for (table, word) in
            [("dcqcn", ControlWord::Dcqcn), ("timely", ControlWord::Timely), ("hpcc", ControlWord::Hpcc)]
        {
            self.note(uses, table, self.congestion_control() == word, ("congestion_control", word.write()));
        }
        for (table, word) in [
            ("go_back_n", TransportWord::GoBackN),
            ("irn", TransportWord::Irn),
            ("new_reno", TransportWord::NewReno),
        ] {
            self.note(uses, table, self.transport() == word, ("transport", word.write()));
        }
    }

    fn note(&self, uses: &Uses, table: &str, is_read: bool, (key, word): (&str, String)) {
        if let Some(place) = self.place_of(table) {
            let choice = format!("{key} = {word}");
            uses.note(place, is_read, ProblemKind::Unread { choice, what: "host" });
        }
    }

    /// The settings of one host.
    pub fn settings(
        &self,
        station: Station,
        next_hop: MacAddress,
        rate: BitRate,
        network: &NetworkDecl,
    ) -> HostSettings {
        let control = self.congestion_control();
        // Only DCQCN reacts to CNPs.
        let notified = (control == ControlWord::Dcqcn).then_some(CNP_INTERVAL);
        HostSettings {
            station,
            next_hop,
            rate,
            mtu: self.mtu(),
            lossless: network.lossless(),
            dscp: network.dscp(),
            control_priority: self.control_priority().0,
            transport: match self.transport() {
                TransportWord::GoBackN => Transport::GoBackN(self.go_back_n().settings()),
                TransportWord::Irn => Transport::Irn(self.irn().settings()),
                TransportWord::NewReno => Transport::NewReno(self.new_reno().settings()),
            },
            congestion_control: match control {
                ControlWord::None => CongestionControl::None,
                ControlWord::Dcqcn => CongestionControl::Dcqcn(self.dcqcn().settings()),
                ControlWord::Timely => CongestionControl::Timely(self.timely().settings()),
                ControlWord::Hpcc => CongestionControl::Hpcc(self.hpcc().settings()),
            },
            cnp_interval: or(&self.cnp_interval, notified),
            connection_management: network.connection_management().then_some(network.connection_timeout()),
        }
    }
}
