//! Whether the stated times of a host suit the path of its flows.

use units::{BitRate, Interval, WireBytes};

use super::super::words::{ControlWord, TransportWord};
use super::HostDecl;
use crate::notes::Problems;
use crate::place::At;
use crate::problem::ProblemKind;

/// The path of a host whose flows go farthest.
pub(in crate::scenario) struct Farthest<'a> {
    /// The host.
    pub host: &'a str,
    /// What a round trip takes at least.
    pub least: Interval,
    /// The rate of its link.
    pub rate: BitRate,
    /// A full packet.
    pub packet: WireBytes,
}

impl HostDecl {
    /// Warns of each stated value with which the host cannot work on that path.
    pub fn check_path(&self, path: &Farthest<'_>, problems: &Problems<'_>) {
        match (self.transport(), self.congestion_control()) {
            (TransportWord::NewReno, _) => {
                let effect = "segments are sent again before the first acknowledgement can arrive";
                path.check(&self.new_reno().rto_initial, effect, problems);
                return;
            }
            (_, ControlWord::Hpcc) => {
                let base = &self.hpcc().base_rtt;
                let share = base.as_ref().map_or(0.0, |at| percent(at.value.0, path.least.0));
                let effect = format!("HPCC sends at {share:.1} % of the rate of its link at most");
                path.check(base, &effect, problems);
            }
            (_, ControlWord::Timely) => {
                let effect = "TIMELY takes the path for a queue and falls to its lowest rate";
                path.check(&self.timely().t_high, effect, problems);
            }
            (_, ControlWord::None | ControlWord::Dcqcn) => {}
        }
        let again = "every packet is sent again before its acknowledgement can arrive";
        if self.transport() == TransportWord::GoBackN {
            return path.check(&self.go_back_n().retransmission_timeout, again, problems);
        }
        let irn = self.irn();
        path.check(&irn.rto_low, again, problems);
        path.check(&irn.rto_high, again, problems);
        if let Some(window) = &irn.window {
            path.check_window(window, problems);
        }
    }
}

impl Farthest<'_> {
    /// Warns of a stated time that is shorter than a round trip.
    pub fn check(&self, stated: &Option<At<Interval>>, effect: &str, problems: &Problems<'_>) {
        if let Some(at) = stated.as_ref().filter(|at| at.value < self.least) {
            let (value, host, least) = (at.value, self.host.into(), self.least);
            let kind = ProblemKind::BelowRoundTrip { value, host, least, effect: effect.into() };
            problems.warning(&at.place, kind);
        }
    }

    /// A window that fills half of the path or more is a choice.
    fn check_window(&self, window: &At<u32>, problems: &Problems<'_>) {
        let holds = self.rate.bytes_in(self.least);
        let share = percent(self.packet.0.saturating_mul(window.value.into()), holds);
        if share < 50.0 {
            let (packets, host, least) = (window.value, self.host.into(), self.least);
            let kind = ProblemKind::SmallWindow { packets, host, least, share: format!("{share:.1}") };
            problems.warning(&window.place, kind);
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
