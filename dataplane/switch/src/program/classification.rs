//! From code points to priorities.

use units::Priority;
use wire::ip::Dscp;

/// The field of a frame that a port trusts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The DSCP of IPv4 and IPv6. For other frames, the PCP if tagged, else the default.
    #[default]
    Dscp,
    /// The PCP of the outer VLAN tag (IEEE 802.1Q clause 6.9.3). For untagged frames, the default.
    Pcp,
    /// Neither: every frame has the default priority.
    Nothing,
}

/// The rule by which a port finds the priority of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The trusted field.
    pub trust: Trust,
    /// Priority of each DSCP.
    pub dscp: [Priority; 64],
    /// Priority of each PCP.
    pub pcp: [Priority; 8],
    /// Priority of all other frames.
    pub default: Priority,
}

impl Default for Classification {
    /// Maps a DSCP to its class selector (its upper three bits, RFC 2474 section 4.2.2), and a PCP to itself; the
    /// default is priority 0.
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            dscp: core::array::from_fn(|dscp| Priority::from_low_bits(dscp as u8 >> 3)),
            pcp: core::array::from_fn(|pcp| Priority::from_low_bits(pcp as u8)),
            default: Priority::default(),
        }
    }
}

impl Classification {
    /// The priority of a frame with `dscp` and `pcp`.
    #[inline]
    pub fn priority(&self, dscp: Option<Dscp>, pcp: Option<Priority>) -> Priority {
        if self.trust == Trust::Dscp
            && let Some(dscp) = dscp
        {
            return self.dscp[dscp.index()];
        }
        match pcp {
            Some(pcp) if self.trust != Trust::Nothing => self.pcp[pcp.index()],
            _ => self.default,
        }
    }

    /// The lowest DSCP of `priority`.
    pub fn dscp_of(&self, priority: Priority) -> Option<Dscp> {
        let number = self.dscp.iter().position(|it| *it == priority)?;
        Dscp::new(number as u8).ok()
    }

    /// The lowest PCP of `priority`.
    pub fn pcp_of(&self, priority: Priority) -> Option<Priority> {
        Priority::all().find(|pcp| self.pcp[pcp.index()] == priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_priority_of_the_field_that_is_trusted_and_else_the_default() {
        let priority = Priority::from_low_bits;
        let rule = |trust| {
            let mut rule = Classification { trust, default: priority(7), ..Classification::default() };
            (rule.dscp[26], rule.pcp[4]) = (priority(3), priority(5));
            rule
        };
        let (dscp, pcp) = (Some(Dscp::from_low_bits(26)), Some(priority(4)));
        // With both fields, with each of them alone, and with neither.
        for (trust, expected) in
            [(Trust::Dscp, [3, 3, 5, 7]), (Trust::Pcp, [5, 7, 5, 7]), (Trust::Nothing, [7, 7, 7, 7])]
        {
            let frames = [(dscp, pcp), (dscp, None), (None, pcp), (None, None)];
            let found = frames.map(|(dscp, pcp)| rule(trust).priority(dscp, pcp).number());
            assert_eq!(found, expected, "{trust:?}");
        }
    }

    #[test]
    fn by_default_a_dscp_has_the_priority_of_its_class_selector_and_a_pcp_its_own() {
        let rule = Classification::default();
        for number in 0..64 {
            assert_eq!(rule.priority(Some(Dscp::from_low_bits(number)), None).number(), number / 8);
        }
        for pcp in Priority::all() {
            assert_eq!(rule.priority(None, Some(pcp)), pcp);
        }
        assert_eq!(rule.priority(None, None).number(), 0);
    }
}
