//! The files that a scenario names: configurations of gateways, distributions, lists of flows, and traces.

use std::io::{BufRead, BufReader, Cursor};
use std::path::PathBuf;
use std::sync::Arc;

use crate::file::{open_regular, read_text};
use crate::gateway::Gateway;
use crate::load;

/// Where these files are.
#[derive(Clone, Debug)]
pub(super) enum Beside {
    /// Nowhere: the scenario is not a file, and can name none.
    Nowhere,
    /// In the directory of the scenario, where their paths begin.
    Directory(PathBuf),
    /// In memory: their names and texts.
    Texts(Arc<[(String, String)]>),
}

impl Beside {
    /// The text of the file `name`, or why there is none.
    pub fn text(&self, name: &str) -> Result<String, String> {
        match self {
            Self::Nowhere => Err("a scenario that is not a file has no directory to find it in".into()),
            Self::Directory(directory) => read_text(&directory.join(name)).map_err(|error| error.to_string()),
            Self::Texts(texts) => {
                let found = texts.iter().find(|(known, _)| known == name);
                found.map(|(_, text)| text.clone()).ok_or_else(|| "there is no such file".into())
            }
        }
    }

    /// The file `name`, to be read line by line, or why there is none.
    pub fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        match self {
            Self::Directory(directory) => {
                let file = open_regular(&directory.join(name)).map_err(|error| error.to_string())?;
                Ok(Box::new(BufReader::new(file)))
            }
            Self::Nowhere | Self::Texts(_) => Ok(Box::new(Cursor::new(self.text(name)?))),
        }
    }

    /// The gateway whose configuration is the file `name`, or why there is none.
    pub fn gateway(&self, name: &str) -> Result<Gateway, String> {
        let loaded = match self {
            Self::Directory(directory) => load::load(directory.join(name)),
            Self::Nowhere | Self::Texts(_) => load::parse(&self.text(name)?, name),
        };
        loaded.map_err(|error| error.to_string())
    }
}
