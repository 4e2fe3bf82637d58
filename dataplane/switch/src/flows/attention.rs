//! The attention of a port to packets: which of them teach the resolver, are looked up, or go by.

use super::packet::{self, Packet};
use super::role::Role;
use super::sample::{Attention, Sample, Watch};
use super::table::Tick;
use super::{Flows, Way};
use crate::descriptor::Descriptor;
use units::{Interval, Nanos, WireBytes};
use wire::roce::{self, Opcode, Psn};

/// The time for which a port is watched when the origin of a flow seems to have changed: a second shows that the
/// former one is silent, and another one lets the packet come that moves the pin. The sample of a flow of fewer than
/// 30 packets a second may have none in that time; it waits for another turn.
const WATCHED_FOR: Interval = Interval(2 << 30);

impl Flows {
    /// Whether the resolver learns from a sample only.
    #[inline(always)]
    pub fn samples(&self) -> bool {
        self.sample.is_some()
    }

    /// The sample, of a port that is quiet.
    #[inline]
    pub fn quiet_sample(&self, now: Nanos) -> Option<Sample> {
        self.sample.filter(|_| !self.is_watched(now))
    }

    /// Whether all packets are looked up.
    #[inline(always)]
    pub fn is_watched(&self, now: Nanos) -> bool {
        now >= self.watch.since
    }

    /// Looks up all packets from now on if a scheme is `awake`, or only what the resolver learns from.
    pub fn watch(&mut self, now: Nanos, awake: bool) {
        let Some(sample) = &self.sample else { return };
        match (awake || now < self.watch.until, self.is_watched(now)) {
            (true, false) => self.watch = Watch { since: now, most: 1, ..self.watch },
            (false, true) => self.watch = Watch::quiet(sample),
            _ => {}
        }
    }

    /// Looks up all packets up to `until` at least, if it does now.
    pub fn keep_watch(&mut self, until: Nanos) {
        self.watch.until = self.watch.until.max(until);
    }

    /// Watches for a moment, since the origin of a flow seems to have changed.
    pub(super) fn watch_origins(&mut self, now: Nanos) {
        if self.sample.is_some() && !self.is_watched(now) && self.watch.until <= now {
            // The other packets of the burst, some of which may have gone by, are still those of a quiet port.
            self.watch = Watch { since: now + Interval(1), until: now + WATCHED_FOR, most: 1 };
        }
    }

    /// Whether the silence of an origin would have been noticed for about a second.
    pub(super) fn notices_silence(&self, now: Nanos) -> bool {
        self.sample.is_none()
            || self.is_watched(now) && now.since(self.watch.since).0 >> Tick::SHIFT > Tick::QUIET.into()
    }

    /// The attention to a packet that crosses this `way`, on a port with a sample. `looks` is whether it is looked up
    /// in any case.
    #[inline(always)]
    pub fn attention(&self, way: Way, looks: bool, descriptor: &Descriptor, headers: &[u8]) -> Attention {
        if !self.samples() {
            return Attention::Learn;
        }
        match packet::ipv4_of(descriptor, headers).and_then(roce::Head::parse) {
            Some(head) => self.decide(looks, head.address_difference().into(), head.opcode(), head.psn()),
            None => self.attention_unusual(way, looks, descriptor, headers),
        }
    }

    /// As [`Flows::attention`], for a packet that is not over IPv4 without options, or no packet of RoCEv2.
    #[inline(never)]
    fn attention_unusual(&self, way: Way, looks: bool, descriptor: &Descriptor, headers: &[u8]) -> Attention {
        /// Its origin does not matter.
        const ANY: units::PortId = units::PortId(0);
        Packet::find(way, ANY, descriptor, headers).map_or(Attention::Pass, |packet| {
            self.decide(looks, packet.key.hosts.difference(), packet.bth.opcode(), packet.bth.psn())
        })
    }

    /// As [`Flows::attention`], for a packet with this opcode and PSN between two hosts, by the difference of their
    /// addresses.
    #[inline(always)]
    pub(super) fn decide(&self, looks: bool, difference: u64, opcode: Opcode, psn: Psn) -> Attention {
        let in_sample = |it: &Sample| it.takes(difference, psn);
        match self.sample.as_ref().is_none_or(in_sample) || Role::of(opcode).always {
            true => Attention::Learn,
            false if looks => Attention::Look,
            false => Attention::Pass,
        }
    }

    /// The bytes that a packet of so many `bytes` outside of the sample counts. On a quiet port, where its congestion
    /// mark alone lets it be looked up, those in the sample count for it.
    #[inline(always)]
    pub(super) fn counted_outside(&self, now: Nanos, bytes: WireBytes) -> WireBytes {
        if self.is_watched(now) { bytes } else { WireBytes(0) }
    }

    /// The number of packets with data that one without the next PSN of its half-flow stands for.
    pub(super) fn left_out(&self, now: Nanos, role: Role) -> u64 {
        match &self.sample {
            Some(sample) if !role.single && !self.is_watched(now) => sample.learn().into(),
            _ => 1,
        }
    }
}
