//! A file of events of a switch, one JSON object a line.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use telemetry::events::{Event, What};

/// A file of events.
pub struct EventFile {
    out: BufWriter<File>,
    /// The names of the ports.
    names: Vec<String>,
    /// The number of the next event.
    number: u64,
}

/// A file of events as it is on the disk.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SavedEvents {
    /// Its length in bytes.
    pub length: u64,
    /// Its events.
    pub number: u64,
}

impl EventFile {
    /// Writes to `file`, which has so many events so far, those of a switch whose ports have these names.
    pub fn new(file: File, names: Vec<String>, number: u64) -> Self {
        Self { out: BufWriter::new(file), names, number }
    }

    /// Writes an event.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&mut self, event: &switch::Event) -> io::Result<()> {
        let switch::Event { at, port, priority, .. } = *event;
        let event =
            Event { number: self.number, at_ns: at.0, core: None, port, priority, what: What::from(event) };
        self.number += 1;
        serde_json::to_writer(&mut self.out, &event.serializable(&self.names))?;
        self.out.write_all(b"\n")
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Its state, once all is on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&mut self) -> io::Result<SavedEvents> {
        self.flush()?;
        self.out.get_ref().sync_data()?;
        Ok(SavedEvents { length: self.out.get_ref().metadata()?.len(), number: self.number })
    }
}
