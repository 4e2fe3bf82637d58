//! The file of events.

use crate::failure::Failure;
use config::Gateway;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use telemetry::events::{Event, What};

/// A file to which events are written, one JSON object a line.
pub struct Recorded {
    path: PathBuf,
    lines: Rc<RefCell<Lines>>,
}

struct Lines {
    file: BufWriter<File>,
    names: Vec<String>,
    number: u64,
    /// The first error.
    outcome: io::Result<()>,
}

impl Recorded {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn create(path: &Path, gateway: &Gateway) -> Result<Self, Failure> {
        let file = File::create(path).map_err(Failure::uncreated(path))?;
        let names = gateway.port_names().map(str::to_owned).collect();
        let lines = Lines { file: BufWriter::new(file), names, number: 0, outcome: Ok(()) };
        Ok(Self { path: path.into(), lines: Rc::new(RefCell::new(lines)) })
    }

    /// Writes an event to the file.
    pub fn sink(&self) -> impl FnMut(&switch::Event) + 'static {
        let lines = self.lines.clone();
        move |event| lines.borrow_mut().write(event)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Failure::Write`], also of an earlier event.
    pub fn finish(self) -> Result<(), Failure> {
        let Lines { file, outcome, .. } = &mut *self.lines.borrow_mut();
        let written = core::mem::replace(outcome, Ok(())).and_then(|()| file.flush());
        written.map_err(Failure::unwritten(&self.path))
    }
}

impl Lines {
    fn write(&mut self, event: &switch::Event) {
        let switch::Event { at, port, priority, .. } = *event;
        let event =
            Event { number: self.number, at_ns: at.0, core: None, port, priority, what: What::from(event) };
        self.number += 1;
        if self.outcome.is_ok() {
            let line = serde_json::to_writer(&mut self.file, &event.serializable(&self.names));
            self.outcome = line.map_err(io::Error::from).and_then(|()| self.file.write_all(b"\n"));
        }
    }
}
