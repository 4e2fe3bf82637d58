//! `[host]`: how hosts send.

mod control;
mod timers;
mod transport;

use endpoint::{
    CongestionControl, Dcqcn, GoBackN, HostSettings, Hpcc, Irn, NewReno, Station, Timely, Transport,
};
use units::{BitRate, Interval, Priority, WireBytes};
use wire::ethernet::MacAddress;

use self::control::{DcqcnDecl, HpccDecl, TimelyDecl};
pub(super) use self::timers::Farthest;
use self::transport::{GoBackNDecl, IrnDecl, NewRenoDecl};
use super::network::NetworkDecl;
use super::paths::Path;
use super::run::{MOST, SOME};
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
        mtu: At<u16>, within(256..=9_000), default(1_024_u16);
        /// Priority of acknowledgements and CNPs; `"data"` is that of the data
        control_priority: At<ControlPriority>, default(ControlPriority(Some(Priority::from_low_bits(6))));
        /// How fast it sends
        congestion_control: At<ControlWord>, default(ControlWord::Dcqcn);
        /// How it sends again what is lost. `"new-reno"` is TCP, which controls congestion itself
        transport: At<TransportWord>, default(TransportWord::GoBackN);
        /// A receiver sends at most one CNP per flow in this time; `"none"` sends none, zero answers each mark
        cnp_interval: At<Option<Interval>>, auto("`\"50us\"` with DCQCN, otherwise `\"none\"`");
        /// The longest round trip to the hosts that it sends to, without queues. Timers follow it: state it where hosts [play](traffic.md) on a real path
        round_trip: At<Interval>, within(SOME..=MOST), auto("that of the topology");
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

    /// The settings of one host, with the longest path of its flows, and the longest one of all hosts.
    pub fn settings(
        &self,
        station: Station,
        next_hop: MacAddress,
        rate: BitRate,
        network: &NetworkDecl,
        [own, longest]: [Path; 2],
    ) -> HostSettings {
        let mut settings = self.without_path(station, next_hop, rate, network);
        let round_trip = |path: Path| or(&self.round_trip, round_trip(path, &settings));
        let (own, longest) = (round_trip(own), round_trip(longest));
        let packets = rate.bytes_in(own).div_ceil(packet(&settings).0);
        if network.connection_management() {
            settings.connection_management = Some(network.connection_timeout(longest));
        }
        match &mut settings.transport {
            Transport::GoBackN(it) => *it = self.go_back_n().settings(GoBackN::for_round_trip(own)),
            Transport::Irn(it) => *it = self.irn().settings(Irn::for_round_trip(own, packets)),
            Transport::NewReno(it) => *it = self.new_reno().settings(NewReno::for_round_trip(own)),
        }
        match &mut settings.congestion_control {
            CongestionControl::None => {}
            CongestionControl::Dcqcn(it) => *it = self.dcqcn().settings(Dcqcn::default()),
            CongestionControl::Timely(it) => *it = self.timely().settings(Timely::for_round_trip(own)),
            CongestionControl::Hpcc(it) => *it = self.hpcc().settings(Hpcc::for_round_trip(own)),
        }
        settings
    }

    /// The settings of one host, with the defaults of what depends on its path, which depends on the length of packets.
    fn without_path(
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
                TransportWord::GoBackN => Transport::GoBackN(GoBackN::default()),
                TransportWord::Irn => Transport::Irn(Irn::default()),
                TransportWord::NewReno => Transport::NewReno(NewReno::default()),
            },
            congestion_control: match control {
                ControlWord::None => CongestionControl::None,
                ControlWord::Dcqcn => CongestionControl::Dcqcn(Dcqcn::default()),
                ControlWord::Timely => CongestionControl::Timely(Timely::default()),
                ControlWord::Hpcc => CongestionControl::Hpcc(self.hpcc().settings(Hpcc::default())),
            },
            cnp_interval: or(&self.cnp_interval, notified),
            connection_management: None,
        }
    }

    /// What a round trip takes at least: what is stated, or the delays of the links.
    pub fn least_round_trip(&self, path: Path) -> Interval {
        or(&self.round_trip, path.light)
    }
}

/// A full packet of a host.
pub(super) fn packet(host: &HostSettings) -> WireBytes {
    WireBytes::of_frame(host.data_length(host.mtu))
}

/// The round trip of a full packet over `path`. An acknowledgement is as long as a packet without payload.
fn round_trip(path: Path, host: &HostSettings) -> Interval {
    path.round_trip(packet(host), WireBytes::of_frame(host.data_length(0)))
}
