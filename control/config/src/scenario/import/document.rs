//! Writes the scenario.

use core::fmt::Write;
use std::collections::BTreeMap;

use units::Interval;

use super::buffers::{Buffers, Thresholds};
use super::flows::Flows;
use super::hosts::Hosts;
use super::topology::Network;

/// The group of all flows in results.
const GROUP: &str = "flows";

/// Everything that a scenario is written from.
pub(super) struct Document<'a> {
    pub network: &'a Network,
    pub flows: &'a Flows,
    pub hosts: Hosts,
    pub buffers: Buffers,
    /// Whether switches send PFC frames.
    pub is_lossless: bool,
    /// The time in which flows start, counted from the first one.
    pub until: Interval,
    /// The end of the run, counted in the same way.
    pub limit: Interval,
    /// The share of frames that any link without its own error rate loses.
    pub errors: f64,
}

impl Document<'_> {
    /// The scenario, for flows in the files of these names.
    pub fn write(&self, lists: &[String]) -> String {
        let mut text = String::from(HEADER);
        // Writing to a string cannot fail.
        let _ = self.write_run(&mut text);
        let _ = self.write_topology(&mut text);
        text += &self.hosts.text;
        let _ = self.write_switches(&mut text);
        for list in lists {
            let _ =
                write!(text, "\n[[traffic]]\ngroup = \"{GROUP}\"\npattern = \"list\"\nfile = \"{list}\"\n");
        }
        text
    }

    fn write_run(&self, text: &mut String) -> core::fmt::Result {
        writeln!(text, "[scenario]\nuntil = \"{}\"\nlimit = \"{}\"", self.until, self.limit)?;
        let lossless = self.flows.priorities.iter().filter(|_| self.is_lossless);
        let lossless: Vec<_> = lossless.map(|it| it.number().to_string()).collect();
        writeln!(text, "\n[network]\nlossless = [{}]", lossless.join(", "))
    }

    fn write_topology(&self, text: &mut String) -> core::fmt::Result {
        let names = |switches| quoted(&self.network.names(switches));
        writeln!(text, "\n[topology]\ntemplate = \"free\"")?;
        writeln!(text, "hosts = [{}]\nswitches = [{}]\nlink = [", names(false), names(true))?;
        for link in &self.network.links {
            let between = quoted(&link.ends.map(|node| self.network.name(node)));
            let rate = self.hosts.link_rate(link.rate);
            writeln!(
                text,
                "    {{ between = [{between}], rate = \"{rate}\", delay = \"{}\" }},",
                link.delay
            )?;
        }
        writeln!(text, "]")?;
        for link in &self.network.links {
            let corruption = if link.errors > 0.0 { link.errors } else { self.errors };
            if corruption > 0.0 {
                let between = quoted(&link.ends.map(|node| self.network.name(node)));
                writeln!(text, "\n[[link]]\nbetween = [{between}]\nfaults.corruption = {corruption:?}")?;
            }
        }
        Ok(())
    }

    fn write_switches(&self, text: &mut String) -> core::fmt::Result {
        let Buffers { marks, by_rate, host_rate, shared } = &self.buffers;
        let Some((_, usual)) = shared.first() else { return Ok(()) };
        writeln!(text, "\n[switch]\nbuffer.shared = \"{usual}\"")?;
        let group = "reserved = \"4KiB\"\nxon = \"4KiB\"\nxon_offset = \"3KiB\"";
        let Some(default) = by_rate.get(host_rate) else { return Ok(()) };
        if self.is_lossless {
            writeln!(text, "\n[switch.lossless]\n{group}\ndynamic_th = {}", default.dynamic_th)?;
        }
        if *marks {
            writeln!(text, "\n[switch.ecn]\n{}", default.ecn().replace(", ", "\n"))?;
        } else {
            writeln!(text, "\n[switch.ecn]\non = false")?;
        }
        for (node, own) in shared {
            let ports = self.unusual_ports(*node, default);
            if own == usual && ports.is_empty() {
                continue;
            }
            writeln!(text, "\n[[node]]\nname = \"{}\"", self.network.name(*node))?;
            if own != usual {
                writeln!(text, "switch.buffer.shared = \"{own}\"")?;
            }
            for (peer, thresholds) in ports {
                let lossless = || format!("lossless.dynamic_th = {}", thresholds.dynamic_th);
                let ecn = || format!("ecn = {{ {} }}", thresholds.ecn());
                let keys = [self.is_lossless.then(lossless), marks.then(ecn)];
                let keys: Vec<_> = keys.into_iter().flatten().collect();
                if !keys.is_empty() {
                    writeln!(text, "port.{peer} = {{ {} }}", keys.join(", "))?;
                }
            }
        }
        Ok(())
    }

    /// The ports of a switch whose thresholds are not the `default`, by the name of the peer.
    fn unusual_ports(&self, node: u32, default: &Thresholds) -> BTreeMap<String, &Thresholds> {
        let ports = self.network.links_of(node).filter_map(|link| {
            let peer = if link.ends[0] == node { link.ends[1] } else { link.ends[0] };
            Some((self.network.name(peer), self.buffers.by_rate.get(&link.rate)?))
        });
        ports.filter(|(_, thresholds)| *thresholds != default).collect()
    }
}

/// The comment at the top.
const HEADER: &str =
    "# Made by `longspan import-ns3`; docs/ns3.md explains the values. Times begin with the first flow.\n\n";

/// The names of an array.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
