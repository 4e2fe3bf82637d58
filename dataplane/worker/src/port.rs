//! A port of a worker: its device, and the path from the switch to it.

use crate::capture::Tapped;
use crate::{DelayLine, Device, Tap};
use core::ops::{Deref, DerefMut};
use switch::receive_ring::RingWatch;
use switch::{Frame, Links, Shard, Transmitter, Volume};
use units::{Nanos, PortId};
use wire::ethernet::{EtherType, View};
use wire::{grants, ptp};

/// A port and its device.
pub(crate) struct Port<D: Device> {
    pub id: PortId,
    pub device: D,
    /// The emulated link between the switch and the device, if any.
    pub line: Option<Box<DelayLine<D::Frame>>>,
    /// While it is down, the device gets no frames, and they wait in the switch.
    pub link_is_up: bool,
    /// Data frames dropped during a drain.
    pub drained: Volume,
    /// Its full bursts in a row.
    pub ring: RingWatch,
    /// Copies its frames, if anybody captures them.
    pub tap: Option<Box<Tap>>,
}

impl<D: Device> Port<D> {
    pub fn new(id: PortId, device: D) -> Self {
        Self {
            id,
            device,
            line: None,
            link_is_up: true,
            drained: Volume::ZERO,
            ring: RingWatch::default(),
            tap: None,
        }
    }

    /// Drops the data frames of `burst`, and leaves PFC, PAUSE, grant and gPTP frames.
    #[cold]
    pub fn drop_data(&mut self, burst: &mut Vec<D::Frame>) {
        burst.retain(|frame| {
            let is_control = is_control(frame.headers());
            if !is_control {
                self.drained.count(frame.length());
            }
            is_control
        });
    }
}

fn is_control(headers: &[u8]) -> bool {
    let is_mac_control = |view: View<_>| view.ether_type() == EtherType::MAC_CONTROL;
    View::parse(headers).is_ok_and(is_mac_control) || grants::is_frame(headers) || ptp::is_frame(headers)
}

/// The ports of a worker.
pub(crate) struct Ports<D: Device> {
    ports: Vec<Port<D>>,
    /// By port of the switch, its place among them.
    places: Vec<Option<usize>>,
}

impl<D: Device> FromIterator<Port<D>> for Ports<D> {
    fn from_iter<I: IntoIterator<Item = Port<D>>>(ports: I) -> Self {
        let ports: Vec<_> = ports.into_iter().collect();
        let count = ports.iter().map(|port| port.id.index() + 1).max().unwrap_or_default();
        let mut places = vec![None; count];
        ports.iter().enumerate().for_each(|(place, port)| places[port.id.index()] = Some(place));
        Self { ports, places }
    }
}

impl<D: Device> Deref for Ports<D> {
    type Target = [Port<D>];

    fn deref(&self) -> &[Port<D>] {
        &self.ports
    }
}

impl<D: Device> DerefMut for Ports<D> {
    fn deref_mut(&mut self) -> &mut [Port<D>] {
        &mut self.ports
    }
}

impl<D: Device> Ports<D> {
    fn place(&self, id: PortId) -> Option<usize> {
        self.places.get(id.index()).copied().flatten()
    }

    /// The port called `id` in the switch, if the worker has it.
    pub fn port(&self, id: PortId) -> Option<&Port<D>> {
        self.ports.get(self.place(id)?)
    }

    /// The same, to be changed.
    pub fn port_mut(&mut self, id: PortId) -> Option<&mut Port<D>> {
        let place = self.place(id)?;
        self.ports.get_mut(place)
    }
}

impl<D: Device> Links<D::Frame> for Ports<D> {
    #[inline]
    fn takes(&self, port: PortId) -> bool {
        self.port(port).is_some_and(|port| {
            let room = port.line.as_ref().map_or_else(|| port.device.room(), |line| line.room());
            port.link_is_up && room > 0
        })
    }

    #[inline]
    fn frame(&mut self, port: PortId, start: Nanos, frame: D::Frame) {
        let port = self.port_mut(port).expect("a link that takes frames is that of a port of the worker");
        if let Some(tap) = &mut port.tap
            && tap.wants_forwarded()
        {
            tap.see_sent(start, frame.headers(), frame.length());
        }
        match &mut port.line {
            Some(line) => line.frame(start, frame),
            None => port.device.transmit(frame),
        }
    }
}

/// The result of one [`Shard::egress`] into the device or its emulated link.
pub(crate) struct Sent {
    /// Whether anything left.
    pub any: bool,
    /// Whether frames filled all the room.
    pub all_room: bool,
}

impl<D: Device> Port<D> {
    /// Sends the frames that the switch has for the port.
    #[inline]
    pub fn send(&mut self, shard: &mut Shard<D::Frame>, now: Nanos) -> Sent {
        if self.tap.is_some() {
            return self.send_tapped(shard, now);
        }
        let Some(line) = &mut self.line else {
            let mut outlet = Outlet::new(&mut self.device);
            shard.egress(now, self.id, &mut outlet);
            return Sent { any: outlet.used, all_room: outlet.room == 0 };
        };
        let before = line.counters().entered;
        shard.egress(now, self.id, &mut **line);
        Sent { any: line.counters().entered > before, all_room: false }
    }

    /// As [`Port::send`], and copies the frames. It is compiled apart, so that [`Outlet::frame`] need not test for a tap.
    #[inline(never)]
    fn send_tapped(&mut self, shard: &mut Shard<D::Frame>, now: Nanos) -> Sent {
        let Some(mut tap) = self.tap.take() else { return self.send(shard, now) };
        let sent = match &mut self.line {
            None => {
                let mut outlet = Outlet::new(&mut self.device);
                shard.egress(now, self.id, &mut Tapped { tap: &mut tap, out: &mut outlet });
                Sent { any: outlet.used, all_room: outlet.room == 0 }
            }
            Some(line) => {
                let before = line.counters().entered;
                shard.egress(now, self.id, &mut Tapped { tap: &mut tap, out: &mut **line });
                Sent { any: line.counters().entered > before, all_room: false }
            }
        };
        self.tap = Some(tap);
        sent
    }

    /// Hands waiting frames to the hardware, after those that have arrived at the end of the emulated link.
    #[inline]
    pub fn flush(&mut self, now: Nanos) {
        if let Some(line) = &mut self.line {
            while line.next_deadline() <= now {
                let mut outlet = Outlet::new(&mut self.device);
                line.release(now, &mut outlet);
                let full = !outlet.used;
                self.device.flush();
                if full {
                    return;
                }
            }
        }
        self.device.flush();
    }
}

/// Gives departing frames to the device. Ignores their start instants, which the real link determines.
struct Outlet<'a, D> {
    device: &'a mut D,
    /// Data frames that the device still takes.
    room: usize,
    /// Whether anything left.
    used: bool,
}

impl<'a, D: Device> Outlet<'a, D> {
    fn new(device: &'a mut D) -> Self {
        Self { room: device.room(), device, used: false }
    }
}

impl<D: Device> Transmitter<D::Frame> for Outlet<'_, D> {
    #[inline]
    fn room(&self) -> usize {
        self.room
    }

    #[inline]
    fn frame(&mut self, _start: Nanos, frame: D::Frame) {
        self.room -= 1;
        self.used = true;
        self.device.transmit(frame);
    }

    fn control(&mut self, _start: Nanos, frame: &[u8]) {
        self.used = true;
        self.device.transmit_control(frame);
    }
}
