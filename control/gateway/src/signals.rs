//! Turns signals into events. A second termination signal ends the process at once.

use crate::event::Event;
use crate::socket_file::SocketFile;
use core::time::Duration;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

/// The exit status after a second signal: a failure at run time.
const ENDED: i32 = 1;
/// The time limit for the last log lines, as the log's reader may be blocked.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The file to remove however the process ends; set once it exists.
pub type Leftover = Arc<OnceLock<Arc<SocketFile>>>;

/// Handles SIGHUP, SIGTERM and SIGINT from now on. The second SIGTERM or SIGINT removes `leftover` and ends
/// the process at once, whatever its other threads do.
///
/// # Errors
/// The error of the system if the signals cannot be heard.
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

/// Sends an event. A failure means that the gateway is ending anyway.
fn tell(events: &Sender<Event>, event: Event) {
    let _ = events.send(event);
}

/// Ends the process without waiting for other threads or their locks. A normal exit of the C library could
/// wait for both.
fn end_at_once(leftover: &Leftover) {
    let removed = leftover.get().map_or(Ok(()), |file| file.remove());
    dpdk::leave_runtime_directory();
    let (told, is_told) = channel();
    let last_words = move || {
        tracing::error!("second signal: the gateway stops at once, and queued frames are lost");
        if let Err(error) = removed {
            tracing::warn!("cannot remove the control socket: {error}");
        }
        // The receiver may have timed out.
        let _ = told.send(());
    };
    if thread::Builder::new().name("last-words".into()).spawn(last_words).is_ok() {
        // Wait until they are written, or the time is up.
        let _ = is_told.recv_timeout(LAST_WORDS);
    }
    signal_hook::low_level::exit(ENDED);
}
