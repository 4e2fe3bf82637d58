//! Signals become events. A second one that asks the gateway to end is not left to anybody: it ends the process.

use crate::event::Event;
use crate::socket::SocketFile;
use core::time::Duration;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

/// The exit status of a process that a second signal has ended: something went wrong while it ran.
const ENDED: i32 = 1;
/// How long the last words may take: whoever reads the log may stand still.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is to go with the process, however it ends; set as soon as it is there.
pub type Leftover = Arc<OnceLock<Arc<SocketFile>>>;

/// Hears SIGHUP, SIGTERM and SIGINT from now on. The second of the latter two removes `leftover` and ends the
/// process at once, wherever its other threads are.
///
/// # Errors
/// What the system says where they cannot be heard.
pub fn hear(events: Sender<Event>, leftover: Leftover) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT])?;
    let listen = move || {
        let mut asked_to_end = false;
        for signal in signals.forever() {
            match signal {
                SIGHUP => tell(&events, Event::Hangup),
                _ if asked_to_end => end_at_once(&leftover),
                _ => {
                    asked_to_end = true;
                    tell(&events, Event::Terminate);
                }
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).map(drop)
}

/// Nobody hears it where the gateway is about to end, which is all that it could ask for.
fn tell(events: &Sender<Event>, event: Event) {
    let _ = events.send(event);
}

/// Ends the process. Nothing here waits for another thread, or takes what one may hold: what the C library would
/// still do at an exit can wait for both.
fn end_at_once(leftover: &Leftover) {
    let removed = leftover.get().map_or(Ok(()), |file| file.remove());
    dpdk::leave_runtime_directory();
    let (told, is_told) = channel();
    let last_words = move || {
        tracing::error!("second signal: the gateway stops at once, and queued frames are lost");
        if let Err(error) = removed {
            tracing::warn!("cannot remove the control socket: {error}");
        }
        // Nobody may wait for it any more.
        let _ = told.send(());
    };
    if thread::Builder::new().name("last-words".into()).spawn(last_words).is_ok() {
        // They are said, or there is no time left for them.
        let _ = is_told.recv_timeout(LAST_WORDS);
    }
    signal_hook::low_level::exit(ENDED);
}
