//! Hosts: the length of packets, and congestion control.

use core::fmt::{self, Write};

use units::{BitRate, Bytes, Interval};

use super::options::Options;
use super::topology::Network;
use crate::problem::ProblemKind;

/// Bytes of a data packet besides its payload on our wire: headers, FCS, preamble and gap.
const OURS: u64 = 82;
/// The same in the model, which has headers only.
const THEIRS: u64 = 48;

/// How hosts send.
pub(super) struct Hosts {
    mtu: u16,
    control: Control,
}

/// Congestion control.
enum Control {
    None,
    Dcqcn(Dcqcn),
    Timely { step: BitRate, hyper_steps: u64, minimum: BitRate },
    Hpcc { eta: f64, max_stage: u32, step: BitRate, minimum: BitRate },
}

struct Dcqcn {
    g: f64,
    alpha_timer: Interval,
    rate_timer: Interval,
    fast_recovery_times: u32,
    additive: BitRate,
    hyper: BitRate,
    minimum: BitRate,
    clamp: bool,
    reduce_period: Interval,
}

impl Hosts {
    /// Reads how hosts send. Notes errors if an option is missing or wrong.
    pub fn new(options: &Options<'_, '_>) -> Option<Self> {
        let mtu = options.number("PACKET_PAYLOAD_SIZE", 256..=8_192_u16);
        let mode = options.value("CC_MODE", |word| match word {
            "0" | "1" | "3" | "7" => Ok(word.to_owned()),
            _ => Err(ProblemKind::Malformed { got: word.chars().take(40).collect(), want: MODES }),
        })?;
        options.note_lost(mode == "3");
        let control = match mode.as_str() {
            "1" => Control::Dcqcn(Dcqcn::new(options)?),
            "3" => Self::hpcc(options)?,
            "7" => {
                let (step, hyper) = (options.rate("RATE_AI"), options.rate("RATE_HAI"));
                let (step, hyper, minimum) = (step?, hyper?, options.rate("MIN_RATE")?);
                let hyper_steps = hyper.bits_per_second() / step.bits_per_second();
                Control::Timely { step, hyper_steps: hyper_steps.clamp(1, 16_777_216), minimum }
            }
            _ => Control::None,
        };
        Some(Self { mtu: mtu?, control })
    }

    fn hpcc(options: &Options<'_, '_>) -> Option<Control> {
        let eta = options.number("U_TARGET", 0.01..=1.0);
        let max_stage = options.number("MI_THRESH", 0..=1_000_000_u32);
        let (step, minimum) = (options.rate("RATE_AI"), options.rate("MIN_RATE"));
        Some(Control::Hpcc { eta: eta?, max_stage: max_stage?, step: step?, minimum: minimum? })
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
        let is_hpcc = matches!(self.control, Control::Hpcc { .. });
        let stretched = BitRate::new(bits.saturating_add(time / 2) / time);
        stretched.filter(|_| !is_hpcc).unwrap_or(rate)
    }

    /// Writes `[host]` and the table of its congestion control, for hosts of `network`.
    pub fn write(&self, network: &Network, text: &mut String) -> fmt::Result {
        let (word, marks) = match self.control {
            Control::None => ("none", ""),
            // The model returns each mark with the acknowledgement.
            Control::Dcqcn(_) => ("dcqcn", "cnp_interval = \"0ns\"\n"),
            Control::Timely { .. } => ("timely", ""),
            Control::Hpcc { .. } => ("hpcc", ""),
        };
        write!(text, "\n[host]\nmtu = {}\ncontrol_priority = \"data\"\n", self.mtu)?;
        write!(text, "congestion_control = \"{word}\"\n{marks}")?;
        match &self.control {
            Control::None => Ok(()),
            Control::Dcqcn(dcqcn) => self.write_dcqcn(dcqcn, text),
            Control::Timely { step, hyper_steps, minimum } => {
                let [step, minimum] = [step, minimum].map(|rate| self.host_rate(*rate));
                writeln!(text, "\n[host.timely]\nstep = \"{step}\"\nhyper_steps = {hyper_steps}")?;
                writeln!(text, "minimum = \"{minimum}\"\nonce_per_round_trip = true")
            }
            Control::Hpcc { eta, max_stage, step, minimum } => {
                let base_rtt = network.longest_round_trip(self.mtu.into());
                let bits = u128::from(step.bits_per_second()) * u128::from(base_rtt.0) / 1_000_000_000;
                let additive = Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1));
                writeln!(text, "\n[host.hpcc]\neta = {eta:?}\nmax_stage = {max_stage}")?;
                writeln!(
                    text,
                    "additive = \"{additive}\"\nbase_rtt = \"{base_rtt}\"\nminimum = \"{minimum}\""
                )
            }
        }
    }

    fn write_dcqcn(&self, dcqcn: &Dcqcn, text: &mut String) -> fmt::Result {
        let rates = [dcqcn.additive, dcqcn.hyper, dcqcn.minimum];
        let [additive, hyper, minimum] = rates.map(|rate| self.host_rate(rate));
        writeln!(text, "\n[host.dcqcn]\ng = {:?}\nalpha_timer = \"{}\"", dcqcn.g, dcqcn.alpha_timer)?;
        writeln!(text, "rate_timer = \"{}\"\nbyte_counter = \"none\"", dcqcn.rate_timer)?;
        // The model counts an expiry of the timer after its increase, we count it before.
        writeln!(text, "fast_recovery_steps = {}", dcqcn.fast_recovery_times + 1)?;
        writeln!(text, "additive_increase = \"{additive}\"\nhyper_increase = \"{hyper}\"")?;
        writeln!(text, "minimum_rate = \"{minimum}\"\nclamp_target_rate = {}", dcqcn.clamp)?;
        writeln!(text, "rate_reduce_monitor_period = \"{}\"", dcqcn.reduce_period)
    }
}

/// The values of `CC_MODE` that have a counterpart.
const MODES: &str = "a congestion control with a counterpart: 0 (none), 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)";

impl Dcqcn {
    fn new(options: &Options<'_, '_>) -> Option<Self> {
        let g = options.number("EWMA_GAIN", 0.0..=1.0);
        let alpha_timer = options.micros("ALPHA_RESUME_INTERVAL");
        let rate_timer = options.micros("RP_TIMER");
        let fast_recovery_times = options.number("FAST_RECOVERY_TIMES", 0..=1_000_000_u32);
        let (additive, hyper) = (options.rate("RATE_AI"), options.rate("RATE_HAI"));
        let minimum = options.rate("MIN_RATE");
        let clamp = options.flag("CLAMP_TARGET_RATE");
        let reduce_period = options.micros("RATE_DECREASE_INTERVAL");
        Some(Self {
            g: g?,
            alpha_timer: alpha_timer?,
            rate_timer: rate_timer?,
            fast_recovery_times: fast_recovery_times?,
            additive: additive?,
            hyper: hyper?,
            minimum: minimum?,
            clamp: clamp?,
            reduce_period: reduce_period?,
        })
    }
}
