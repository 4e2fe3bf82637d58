//! A gateway whose neighbour has turned PFC off for priorities that the file lists.

use switch::program::GroupSettings;
use units::{PortId, PrioritySet};

use crate::gateway::Gateway;

impl Gateway {
    /// The priorities of `port` that a neighbour may turn off and on again.
    pub fn willing(&self, port: PortId) -> PrioritySet {
        self.links[port.index()].willing
    }

    /// This gateway, with PFC on `port` for the `enabled` ones of its lossless priorities and those that no neighbour may
    /// turn off. The memory stays reserved, so a neighbour can turn all of them on again. `None` if the rest of the
    /// configuration needs a priority to be lossless.
    #[must_use]
    pub fn with_pfc(&self, port: PortId, enabled: PrioritySet) -> Option<Self> {
        let mut settings = self.program.settings().clone();
        let off = self.willing(port).difference(enabled);
        let of_port = &mut settings.ports[port.index()];
        for priority in off.iter() {
            of_port.groups[priority.index()] = GroupSettings::Lossy;
        }
        of_port.pfc.obey = of_port.pfc.obey.difference(off);
        let lossless = of_port.lossless();
        if let Some(pfc) = of_port.link_agent.as_mut().and_then(|it| it.message.pfc.as_mut()) {
            pfc.enabled = lossless;
        }
        let program = self.program.with_settings(settings).ok()?;
        Some(Self { program: program.into(), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LH: PortId = PortId(0);

    fn gateway(more: &str) -> Gateway {
        let text = format!(
            "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\ndistance = \"1km\"\n\
             lossless = [{{ priorities = [3, 4] }}]\n{more}\n[port.lldp]\nwilling = [4]\n\
             [[port]]\nname = \"dc0\"\nrate = \"10G\"\n"
        );
        crate::parse(&text, "gw.toml").unwrap()
    }

    #[test]
    fn a_listed_priority_is_turned_off_and_on_again_and_the_memory_stays_reserved() {
        let before = gateway("");
        let with = |bits| before.with_pfc(LH, PrioritySet::from_bits(bits)).unwrap();
        let lossless = |it: &Gateway| it.program.port(LH).lossless().bits();
        assert_eq!(
            [0b1_1000, 0b1000, 0b1_0000, 0].map(|it| lossless(&with(it))),
            [0b1_1000, 0b1000, 0b1_1000, 0b1000]
        );
        let off = with(0b1000);
        let port = off.program.port(LH);
        assert_eq!(
            (port.pfc.obey.bits(), off.program.settings().buffer),
            (0b1000, before.program.settings().buffer)
        );
        assert_eq!(port.link_agent.as_ref().unwrap().message.pfc.unwrap().enabled.bits(), 0b1000);
        assert_eq!(with(0b1_1000).program.settings(), before.program.settings());
    }
}
