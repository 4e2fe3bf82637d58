//! Hosts: the length of packets, and congestion control.

use units::{BitRate, Bytes};

use super::options::Options;
use super::topology::Network;
use crate::problem::ProblemKind;

/// Bytes of a data packet besides its payload on our wire: headers, FCS, preamble and gap.
const OURS: u64 = 82;
/// The same in the model, which has headers only.
const THEIRS: u64 = 48;
/// The values of `CC_MODE` that have a counterpart.
const MODES: &str = "a congestion control with a counterpart: 0 (none), 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)";
/// The behaviour for values for which HPCC's model has no branch.
const NO_BRANCH: &str = "hosts have no congestion control, as in HPCC's model; 1 (DCQCN), 3 (HPCC) and 7 (TIMELY) have a counterpart";
/// HPCC's model has no timer that sends again. This one never ends before the run.
const NO_TIMER: &str = "3600s";
/// The timer of ConWeave's model (`L2Timeout`).
const CONWEAVE_TIMER: &str = "4ms";
/// The timers of ConWeave's model for IRN.
const CONWEAVE_IRN: &str = "\n[host.irn]\nrto_low = \"454us\"\nrto_high = \"1350us\"\n";

/// How hosts send.
pub(super) struct Hosts {
    mtu: u16,
    is_hpcc: bool,
    /// `[host]` and the table of its congestion control.
    pub text: String,
}

impl Hosts {
    /// Reads how the hosts of `network` send, if that is known. Notes errors if an option is missing or wrong.
    pub fn new(options: &Options<'_, '_>, network: Option<&Network>) -> Option<Self> {
        let mtu = options.number("PACKET_PAYLOAD_SIZE", 256..=9_000_u16);
        let mode = options.value("CC_MODE", |word| match word.parse::<u32>() {
            Ok(mode) if ![8, 10].contains(&mode) => Ok(mode),
            _ => Err(ProblemKind::Malformed { got: word.chars().take(40).collect(), want: MODES }),
        });
        let is_irn = options.flag("ENABLE_IRN");
        let mode = mode?;
        let is_hpcc = mode == 3;
        options.note_lost(is_hpcc);
        let mut hosts = Self { mtu: mtu.unwrap_or(256), is_hpcc, text: String::new() };
        let (word, table) = match mode {
            1 => ("dcqcn", hosts.dcqcn(options)?),
            3 => ("hpcc", hosts.hpcc(options, network)?),
            7 => ("timely", hosts.timely(options)?),
            0 => ("none", String::new()),
            _ => {
                options.warn("CC_MODE", ProblemKind::Untranslated { here: NO_BRANCH });
                ("none", String::new())
            }
        };
        let is_conweave = ["ENABLE_PFC", "ENABLE_IRN"].into_iter().any(|name| options.states(name));
        let (transport, timers) = match is_irn? {
            true => ("transport = \"irn\"\n", CONWEAVE_IRN.to_owned()),
            false => {
                let timer = if is_conweave { CONWEAVE_TIMER } else { NO_TIMER };
                ("", format!("\n[host.go_back_n]\nretransmission_timeout = \"{timer}\"\n"))
            }
        };
        hosts.text = format!(
            "\n[host]\nmtu = {}\ncontrol_priority = \"data\"\n{transport}congestion_control = \"{word}\"\n{table}{timers}",
            mtu?
        );
        Some(hosts)
    }

    fn dcqcn(&self, options: &Options<'_, '_>) -> Option<String> {
        let g = options.number("EWMA_GAIN", 0.0..=1.0_f64);
        let alpha_timer = options.micros("ALPHA_RESUME_INTERVAL");
        let rate_timer = options.micros("RP_TIMER");
        let fast_recovery_times = options.number("FAST_RECOVERY_TIMES", 0..=1_000_000_u32);
        let [additive, hyper, minimum] = ["RATE_AI", "RATE_HAI", "MIN_RATE"].map(|it| self.rate(options, it));
        let clamp = options.flag("CLAMP_TARGET_RATE");
        let reduce_period = options.micros("RATE_DECREASE_INTERVAL");
        // The model returns each mark with the acknowledgement.
        Some(format!(
            "cnp_interval = \"0ns\"\n\n[host.dcqcn]\ng = {:?}\nalpha_timer = \"{}\"\nrate_timer = \"{}\"\nbyte_counter = \"none\"\n\
             fast_recovery_steps = {}\nadditive_increase = \"{}\"\nhyper_increase = \"{}\"\n\
             minimum_rate = \"{}\"\nclamp_target_rate = {}\nrate_reduce_monitor_period = \"{}\"\n",
            g?,
            alpha_timer?,
            rate_timer?,
            // The model counts an expiry of the timer after its increase, we count it before.
            fast_recovery_times? + 1,
            additive?,
            hyper?,
            minimum?,
            clamp?,
            reduce_period?
        ))
    }

    fn timely(&self, options: &Options<'_, '_>) -> Option<String> {
        let [step, hyper, minimum] = ["RATE_AI", "RATE_HAI", "MIN_RATE"].map(|it| options.rate(it));
        let (step, minimum) = (step?, minimum?);
        let hyper_steps = (hyper?.bits_per_second() / step.bits_per_second()).clamp(1, 16_777_216);
        let [step, minimum] = [step, minimum].map(|rate| self.host_rate(rate));
        Some(format!(
            "\n[host.timely]\nstep = \"{step}\"\nhyper_steps = {hyper_steps}\nminimum = \"{minimum}\"\n\
             once_per_round_trip = true\n"
        ))
    }

    fn hpcc(&self, options: &Options<'_, '_>, network: Option<&Network>) -> Option<String> {
        let eta = options.number("U_TARGET", 0.01..=1.0_f64);
        let max_stage = options.number("MI_THRESH", 0..=1_000_000_u32);
        let [step, minimum] = ["RATE_AI", "MIN_RATE"].map(|it| options.rate(it));
        let (eta, max_stage, step, minimum) = (eta?, max_stage?, step?, minimum?);
        let base_rtt = network?.longest_round_trip(self.mtu.into());
        let bits = u128::from(step.bits_per_second()) * u128::from(base_rtt.0) / 1_000_000_000;
        let additive = Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1));
        Some(format!(
            "\n[host.hpcc]\neta = {eta:?}\nmax_stage = {max_stage}\nadditive = \"{additive}\"\n\
             base_rtt = \"{base_rtt}\"\nminimum = \"{minimum}\"\n"
        ))
    }

    /// The rate of a host of ours that corresponds to the rate of an option.
    fn rate(&self, options: &Options<'_, '_>, name: &'static str) -> Option<BitRate> {
        Some(self.host_rate(options.rate(name)?))
    }

    /// The rate of a link with which a full packet, and all that surrounds it on the wire, takes as long as in the
    /// model, which truncates its time to nanoseconds. With HPCC the rate stays the same, since telemetry has codes
    /// for common rates only.
    pub fn link_rate(&self, rate: BitRate) -> BitRate {
        let (ours, theirs) = self.lengths();
        let nanos = (theirs * 8_000_000_000 / rate.bits_per_second()).max(1);
        self.stretched(rate, ours * 8_000_000_000, nanos)
    }

    /// The rate of a host with which packets follow each other as in the model.
    fn host_rate(&self, rate: BitRate) -> BitRate {
        let (ours, theirs) = self.lengths();
        let bits = u128::from(rate.bits_per_second()) * u128::from(ours);
        self.stretched(rate, u64::try_from(bits).unwrap_or(u64::MAX), theirs)
    }

    /// Bytes of a full packet on our wire and in the model.
    fn lengths(&self) -> (u64, u64) {
        let payload = u64::from(self.mtu);
        (payload.next_multiple_of(4) + OURS, payload + THEIRS)
    }

    /// `bits` in `time` as a rate, rounded to nearest.
    fn stretched(&self, rate: BitRate, bits: u64, time: u64) -> BitRate {
        let stretched = BitRate::new(bits.saturating_add(time / 2) / time);
        stretched.filter(|_| !self.is_hpcc).unwrap_or(rate)
    }
}
