//! The figures of a bundle: with all of its links, with one link less, and of the cut between both.

use switch::liveness::{Liveness, Proof};
use switch::program::{Membership, PortSettings};
use units::human::{count_of, rate};
use units::{BitRate, Bytes, Interval};

use crate::gateway::Gateway;
use crate::headroom::frame_time;
use crate::link::Link;
use crate::thresholds::may_hold;

/// How a gateway notices that a link has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// Its word.
    pub by: &'static str,
    /// T: the most time from the last sign of the link that arrives until the gateway acts.
    pub within: Interval,
}

impl Detection {
    /// That of a member: silence for three hellos if it has them, or the carrier.
    fn of(membership: &Membership) -> Self {
        let Some(Liveness { proof: Proof::Hellos(hellos), .. }) = membership.liveness else {
            return Self { by: "carrier", within: Membership::CARRIER_WATCH };
        };
        Self { by: "hello", within: hellos.interval * Liveness::MULTIPLIER.into() }
    }
}

/// The figures of a bundle, which has two members or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSum {
    /// The name of the bundle.
    pub name: String,
    /// Its members, in the order of ports.
    pub members: Vec<MemberSum>,
    /// How a cut is noticed.
    pub detection: Detection,
}

/// The figures of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSum {
    /// The name of the port.
    pub port: String,
    /// The rate of the link.
    pub rate: BitRate,
    /// The most that its lossless priorities hold; none without such.
    pub buffer: Bytes,
    /// The most bytes on the wire that a cut destroys in one direction: `R (2 D + T)`, and what the gateway hands over early.
    /// If the link is cut at its far end, D of data is on it, and the sign of the failure takes another D to arrive.
    pub destroyed: Bytes,
    /// The most time from the cut until frames leave through other members: `D + T`, `hold_off`, and what this link is longer
    /// than they. With hellos, the end that hears nothing may have to tell the other one, which takes another D.
    pub moves_after: Interval,
}

impl BundleSum {
    /// The bundles of `gateway`. Their members have one way to notice a cut.
    pub fn all(gateway: &Gateway) -> Vec<Self> {
        let ports = &gateway.program.settings().ports;
        let own = |port: &PortSettings| port.bundle.clone();
        let heads = ports
            .iter()
            .enumerate()
            .filter_map(|(index, port)| own(port).filter(|membership| membership.head.index() == index));
        let bundle = |head: Membership| {
            let (detection, hold_off) =
                (Detection::of(&head), head.liveness.map_or(Interval::ZERO, |it| it.hold_off));
            let links = ports.iter().zip(&gateway.links);
            let members = links.filter_map(|(port, link)| Some((port, link, own(port)?)));
            let members: Vec<_> = members.filter(|(.., it)| it.head == head.head).collect();
            let least = members.iter().map(|(.., it)| it.delay).min().unwrap_or_default();
            let member = |(port, link, membership): &(&PortSettings, &Link, Membership)| {
                let far = membership.delay + membership.jitter;
                let ahead = port.tx_window + frame_time(port.rate, port.max_frame);
                let noticed = far + detection.within + link.interface_delay;
                let told = if membership.liveness.is_some_and(|it| it.place().is_some()) {
                    far
                } else {
                    Interval::ZERO
                };
                MemberSum {
                    port: port.name.clone(),
                    rate: port.rate,
                    buffer: may_hold(port, &gateway.program.settings().buffer).unwrap_or_default(),
                    destroyed: Bytes(port.rate.bytes_in(far + noticed + ahead).saturating_add(1)),
                    moves_after: noticed + told + hold_off + ahead + (far - least),
                }
            };
            Self { name: head.bundle, members: members.iter().map(member).collect(), detection }
        };
        heads.map(bundle).collect()
    }

    /// The rate of all members, in bits per second.
    pub fn rate(&self) -> u64 {
        self.members.iter().fold(0, |sum, member| sum.saturating_add(member.rate.bits_per_second()))
    }

    /// The most that frames from all members hold.
    pub fn buffer(&self) -> Bytes {
        self.members.iter().map(|member| member.buffer).sum()
    }

    /// The member whose loss takes most of the rate.
    pub fn fastest(&self) -> &MemberSum {
        let first = |one: &&MemberSum, other: &&MemberSum| other.rate.cmp(&one.rate);
        self.members.iter().min_by(first).expect("a bundle has two members or more")
    }

    /// The most that a cut of one member destroys in one direction, in bytes on the wire.
    pub fn destroyed(&self) -> Bytes {
        self.members.iter().map(|member| member.destroyed).max().unwrap_or_default()
    }

    /// The most time from a cut of one member until its frames leave through others.
    pub fn moves_after(&self) -> Interval {
        self.members.iter().map(|member| member.moves_after).max().unwrap_or_default()
    }

    /// In words: with all links, with one link less, and of the cut between both.
    pub fn statements(&self) -> [(String, String); 3] {
        let (count, lost) = (self.members.len() as u64, self.fastest());
        let left = self.rate() - lost.rate.bits_per_second();
        let with_all = format!("{}; frames from them hold up to {:#}", rate(self.rate()), self.buffer());
        let with_less = format!(
            "{} without {}, and up to {:#}; PFC holds back up to {:#} of the senders; headroom does not change",
            rate(left),
            lost.port,
            self.buffer() - lost.buffer,
            lost.rate,
        );
        let cut = format!(
            "destroys up to {:#} in each direction, and frames move after {:#} at most ({}, noticed within {:#}); no \
             lossless frame inside is lost",
            self.destroyed(),
            self.moves_after(),
            self.detection.by,
            self.detection.within,
        );
        let links = |count| count_of(count, "link");
        [(links(count), with_all), (links(count - 1), with_less), ("a cut".into(), cut)]
    }
}
