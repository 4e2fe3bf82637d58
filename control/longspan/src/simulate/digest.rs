//! What the results of a run depend on, in a few letters: two runs with the same digest have the same results.

use config::scenario::Scenario;
use core::fmt::{self, Write};
use core::hash::Hasher;
use siphasher::sip128::{Hasher128, SipHasher13};

/// Which Longspan this is, down to its code.
pub struct Build(String);

impl Build {
    /// This one: its version and, where it can be read, its executable.
    pub fn this() -> Self {
        let mut text = Digest::new();
        text.text(env!("CARGO_PKG_VERSION"));
        if let Ok(executable) = std::env::current_exe().and_then(std::fs::read) {
            text.0.write(&executable);
        }
        Self(text.finish())
    }
}

/// Of everything that the results of `scenario` depend on: the files that it names are in it, comments are not.
pub fn of_run(build: &Build, scenario: &Scenario) -> String {
    let mut digest = Digest::new();
    digest.text(&build.0);
    let Scenario { name, network, topology, groups, traffic, sampling, switches, .. } = scenario;
    digest.debug(&(name, scenario.options(), &network.links, topology));
    digest.debug(&(groups, traffic, sampling, switches));
    for node in &network.nodes {
        // A switch is its configuration, which is above.
        if let simulation::NodeKind::Host(settings) = &node.kind {
            digest.debug(settings);
        }
    }
    digest.finish()
}

/// Takes text, and keeps none of it.
struct Digest(SipHasher13);

impl Digest {
    fn new() -> Self {
        Self(SipHasher13::new())
    }

    fn text(&mut self, text: &str) {
        self.0.write(text.as_bytes());
        // So that two texts are not one longer one.
        self.0.write_u8(0xff);
    }

    fn debug(&mut self, value: &impl fmt::Debug) {
        // A digest takes all that is written to it.
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
