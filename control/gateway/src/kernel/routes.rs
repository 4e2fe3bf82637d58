//! The routes of the kernel: reads its messages, and says when a table is to take effect.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mirror::netlink::{self, Dump, Message};
use mirror::{Mirror, Tap};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};

use crate::event::Table;

/// Changes within this time take effect together.
const TOGETHER: Duration = Duration::from_millis(10);
/// The least time between two tables: 20 in a second.
const EXCHANGE: Duration = Duration::from_millis(50);
/// The share of the control thread that tables may take: one in so many.
const SHARE: u32 = 4;
/// The least time between two dumps.
const DUMP: Duration = Duration::from_secs(1);
/// The kernel drops some IPv4 routes without a message, as when an address goes; so all is read again this often.
const AUDIT: Duration = Duration::from_secs(30);
/// A dump that has not ended by then begins anew.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest datagram of netlink, and how many of them are read at once.
const DATAGRAM: usize = 1 << 16;
const DATAGRAMS: usize = 64;

/// The mirror of a kernel, and where it is in reading it.
pub struct Routes {
    mirror: Mirror,
    buffer: Vec<u8>,
    /// The dump that goes on, of those of [`Dump::ALL`].
    dumping: Option<usize>,
    /// The number of the last request.
    number: u32,
    /// Whether the dump that goes on has failed, or lacks what was lost.
    is_torn: bool,
    /// When the last dump of all began.
    dumped: Option<Instant>,
    /// When changes take effect.
    due: Option<Instant>,
    /// Not before this.
    not_before: Option<Instant>,
    /// The last table.
    last: Option<Table>,
}

impl Routes {
    /// The routes of a kernel with these interfaces, of which nothing was read.
    pub fn new(taps: Vec<Tap>) -> Self {
        Self {
            mirror: Mirror::new(taps),
            buffer: vec![0; DATAGRAM],
            dumping: None,
            number: 0,
            is_torn: false,
            dumped: None,
            due: None,
            not_before: None,
            last: None,
        }
    }

    /// Reads what has come, and asks for what is missing.
    pub fn read(&mut self, socket: &OwnedFd, now: Instant) {
        self.begin_dump(socket, now);
        for _ in 0..DATAGRAMS {
            match recvfrom(socket.as_fd(), &mut self.buffer[..], RecvFlags::TRUNC) {
                Ok((_, length, from)) => {
                    // Only the kernel has port 0.
                    let is_kernel = from
                        .and_then(|it| SocketAddrNetlink::try_from(it).ok())
                        .is_some_and(|it| it.pid() == 0);
                    if is_kernel {
                        self.take(length, socket);
                    }
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                // The buffer of the socket was full.
                Err(_) => {
                    self.lose();
                    break;
                }
            }
        }
        if self.dumping.is_none() && self.mirror.take_changed() {
            self.due.get_or_insert(now + TOGETHER);
        }
    }

    fn begin_dump(&mut self, socket: &OwnedFd, now: Instant) {
        let since = self.dumped.map(|dumped| now - dumped);
        let is_due = match (since, self.dumping) {
            (None, _) => true,
            (Some(since), None) => since >= AUDIT || self.mirror.is_stale() && since >= DUMP,
            // A dump that failed gives no table.
            (Some(since), Some(_)) => since >= if self.is_torn { DUMP } else { PATIENCE },
        };
        if is_due {
            self.mirror.clear();
            self.is_torn = false;
            self.dumped = Some(now);
            self.ask(0, socket);
        }
    }

    fn lose(&mut self) {
        self.is_torn = true;
        self.mirror.see(Message::Lost);
    }

    fn ask(&mut self, dump: usize, socket: &OwnedFd) {
        self.dumping = Some(dump);
        self.number = self.number.wrapping_add(1);
        let request = Dump::ALL[dump].request(self.number);
        // If the kernel does not take it, the dump does not end in time, and begins anew.
        let _ = sendto(socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0));
    }

    fn take(&mut self, length: usize, socket: &OwnedFd) {
        let mut ended = false;
        let bytes = self.buffer.get(..length).unwrap_or_default();
        netlink::read(bytes, |message| {
            // The end of a dump that was given up is none of this one.
            ended |= message == Message::Done(self.number);
            self.is_torn |= message == Message::Lost;
            self.mirror.see(message);
        });
        if length > DATAGRAM {
            self.lose();
        }
        // A torn one begins anew, and the last table stays until then.
        if let Some(dump) = self.dumping.filter(|_| ended && !self.is_torn) {
            match dump + 1 {
                next if next < Dump::ALL.len() => self.ask(next, socket),
                _ => {
                    self.mirror.complete();
                    self.dumping = None;
                }
            }
        }
    }

    /// The table that is to take effect now, if it is another than the last one.
    pub fn table(&mut self, now: Instant) -> Option<Table> {
        let is_due = self.due.is_some_and(|due| now >= due) && self.not_before.is_none_or(|it| now >= it);
        if !is_due || self.dumping.is_some() {
            return None;
        }
        self.due = None;
        let table = self.mirror.table().map(Arc::from);
        if self.last.as_ref() == Some(&table) {
            return None;
        }
        self.last = Some(table.clone());
        Some(table)
    }

    /// Notes that a table took effect at `now`, which took that long. So long, there is none in the meantime.
    pub fn pace(&mut self, now: Instant, took: Duration) {
        self.not_before = Some(now + EXCHANGE.max(took * SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end of a dump: its type, the number of the request, and what its body begins with.
    fn end(kind: u16, number: u32, code: i32) -> Vec<u8> {
        let head = [&20_u32.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 2], &number.to_ne_bytes(), &[0; 4]];
        [&head.concat()[..], &code.to_ne_bytes()].concat()
    }

    #[test]
    fn a_dump_that_fails_gives_no_table_and_begins_anew() {
        const ERROR: u16 = 2;
        const DONE: u16 = 3;
        let (socket, _kernel) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let socket = OwnedFd::from(socket);
        let mut routes = Routes::new(Vec::new());
        let take = |routes: &mut Routes, datagram: Vec<u8>| {
            routes.buffer[..datagram.len()].copy_from_slice(&datagram);
            routes.take(datagram.len(), &socket);
            routes.dumping
        };
        let start = Instant::now();
        routes.begin_dump(&socket, start);
        assert_eq!(take(&mut routes, end(DONE, 9, 0)), Some(0), "the end of another one");
        assert_eq!(take(&mut routes, end(DONE, 1, 0)), Some(1));
        assert_eq!(take(&mut routes, end(ERROR, 2, -95)), Some(2), "a kernel without next hop objects");
        for (kind, code) in [(ERROR, -16), (DONE, -105)] {
            assert_eq!(take(&mut routes, end(kind, 3, code)), Some(2));
        }
        assert_eq!(take(&mut routes, end(DONE, 3, 0)), Some(2));
        routes.begin_dump(&socket, start + DUMP / 2);
        assert_eq!(routes.dumping, Some(2));
        routes.begin_dump(&socket, start + DUMP);
        for dump in 1..=4 {
            let number = routes.number;
            assert_eq!(take(&mut routes, end(DONE, number, 0)), (dump < 4).then_some(dump));
        }
        assert!(!routes.mirror.is_stale());
    }
}
