//! Signals become events.

use crate::event::Event;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::Sender;
use std::thread;

/// Hears SIGHUP, SIGTERM and SIGINT from now on.
///
/// # Errors
/// What the system says where they cannot be heard.
pub fn hear(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT])?;
    let listen = move || {
        for signal in signals.forever() {
            let event = if signal == SIGHUP { Event::Hangup } else { Event::Terminate };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).map(drop)
}
