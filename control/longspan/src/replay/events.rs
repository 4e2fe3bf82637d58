//! The file of events.

use crate::events::file::EventFile;
use crate::failure::Failure;
use config::Gateway;
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A file to which events are written, one JSON object a line.
pub struct Recorded {
    path: PathBuf,
    lines: Rc<RefCell<Lines>>,
}

struct Lines {
    file: EventFile,
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
        let lines = Lines { file: EventFile::new(file, names, 0), outcome: Ok(()) };
        Ok(Self { path: path.into(), lines: Rc::new(RefCell::new(lines)) })
    }

    /// Writes an event to the file.
    pub fn sink(&self) -> impl FnMut(&switch::Event) + 'static {
        let lines = self.lines.clone();
        move |event| {
            let Lines { file, outcome } = &mut *lines.borrow_mut();
            if outcome.is_ok() {
                *outcome = file.write(event);
            }
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Failure::Write`], also of an earlier event.
    pub fn finish(self) -> Result<(), Failure> {
        let Lines { file, outcome } = &mut *self.lines.borrow_mut();
        let written = core::mem::replace(outcome, Ok(())).and_then(|()| file.flush());
        written.map_err(Failure::unwritten(&self.path))
    }
}
