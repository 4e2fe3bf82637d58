//! The findings of a course.

use crate::session::Ignored;
use core::fmt::Write as _;
use serde::Serialize;

units::named! {
    /// A fault of a link, or of an end of it.
    #[derive(PartialOrd, Ord, Hash)]
    Fault [serde, ALL, about] {
        /// Both files must state one `rate`.
        Rate = "rate",
        /// Both files must map the same DSCPs to lossless priorities (`classify`, `[[port.lossless]]`).
        Classes = "classes",
        /// Both files must state one `mtu`.
        MaxFrame = "max_frame",
        /// The link is longer than its headroom covers: state the measured `distance`.
        Distance = "distance",
        /// Something on the link has a shorter MTU: raise it, or lower `mtu` at both ends.
        Length = "length",
        /// Something on the link rewrites DSCPs, so frames change their priority: have it trust them.
        Dscp = "dscp",
        /// Something on the link rewrites ECN, so senders hear of no congestion, or of one that is none.
        Ecn = "ecn",
        /// Something on the link keeps frames of this EtherType: have it tunnel them, or do without what they carry.
        EtherType = "ether_type",
        /// The card counts PFC frames and hands none over, so the gateway cannot obey: change its settings, or the
        /// card.
        PfcKept = "pfc_kept",
        /// PFC frames are lost on the way, so no priority is lossless: have the link pass 01-80-C2-00-00-01.
        PfcLost = "pfc_lost",
        /// The link loses frames: look for errors of optics, and for a policer or a buffer on the way.
        Loss = "loss",
        /// The link brings frames twice: look for a loop.
        Duplicates = "duplicates",
        /// The device lost frames because the worker was late: give it a core of its own, or a longer receive ring.
        Missed = "missed",
        /// The gateway dropped lossless frames: see what exceeded its headroom.
        Dropped = "dropped",
        /// The other end goes on sending for longer than headroom covers: raise `interface_delay`, or its core is
        /// slow.
        LateObedience = "late_obedience",
        /// Turns took longer than headroom covers: isolate the core, or let headroom cover them.
        SlowCore = "slow_core",
    }
}

units::named! {
    /// The verdict of a step.
    Verdict [serde] {
        /// It is as promised.
        Pass = "pass",
        /// It could not be measured.
        Unknown = "unknown",
        /// It is not as promised.
        Fault = "fault",
    }
}

/// A fault that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name.
    pub fault: Fault,
    /// The finding, and the remedy.
    pub text: String,
}

/// The findings of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// The step.
    pub step: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The measurements, as sentences.
    pub measured: Vec<String>,
    /// The faults.
    pub faults: Vec<Finding>,
}

impl StepReport {
    pub(crate) fn new(step: impl Into<String>) -> Self {
        Self { step: step.into(), verdict: Verdict::Pass, measured: Vec::new(), faults: Vec::new() }
    }

    pub(crate) fn measured(&mut self, text: impl Into<String>) {
        self.measured.push(text.into());
    }

    pub(crate) fn unknown(&mut self, why: impl Into<String>) {
        self.measured.push(why.into());
        if self.verdict == Verdict::Pass {
            self.verdict = Verdict::Unknown;
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault, seen: impl AsRef<str>) {
        self.verdict = Verdict::Fault;
        self.faults.push(Finding { fault, text: format!("{}. {}", seen.as_ref(), fault.about()) });
    }
}

/// The findings of a course.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The port.
    pub port: String,
    /// Whether all steps were done.
    pub complete: bool,
    /// Why it ended.
    pub ended: String,
    /// The verdict over all.
    pub verdict: Verdict,
    /// The steps, in order.
    pub steps: Vec<StepReport>,
    /// Lines for the table of the port in the file of the gateway, each with its reason.
    pub suggested: Vec<(String, String)>,
    /// Messages that changed nothing.
    pub ignored: Ignored,
}

impl Report {
    /// The names of all faults, in the order in which they were found.
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.steps.iter().flat_map(|step| step.faults.iter().map(|it| it.fault))
    }

    /// The report for a person.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {} ({})\n", self.port, self.verdict.name(), self.ended);
        for step in &self.steps {
            let _ = writeln!(text, "\n{:<8} {}", step.verdict.name(), step.step);
            for line in &step.measured {
                let _ = writeln!(text, "         {line}");
            }
            for Finding { fault, text: found } in &step.faults {
                let _ = writeln!(text, "       ! {}: {found}", fault.name());
            }
        }
        let Ignored { forged, replayed, strange } = self.ignored;
        if forged + replayed + strange > 0 {
            let _ = writeln!(
                text,
                "\nMessages that changed nothing: {forged} forged, {replayed} replayed, {strange} strange"
            );
        }
        if !self.suggested.is_empty() {
            let _ = writeln!(text, "\nSuggested:\n{}", self.toml());
        }
        text
    }

    /// The lines that it suggests.
    pub fn toml(&self) -> String {
        let line = |(line, why): &(String, String)| format!("{line}    # {why}\n");
        format!("# In [[port]] {}:\n", self.port) + &self.suggested.iter().map(line).collect::<String>()
    }
}
