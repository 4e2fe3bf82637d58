//! Reloading the configuration of a running gateway.

use std::path::Path;
use std::sync::Arc;

use config::{ConfigError, Gateway};
use switch::{HashKey, Program};

/// A configuration that can replace the one in force.
pub struct Successor {
    /// The configuration.
    pub gateway: Gateway,
    /// The changes, one line each: key, old value, new value.
    pub changes: Vec<String>,
}

/// Reads the file at `path` as a successor of `running`, which has the memory of `started`. `seed` is the
/// seed drawn for a file without one; `hash_key` is always the drawn key.
///
/// # Errors
/// Lines that say what is wrong with the file, or name what cannot change while the gateway runs.
pub fn read(
    path: &Path,
    started: &Gateway,
    running: &Gateway,
    seed: Option<u64>,
    hash_key: HashKey,
) -> Result<Successor, Vec<String>> {
    let gateway = config::load(path).map_err(|error| match &error {
        ConfigError::Invalid { problems } => problems.iter().map(ToString::to_string).collect(),
        ConfigError::Unreadable { .. } => vec![error.to_string()],
    })?;
    let gateway = with_drawn(gateway, seed, hash_key);
    let changes = |changes: Vec<config::Change>| changes.iter().map(ToString::to_string).collect();
    let mut refused: Vec<String> = changes(config::not_live(started, running, &gateway));
    refused.extend(gateway.program.can_replace(&running.program).err().map(|reason| reason.to_string()));
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
