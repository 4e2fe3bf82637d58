//! Digests of the inputs of runs: two runs with the same digest have the same results.

use config::scenario::Scenario;
use core::fmt::{self, Write};
use core::hash::Hasher;
use siphasher::sip128::{Hasher128, SipHasher13};

/// A digest of Longspan itself.
pub struct Build(String);

impl Build {
    /// This build: the version and, if it can be read, the executable.
    pub fn this() -> Self {
        let mut text = Digest::new();
        text.text(env!("CARGO_PKG_VERSION"));
        // The link leads to the file that runs, even if another one has its name by now.
        let itself = || std::fs::read("/proc/self/exe");
        if let Ok(executable) = itself().or_else(|_| std::env::current_exe().and_then(std::fs::read)) {
            text.0.write(&executable);
        }
        Self(text.finish())
    }

    /// The digest of all inputs of a run whose scenario has this digest.
    pub fn of_run(&self, scenario: &str) -> String {
        let mut digest = Digest::new();
        [&self.0, scenario].iter().for_each(|text| digest.text(text));
        digest.finish()
    }
}

/// The digest of `scenario`, including the files that it names, but not comments.
pub fn of_scenario(scenario: &Scenario) -> String {
    let mut digest = Digest::new();
    let Scenario { name, network, topology, groups, traffic, collectives, sampling, switches, .. } = scenario;
    digest.debug(&(name, scenario.options(), &network.links, topology));
    digest.debug(&(groups, traffic, sampling, switches));
    // Scenarios without collectives keep the digests that they had before there were any.
    if !network.jobs.is_empty() {
        digest.debug(&(&network.jobs, collectives));
    }
    // As do those without routes that change or events, and those that count all flows.
    if !network.reroutes.changes.is_empty() {
        digest.debug(&network.reroutes);
    }
    if !scenario.events.ports.is_empty() {
        digest.debug(&scenario.events);
    }
    if let Some(counted) = scenario.counted {
        digest.debug(&counted);
    }
    for node in &network.nodes {
        // The configurations of switches are already included.
        if let simulation::NodeKind::Host(settings) = &node.kind {
            digest.debug(settings);
        }
    }
    digest.finish()
}

/// The digest of bytes, whatever parts they come in.
pub fn of_bytes<const N: usize>(parts: [&[u8]; N]) -> u128 {
    let mut digest = SipHasher13::new();
    parts.iter().for_each(|part| digest.write(part));
    digest.finish128().as_u128()
}

/// A hash of texts.
struct Digest(SipHasher13);

impl Digest {
    fn new() -> Self {
        Self(SipHasher13::new())
    }

    fn text(&mut self, text: &str) {
        self.0.write(text.as_bytes());
        // Separates this text from the next.
        self.0.write_u8(0xff);
    }

    fn debug(&mut self, value: &impl fmt::Debug) {
        // Writing to a digest cannot fail.
        let _ = write!(self, "{value:?}");
        self.0.write_u8(0xff);
    }

    fn finish(self) -> String {
        format!("{:032x}", self.0.finish128().as_u128())
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
