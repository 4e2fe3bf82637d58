//! The events of switches, in a file for each.

use crate::events::file::{EventFile, SavedEvents};
use config::scenario::{RecordedEvents, Scenario};
use simulation::NodeId;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use units::PortSet;

/// The directory with the files.
pub const EVENTS: &str = "events";

/// The files of the switches whose events are recorded.
pub struct EventLog {
    files: BTreeMap<NodeId, (PortSet, EventFile)>,
    recorded: RecordedEvents,
    error: Option<io::Error>,
}

/// The state of each file.
pub type EventState = BTreeMap<NodeId, SavedEvents>;

impl EventLog {
    /// Creates `directory/NODE.jsonl` for each switch whose events `scenario` records.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(directory: &Path, scenario: &Scenario) -> io::Result<Self> {
        Self::all(directory, scenario, |_, path| Ok((File::create(path)?, 0)))
    }

    /// Opens the same files as they were in `state`, and goes on there. All after that is removed.
    ///
    /// # Errors
    /// Those of the file system; [`ErrorKind::UnexpectedEof`] if a file is shorter.
    pub fn go_on(directory: &Path, scenario: &Scenario, state: &EventState) -> io::Result<Self> {
        Self::all(directory, scenario, |node, path| {
            let SavedEvents { length, number } = state.get(&node).copied().unwrap_or_default();
            let mut file = File::options().write(true).open(path)?;
            if file.metadata()?.len() < length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok((file, number))
        })
    }

    fn all(
        directory: &Path,
        scenario: &Scenario,
        open: impl Fn(NodeId, PathBuf) -> io::Result<(File, u64)>,
    ) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for (node, ports) in &scenario.events.ports {
            let it = scenario.topology.node(*node);
            let (file, number) = open(*node, directory.join(format!("{}.jsonl", it.name)))?;
            let names = it.ports.iter().map(|port| port.name.clone()).collect();
            files.insert(*node, (*ports, EventFile::new(file, names, number)));
        }
        Ok(Self { files, recorded: scenario.events.clone(), error: None })
    }

    /// Adds an event of `switch`, if it is recorded.
    pub fn add(&mut self, switch: NodeId, event: &switch::Event) {
        let Some((ports, file)) = self.files.get_mut(&switch) else { return };
        let is_of_port = event.port.is_none_or(|port| ports.contains(port));
        if is_of_port
            && self.recorded.kinds.contains(&event.what.kind())
            && let Err(error) = file.write(event)
        {
            self.error.get_or_insert(error);
        }
    }

    /// Their state, for a checkpoint, once what was written is on the disk.
    ///
    /// # Errors
    /// Those of the file system, also of an earlier event.
    pub fn state(&mut self) -> io::Result<EventState> {
        if let Some(error) = &self.error {
            return Err(error.kind().into());
        }
        self.files.iter_mut().map(|(node, (_, file))| Ok((*node, file.save()?))).collect()
    }

    /// Completes the files.
    ///
    /// # Errors
    /// The first error since they were created.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error {
            Some(error) => Err(error),
            None => self.files.values_mut().try_for_each(|(_, file)| file.flush()),
        }
    }
}
