//! DPDK's commands that are passed on, with the parameters that are safe.
//!
//! Handlers of DPDK 22.11 read memory at any number that they get (`/eal/heap_info`, `/eal/memzone_info`:
//! `lib/eal/common/eal_common_memory.c`), so a client could end the gateway. A command goes on if it is in this list, and its
//! parameter if DPDK itself lists it. Two commands for ports are left out, since no parameter makes them safe:
//! `/ethdev/dump_priv` answers with memory that no one wrote if the driver has nothing to dump
//! (`lib/ethdev/rte_ethdev.c`), and `/ethdev/module_eeprom` reads beyond a module of 256 bytes (`lib/ethdev/sff_8636.c`). So are
//! commands for devices that a gateway has none of, and those of single drivers.

use telemetry::commands::{Command, CommandError};

use super::upstream::UpstreamError;

/// The commands that are passed on, in order. The second of a pair lists the parameters of the first, which takes one of them;
/// without it, there are none.
const COMMANDS: [(&str, Option<&str>); 13] = [
    ("/eal/app_params", None),
    ("/eal/heap_info", Some("/eal/heap_list")),
    ("/eal/heap_list", None),
    ("/eal/memzone_info", Some("/eal/memzone_list")),
    ("/eal/memzone_list", None),
    ("/eal/params", None),
    ("/ethdev/info", Some("/ethdev/list")),
    ("/ethdev/link_status", Some("/ethdev/list")),
    ("/ethdev/list", None),
    ("/ethdev/stats", Some("/ethdev/list")),
    ("/ethdev/xstats", Some("/ethdev/list")),
    ("/mempool/info", Some("/mempool/list")),
    ("/mempool/list", None),
];

/// The commands of the protocol itself.
pub const GENERAL: [&str; 3] = ["/", "/help", "/info"];

/// The command that explains the others.
const HELP: &str = "/help";

/// Why a command is not passed on.
#[derive(Debug, thiserror::Error)]
pub enum NotPassed {
    /// It is not in the list, or has parameters and takes none.
    #[error("{0}")]
    Command(#[from] CommandError),
    /// Its parameter is missing, or DPDK does not list it.
    #[error("{command} takes a parameter that {list} lists, as in {command},ONE")]
    Unlisted {
        /// The command.
        command: &'static str,
        /// The command that lists its parameters.
        list: &'static str,
    },
    /// DPDK does not answer.
    #[error("{0}")]
    Dpdk(#[from] UpstreamError),
}

/// Whether the command called `name` is passed on.
pub fn is_passed(name: &str) -> bool {
    COMMANDS.iter().any(|(its, _)| *its == name)
}

/// The message that passes `command` on. `listed` returns what a command of DPDK lists.
///
/// # Errors
/// [`NotPassed`] where the command or its parameters are not safe.
pub fn message(
    command: Command<'_>,
    listed: impl FnOnce(&'static str) -> Result<Vec<String>, UpstreamError>,
) -> Result<String, NotPassed> {
    let unknown = |name: &str| CommandError::Unknown(name.to_owned()).into();
    if command.name == HELP {
        return match command.parameters {
            None => Ok(HELP.to_owned()),
            Some(name) if is_passed(name) || GENERAL.contains(&name) => Ok(format!("{HELP},{name}")),
            Some(name) => Err(unknown(name)),
        };
    }
    let known = COMMANDS.into_iter().find(|(name, _)| *name == command.name);
    let (name, list) = known.ok_or_else(|| unknown(command.name))?;
    match (list, command.parameters) {
        (None, None) => Ok(name.to_owned()),
        (None, Some(_)) => Err(CommandError::TakesNone(name.to_owned()).into()),
        (Some(list), parameter) => {
            let unlisted = || NotPassed::Unlisted { command: name, list };
            let parameter = parameter.ok_or_else(unlisted)?;
            let safe = listed(list)?.into_iter().find(|one| one == parameter).ok_or_else(unlisted)?;
            Ok(format!("{name},{safe}"))
        }
    }
}
