//! Reloading the configuration of a running gateway.
//!
//! The file is read, checked and compared on its own thread, so that the control thread answers meanwhile, however long
//! that takes. There is one such thread at a time. Requests that arrive meanwhile share the next reload, which begins after
//! all of them, so their number costs nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use config::{ConfigError, Gateway};
use switch::{HashKey, Program};
use units::PortSet;

use crate::event::Event;
use crate::socket::Response;

/// The most lines of a reload that an event and the log keep, and their length in characters. A line may quote as much
/// as a file holds.
const LINES_MAX: usize = 32;
const CHARACTERS_MAX: usize = 500;

/// Reads the gateway in a file.
pub type Load = Arc<dyn Fn(&Path) -> Result<Gateway, ConfigError> + Send + Sync>;

/// A configuration that can replace the one in force, or lines that say why there is none.
pub type Outcome = Result<Successor, Vec<String>>;

/// A configuration that can replace the one in force.
pub struct Successor {
    /// The configuration.
    pub gateway: Gateway,
    /// The changes, one line each: key, old value, new value.
    pub changes: Vec<String>,
}

/// What a file is to replace.
pub struct Basis {
    /// The file.
    pub path: PathBuf,
    /// The configuration at the start, which determined the memory.
    pub started: Gateway,
    /// The configuration as loaded.
    pub running: Gateway,
    /// The ports of each worker.
    pub workers: Vec<PortSet>,
    /// The seed drawn for a file without one.
    pub seed: Option<u64>,
    /// The drawn key.
    pub hash_key: HashKey,
}

/// The reloads of a gateway.
pub struct Reloads {
    load: Load,
    events: Sender<Event>,
    /// The one that goes on.
    thread: Option<JoinHandle<Outcome>>,
    /// The clients that wait for it.
    waiting: Vec<Sender<Response>>,
    /// Clients that wait for the next reload, if there are any.
    next: Option<Vec<Sender<Response>>>,
}

/// Sends [`Event::ReloadRead`] when it is dropped, even by a panic.
struct Wake(Sender<Event>);

impl Drop for Wake {
    fn drop(&mut self) {
        // The gateway may have ended.
        let _ = self.0.send(Event::ReloadRead);
    }
}

impl Reloads {
    /// No reloads yet. `load` reads a file, and [`Event::ReloadRead`] goes to `events` when one was read.
    pub fn new(load: Load, events: Sender<Event>) -> Self {
        Self { load, events, thread: None, waiting: Vec::new(), next: None }
    }

    /// Asks for a reload, on behalf of a client if one waits for the answer.
    pub fn request(&mut self, client: Option<Sender<Response>>) {
        self.next.get_or_insert_default().extend(client);
    }

    /// Whether to begin a reload.
    pub fn is_due(&self) -> bool {
        self.thread.is_none() && self.next.is_some()
    }

    /// Begins a reload for all who have asked.
    ///
    /// # Errors
    /// The error of the system where there can be no thread.
    pub fn begin(&mut self, basis: Basis) -> io::Result<()> {
        self.waiting = self.next.take().unwrap_or_default();
        let (load, wake) = (self.load.clone(), Wake(self.events.clone()));
        let work = move || {
            let _wake = wake;
            // Dropped before that, so that no one waits for it.
            let basis = basis;
            read(&load, &basis)
        };
        self.thread = Some(thread::Builder::new().name("reload".into()).spawn(work)?);
        Ok(())
    }

    /// The outcome of the reload whose file was read.
    pub fn outcome(&mut self) -> Option<Outcome> {
        // The panic hook has reported any panic.
        let panicked = |_| Err(vec!["the gateway failed to read the file; its log says why".to_owned()]);
        Some(self.thread.take()?.join().unwrap_or_else(panicked))
    }

    /// Answers all who wait for the reload.
    pub fn answer(&mut self, result: &Result<Vec<String>, Vec<String>>) {
        for client in self.waiting.drain(..) {
            let response = result.clone().map_or_else(Response::Refused, Response::Reloaded);
            // The client may have disconnected.
            let _ = client.send(response);
        }
    }
}

/// The first of `lines`, of limited length, and how many more there are.
pub fn shortened(lines: &[String]) -> Vec<String> {
    let short = |line: &String| match line.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.clone(),
    };
    let more = lines.len().saturating_sub(LINES_MAX);
    let more = (more > 0).then(|| format!("and {more} more"));
    lines.iter().take(LINES_MAX).map(short).chain(more).collect()
}

/// Reads the file of `basis` as a successor.
///
/// # Errors
/// Lines that say what is wrong with the file, or name what cannot change while the gateway runs.
fn read(load: &Load, basis: &Basis) -> Outcome {
    let Basis { path, started, running, workers, seed, hash_key } = basis;
    let gateway = load(path).map_err(|error| match &error {
        ConfigError::Invalid { problems } => problems.iter().map(ToString::to_string).collect(),
        ConfigError::Unreadable { .. } => vec![error.to_string()],
    })?;
    let gateway = with_drawn(gateway, *seed, *hash_key);
    let changes = |changes: Vec<config::Change>| changes.iter().map(ToString::to_string).collect();
    let mut refused: Vec<String> = changes(config::not_live(started, running, &gateway));
    let replaces = gateway.program.can_replace(&running.program);
    let whole = || workers.iter().try_for_each(|ports| gateway.program.has_whole_teams(*ports));
    refused.extend(replaces.and_then(|()| whole()).err().map(|reason| reason.to_string()));
    if !refused.is_empty() {
        let refused = refused.into_iter().map(|what| format!("needs a restart: {what}"));
        let remedy = config::shared_that_fits(started, &gateway).map(|shared| {
            format!(
                "the buffer needs more memory than the gateway reserved at its start; it fits with buffer.shared = \
                 \"{shared}\" or less, if egress_lossy does not grow"
            )
        });
        return Err(refused.chain(remedy).collect());
    }
    let changes = changes(config::diff(running, &gateway));
    Ok(Successor { gateway, changes })
}

/// The same gateway with the values drawn at the start: the seed, if its file has none, and the key of its
/// tables.
pub fn with_drawn(mut gateway: Gateway, seed: Option<u64>, hash_key: HashKey) -> Gateway {
    let mut settings = gateway.program.settings().clone();
    if let Some(seed) = seed.filter(|_| !gateway.seed_stated) {
        settings.seed = seed;
    }
    let program = Program::new(settings).expect("its settings hold, and any seed does");
    gateway.program = Arc::new(program.with_hash_key(hash_key));
    gateway
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_are_kept_of_a_reload_are_limited_in_number_and_length() {
        let few = ["a".to_owned(), "\u{e9}".repeat(CHARACTERS_MAX)];
        assert_eq!(shortened(&few), few);
        let many = vec!["\u{e9}".repeat(4 << 20); LINES_MAX + 3];
        let kept = shortened(&many);
        assert_eq!((kept.len(), kept[LINES_MAX].as_str()), (LINES_MAX + 1, "and 3 more"));
        assert!(kept.iter().all(|line| line.chars().count() <= CHARACTERS_MAX + 3));
    }

    #[test]
    fn a_reload_joins_no_ports_of_two_workers() {
        let gateway = |pairs: &str| {
            let port = |name| format!("[[port]]\nname = \"{name}\"\nrate = \"10G\"\n");
            let ports: String = ["a", "b", "c", "d"].map(port).concat();
            let text = format!("[forwarding]\nmode = \"patch\"\npairs = {pairs}\n{ports}");
            config::parse(&text, "gw.toml").expect("it is valid")
        };
        let (running, crossed) =
            (gateway("[[\"a\", \"b\"], [\"c\", \"d\"]]"), gateway("[[\"a\", \"c\"], [\"b\", \"d\"]]"));
        let load: Load = Arc::new(move |_: &Path| Ok(crossed.clone()));
        let ports = |numbers: [u16; 2]| numbers.into_iter().map(units::PortId).collect::<PortSet>();
        let on = |workers| Basis {
            path: PathBuf::new(),
            started: running.clone(),
            running: running.clone(),
            workers,
            seed: None,
            hash_key: HashKey::from(1),
        };
        let refused = read(&load, &on(vec![ports([0, 1]), ports([2, 3])])).err().expect("it is refused");
        let why = "needs a restart: ports a and c are on different cores, and cannot begin to exchange frames or \
                   pauses while the gateway runs";
        assert_eq!(refused, [why]);
        assert!(read(&load, &on(vec![PortSet::first(4)])).is_ok(), "one worker may have all of them");
    }
}
