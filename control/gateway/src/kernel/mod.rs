//! The kernel path: a TAP for each port and bundle, and the routes and neighbours of the kernel.
//!
//! One thread carries frames between the rings of the worker and the TAPs, and mirrors what the kernel knows. A table goes to the
//! control thread, which has it take effect; there is one at a time.

mod open;
mod routes;

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use config::runtime::KernelTap;
use mirror::{Beyond, NEIGHBOURS_MAX, ROUTES_MAX, Tap};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{read, write};
use switch::Punt;
use units::{PortId, PortSet};
use wire::ethernet::EtherType;
use wire::{ipv4, ipv6, vlan};
use worker::KernelFrame;

pub use open::{KernelError, Opened, open};

use crate::event::{Event, KernelTable};
use routes::Routes;

/// How long a frame of the worker may wait for this thread: the worker makes no system call, so it cannot wake it.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// Frames of a TAP that are read at once.
const FRAMES: usize = 64;
/// The least time between two warnings.
const REPEAT: Duration = Duration::from_secs(60);

/// The table of the kernel that has too many entries, as a sentence.
pub fn excess(beyond: Beyond) -> String {
    let (most, what) = match beyond {
        Beyond::Routes => (ROUTES_MAX, "routes in its main table"),
        Beyond::Neighbours => (NEIGHBOURS_MAX, "neighbours on the TAPs"),
        Beyond::NextHops => (ROUTES_MAX, "next hop objects"),
    };
    format!("the kernel has more than {most} {what}; the gateway keeps the routes before")
}

/// The thread of a kernel path.
struct Path {
    opened: Opened,
    routes: Routes,
    events: Sender<Event>,
    maker: Sender<KernelTable>,
    /// The table that takes effect, and since when.
    pending: Option<(Receiver<()>, Instant)>,
    /// By TAP, the carrier that it has.
    carriers: Vec<Option<bool>>,
    /// Whether the worker had no room for the frames of the kernel.
    is_full: bool,
    /// Frames that the kernel did not take, and the number of them at the last warning.
    refused: Arc<AtomicU64>,
    told: u64,
    warned: Option<Instant>,
}

/// Starts the thread, if there is a kernel path, and one that makes programs of its tables. They end when the control thread
/// has. Returns the counter of frames that the kernel does not take.
///
/// # Errors
/// The error of the system.
pub fn start(opened: Option<Opened>, events: &Sender<Event>) -> io::Result<Arc<AtomicU64>> {
    let refused = Arc::<AtomicU64>::default();
    let Some(opened) = opened else { return Ok(refused) };
    let tap = |(tap, _): &(KernelTap, _)| Tap { name: tap.name.clone(), port: tap.port, learns: tap.learns };
    let routes = Routes::new(opened.taps.iter().map(tap).collect());
    let carriers = vec![None; opened.taps.len()];
    let (maker, tables) = channel::<KernelTable>();
    let made = events.clone();
    let make = move || {
        for mut table in tables {
            table.make();
            // The gateway may have ended.
            let _ = made.send(Event::Kernel(table));
        }
    };
    thread::Builder::new().name("routes".into()).spawn(make)?;
    let (events, refused_here) = (events.clone(), Arc::clone(&refused));
    let mut path = Path {
        opened,
        routes,
        events,
        maker,
        pending: None,
        carriers,
        is_full: false,
        refused: refused_here,
        told: 0,
        warned: None,
    };
    thread::Builder::new().name("kernel".into()).spawn(move || while path.turn() {})?;
    Ok(refused)
}

impl Path {
    /// Waits for the kernel, and carries what has come in both directions. Returns whether the gateway still runs.
    fn turn(&mut self) -> bool {
        // While the worker is behind, the kernel keeps its frames.
        let frames = if self.is_full { PollFlags::empty() } else { PollFlags::IN };
        let taps = self.opened.taps.iter().map(|(_, tap)| PollFd::from_borrowed_fd(tap.as_fd(), frames));
        let netlink = PollFd::from_borrowed_fd(self.opened.netlink.as_fd(), PollFlags::IN);
        let mut wanted: Vec<_> = taps.chain([netlink]).collect();
        // Interrupted or not, there may be something.
        let _ = poll(&mut wanted, Some(&NAP));
        let gone = wanted.iter().position(|it| it.revents().contains(PollFlags::ERR));
        // The last one is netlink, which says so when it has lost messages.
        if let Some(gone) = gone.filter(|gone| *gone < self.carriers.len()) {
            self.forget(gone);
        }
        let now = Instant::now();
        self.follow_carriers();
        self.give(now);
        self.is_full = !self.take();
        self.routes.read(&self.opened.netlink, now);
        self.exchange(now)
    }

    /// Leaves out a TAP that was deleted: it would always be ready, with an error.
    fn forget(&mut self, tap: usize) {
        let (tap, _) = self.opened.taps.remove(tap);
        self.carriers = vec![None; self.opened.taps.len()];
        let reason = format!("the TAP {} is gone; a restart of the gateway opens it again", tap.name);
        // The control thread may have ended.
        let _ = self.events.send(Event::KernelRefused(reason));
    }

    /// Gives the frames of the worker to the kernel.
    fn give(&mut self, now: Instant) {
        let Self { opened: Opened { taps, rings, asking, .. }, refused, .. } = self;
        let give = |frame: &KernelFrame| match frame.class {
            Punt::Miss => destination(&frame.bytes).into_iter().for_each(|it| asking.ask(it)),
            _ => {
                let tap = taps.iter().find(|(tap, _)| tap.port == frame.port);
                let taken = tap.is_some_and(|(_, tap)| write(tap, &frame.bytes).is_ok());
                refused.fetch_add(u64::from(!taken), Relaxed);
            }
        };
        while rings.read(give).is_some() {}
        let refused = self.refused.load(Relaxed);
        if refused > self.told && self.warned.is_none_or(|warned| now - warned >= REPEAT) {
            tracing::warn!("the kernel did not take {} frames; are its TAPs up?", refused - self.told);
            (self.told, self.warned) = (refused, Some(now));
        }
    }

    /// Takes the frames of the kernel. Returns whether the worker had room for all.
    fn take(&mut self) -> bool {
        let Opened { taps, rings, .. } = &mut self.opened;
        taps.iter().all(|(of, tap)| {
            for _ in 0..FRAMES {
                let mut came = false;
                let has_room = rings.send(of.port, |buffer| {
                    came = read(tap, spare_capacity(buffer)).is_ok_and(|length| length > 0);
                    came
                });
                if !has_room || !came {
                    return has_room;
                }
            }
            true
        })
    }

    /// A TAP has a carrier while enough members of its bundle carry data.
    fn follow_carriers(&mut self) {
        let carrying = self.opened.rings.carrying();
        for ((of, tap), carrier) in self.opened.taps.iter().zip(&mut self.carriers) {
            let up = has_carrier(of, carrying);
            if *carrier != Some(up) {
                // If it is not taken, it is tried again.
                *carrier = tap.set_carrier(up).is_ok().then_some(up);
            }
        }
    }

    fn exchange(&mut self, now: Instant) -> bool {
        if let Some((done, since)) = &self.pending {
            if done.try_recv() == Err(TryRecvError::Empty) {
                return true;
            }
            self.routes.pace(now, now - *since);
            self.pending = None;
        }
        let Some(table) = self.routes.table(now) else { return true };
        let (sender, done) = channel();
        self.pending = Some((done, now));
        let table = KernelTable { table, made: Vec::new(), maker: self.maker.clone(), done: sender };
        self.events.send(Event::Kernel(table)).is_ok()
    }
}

/// Whether the TAP has a carrier while the ports of `carrying` carry data.
fn has_carrier(tap: &KernelTap, carrying: PortSet) -> bool {
    let live = |port: &PortId| carrying.contains(*port);
    tap.members.iter().filter(live).count() >= tap.least
}

/// The destination of an IP packet in a frame.
fn destination(frame: &[u8]) -> Option<IpAddr> {
    let stack = vlan::Stack::parse(frame).ok()?;
    let packet = frame.get(stack.payload_offset..)?;
    match stack.ether_type {
        EtherType::IPV4 => ipv4::View::parse(packet).ok().map(|ip| ip.destination().into()),
        EtherType::IPV6 => ipv6::View::parse(packet).ok().map(|ip| ip.destination().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_has_a_carrier_while_as_many_members_as_it_needs_carry_data() {
        let members: PortSet = [PortId(1), PortId(2)].into_iter().collect();
        let tap = |least| KernelTap { name: "lh".into(), port: PortId(1), members, least, learns: false };
        let up = |least, carrying: &[u16]| {
            has_carrier(&tap(least), carrying.iter().copied().map(PortId).collect())
        };
        assert!(up(1, &[2]) && up(2, &[1, 2]));
        assert!(!up(2, &[0, 2]) && !up(1, &[0]));
    }

    #[test]
    fn the_destination_of_a_packet_is_found_behind_a_tag_too() {
        let packet = [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 9][..], &[10, 1, 0, 7]].concat();
        for tag in [&[][..], &[0x81, 0, 0, 7]] {
            let frame = [&[2; 12][..], tag, &[8, 0], &packet].concat();
            assert_eq!(destination(&frame), Some(IpAddr::from([10, 1, 0, 7])));
        }
        assert_eq!(destination(&[0; 60]), None);
    }
}
