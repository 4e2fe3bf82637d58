//! Ports that belong together: teams, and bundles with the checks of them.

use super::bundle::BundleError;
use super::error::ProgramError;
use super::forwarding::ForwardingSettings;
use super::port::PortSettings;
use super::settings::Settings;
use crate::congestion::Notifiers;
use units::{PortId, PortSet, Priority};

impl Settings {
    /// The team of `port`: all ports that exchange frames or pauses with it, and itself. These are the two ports of a
    /// patched pair, all ports of a bridge or router, the members of their bundles, and those that a relay joins to any of
    /// them. One core has a team as a whole, or each of several lanes does.
    pub fn team(&self, port: PortId) -> PortSet {
        let ForwardingSettings::Patch(pairs) = &self.forwarding else {
            return PortSet::first(self.ports.len());
        };
        let ports = || (0..).map(PortId).zip(&self.ports);
        let relays = ports().filter_map(|(port, it)| Some((port, it.flow_control.listens_to()?)));
        let members = ports().filter_map(|(port, it)| Some((port, it.bundle.as_ref()?.head)));
        let joined = pairs.iter().copied().chain(relays).chain(members);
        let (mut team, mut last) = ([port].into_iter().collect(), PortSet::EMPTY);
        while team != last {
            last = team;
            let beside = joined.clone().filter(|(one, other)| last.contains(*one) || last.contains(*other));
            team = team.union(beside.flat_map(|(one, other)| [one, other]).collect());
        }
        team
    }

    /// The members of the bundle of `port`; itself alone if it is in none.
    pub fn members(&self, port: PortId) -> PortSet {
        let own = self.head(port);
        (0..self.ports.len() as u16).map(PortId).filter(|other| self.head(*other) == own).collect()
    }

    /// The port that stands for `port` in forwarding: the first member of its bundle, or itself.
    pub fn head(&self, port: PortId) -> PortId {
        self.ports[port.index()].bundle.as_ref().map_or(port, |membership| membership.head)
    }

    /// Whether `members`, in no bundle yet, can be one.
    ///
    /// # Errors
    /// The first member that cannot, and the reason.
    pub fn may_bundle(&self, members: &[PortId]) -> Result<(), (PortId, BundleError)> {
        let Some((head, others)) = members.split_first() else { return Ok(()) };
        if others.is_empty() {
            return Err((*head, BundleError::Alone));
        }
        let port = |member: &PortId| &self.ports[member.index()];
        for member in members {
            is_bundled(port(member), port(head)).map_err(|error| (*member, error))?;
        }
        Ok(())
    }

    /// Checks the bundles, and that forwarding names their first members.
    ///
    /// # Errors
    /// [`ProgramError::Bundle`]: the first port at fault.
    pub fn validate_bundles(&self) -> Result<(), ProgramError> {
        let name = |port: PortId| self.ports[port.index()].name.clone();
        self.find_wrong_member().map_err(|(port, error)| ProgramError::Bundle { port: name(port), error })
    }

    fn find_wrong_member(&self) -> Result<(), (PortId, BundleError)> {
        for number in (0..self.ports.len() as u16).map(PortId) {
            let Some(membership) = &self.ports[number.index()].bundle else { continue };
            let head = self.ports.get(membership.head.index()).and_then(|head| head.bundle.as_ref());
            if head.map(|it| it.head) != Some(membership.head) {
                return Err((number, BundleError::Head));
            }
            if membership.head == number {
                let others = self.members(number).iter().filter(|member| *member != number);
                self.may_bundle(&core::iter::once(number).chain(others).collect::<Vec<_>>())?;
            }
        }
        let ForwardingSettings::Patch(pairs) = &self.forwarding else { return Ok(()) };
        for &(one, other) in pairs {
            if let Some(port) = [one, other].into_iter().find(|port| self.head(*port) != *port) {
                return Err((port, BundleError::Patched));
            }
            if self.head(one) == self.head(other) {
                return Err((one, BundleError::PatchedWithin));
            }
        }
        Ok(())
    }
}

/// Checks that frames of `port` can leave through `head`, and the reverse.
fn is_bundled(port: &PortSettings, head: &PortSettings) -> Result<(), BundleError> {
    let differs = [
        (port.max_frame != head.max_frame, "longest frames"),
        (port.lossless() != head.lossless(), "lossless priorities"),
        (port.notifiers.shared_flows() != head.notifiers.shared_flows(), Notifiers::SHARED_FLOWS),
    ];
    if let Some((_, what)) = differs.into_iter().find(|(differs, _)| *differs) {
        return Err(BundleError::Differs { what, head: head.name.clone() });
    }
    let schemes = [
        (port.slow.is_some(), "a slow queue"),
        (port.queues.len() != Priority::COUNT, "a second queue of a priority"),
    ];
    match schemes.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(BundleError::Scheme { what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BufferSettings, Lscc, Membership, NotLive, Program, RateLimiting};
    use units::{BitRate, Bytes, Interval};
    use wire::ethernet::MacAddress;

    /// Four ports, of which `members` are in a bundle with the first of them.
    fn settings(members: &[u16], pairs: &[(u16, u16)]) -> Settings {
        let port = |number: u8| {
            let mac = MacAddress([2, 0, 0, 0, 0, number]);
            PortSettings::lossy(format!("p{number}"), mac, BitRate::gigabits(100))
        };
        let mut ports: Vec<_> = (0..4).map(port).collect();
        for member in members {
            let (delay, jitter) = (Interval(1_000), Interval::ZERO);
            let head = PortId(members[0]);
            ports[usize::from(*member)].bundle =
                Some(Membership { bundle: "lh".into(), head, delay, jitter, liveness: None });
        }
        let pool = Bytes(1 << 20);
        let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
        let pairs = pairs.iter().map(|(one, other)| (PortId(*one), PortId(*other))).collect();
        Settings { ports, buffer, forwarding: ForwardingSettings::Patch(pairs), seed: 1 }
    }

    fn refused(settings: Settings) -> (String, BundleError) {
        match Program::new(settings) {
            Err(ProgramError::Bundle { port, error }) => (port, error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn members_stand_behind_the_first_of_them_and_belong_to_its_team() {
        let settings = settings(&[1, 2], &[(0, 1)]);
        assert_eq!([0, 1, 2, 3].map(|port| settings.head(PortId(port)).0), [0, 1, 1, 3]);
        assert_eq!(settings.members(PortId(2)), [PortId(1), PortId(2)].into_iter().collect());
        let program = Program::new(settings).unwrap();
        let owned = |ports: &[u16]| program.has_whole_teams(ports.iter().copied().map(PortId).collect());
        assert!(owned(&[0, 1, 2]).is_ok() && owned(&[0, 1]).is_err() && owned(&[1, 2]).is_err());
    }

    #[test]
    fn a_bundle_needs_members_that_take_each_others_frames() {
        assert_eq!(refused(settings(&[1], &[])), ("p1".into(), BundleError::Alone));
        assert_eq!(refused(settings(&[1, 2], &[(0, 2)])), ("p2".into(), BundleError::Patched));
        let mut strange = settings(&[1, 2], &[]);
        strange.ports[1].bundle = None;
        assert_eq!(refused(strange), ("p2".into(), BundleError::Head));
        let mut shorter = settings(&[1, 2], &[]);
        shorter.ports[2].max_frame = Bytes(1_514);
        let differs = BundleError::Differs { what: "longest frames", head: "p1".into() };
        assert_eq!(refused(shorter), ("p2".into(), differs));
        let mut keeps = settings(&[1, 2], &[]);
        let lscc = |flows| Lscc { limiting: RateLimiting { flows, ..Lscc::PLAIN.limiting }, ..Lscc::PLAIN };
        for (port, flows) in [(1, 5), (2, 6)] {
            keeps.ports[port].notifiers.lscc = Some(lscc(flows));
        }
        let differs = || BundleError::Differs { what: Notifiers::SHARED_FLOWS, head: "p1".into() };
        assert_eq!(keeps.may_bundle(&[PortId(1), PortId(2)]), Err((PortId(2), differs())));
        keeps.ports[1].notifiers.lscc = None;
        assert_eq!(keeps.may_bundle(&[PortId(1), PortId(2)]), Err((PortId(2), differs())), "it has none");
        let mut queued = settings(&[1, 2], &[]);
        let second = queued.ports[2].queues[3];
        queued.ports[2].queues.push(second);
        let scheme = BundleError::Scheme { what: "a second queue of a priority" };
        assert_eq!(refused(queued), ("p2".into(), scheme));
    }

    #[test]
    fn no_reload_makes_a_port_a_member_or_takes_it_out() {
        let [none, two, three] =
            [&[][..], &[1, 2], &[1, 2, 3]].map(|members| Program::new(settings(members, &[(0, 1)])).unwrap());
        for (old, new, port) in [(&none, &two, "p1"), (&two, &three, "p3"), (&three, &none, "p1")] {
            assert_eq!(new.can_replace(old), Err(NotLive::Bundle { port: port.into() }));
        }
        assert_eq!(two.can_replace(&two), Ok(()));
    }
}
