//! The privileges that a gateway drops once its devices run.
//!
//! Starting needs many privileges: devices, locked memory, raw sockets. Forwarding needs almost none, because
//! everything is open by then. So after the start the gateway switches to another user, drops its
//! capabilities, and makes the kernel refuse every system call that it does not need. On Linux all of these
//! except the user apply per thread. As much as possible is done before there are other threads, and the rest
//! for all of them.

mod account;
mod filter;

use std::io;
use std::path::Path;

use config::Gateway;
use config::runtime::{self, DeviceKind, Process};
use rustix::process::{
    Resource, Rlimit, geteuid, getrlimit, parent_process_death_signal, set_parent_process_death_signal,
    setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

use crate::memif;
use account::{Account, USUAL};
use filter::FilterError;

pub use account::group;

/// The limit of open files: far more than 64 ports and all callers need.
const FILES: u64 = 4_096;
/// The limit of the user's threads in all its processes.
const THREADS: u64 = 4_096;

/// Why a gateway cannot drop its privileges.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegesError {
    /// The configured account does not exist.
    #[error("process.user: there is no account \"{0}\" on this machine")]
    NoAccount(String),
    /// The gateway is not root, so it cannot switch users.
    #[error("process.user: only a gateway started as root can switch to user \"{0}\"")]
    NotRoot(String),
    /// A step failed.
    #[error(
        "process.privileges: cannot {step}: {source}; \"keep\" runs the gateway without dropping privileges"
    )]
    Step {
        /// The step.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The system call filter cannot be installed.
    #[error(
        "process.privileges: cannot install the system call filter: {0}; \"keep\" runs the gateway without dropping privileges"
    )]
    Filter(#[from] FilterError),
}

/// How a gateway treats its privileges after the start.
#[derive(Debug)]
pub enum Privileges {
    /// Keeps them.
    Keep,
    /// Drops them once the devices run, and switches to this account, if any.
    Drop(Option<Account>),
}

/// Wraps an error with the step that failed.
fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> PrivilegesError {
    move |error| PrivilegesError::Step { step, source: error.into() }
}

impl Privileges {
    /// Finds the account, and drops privileges that not even the start needs: those of programs that the
    /// gateway might execute. Call this before there are other threads.
    ///
    /// # Errors
    /// There is no such account, or the system refuses.
    pub fn prepare(process: &Process) -> Result<Self, PrivilegesError> {
        if process.privileges == runtime::Privileges::Keep {
            return Ok(Self::Keep);
        }
        let account = account_for(process)?;
        set_no_new_privs(true).map_err(step("set no_new_privs"))?;
        let effective = capabilities(None).map_err(step("read the capabilities"))?.effective;
        if effective.contains(CapabilitySet::SETPCAP) {
            for capability in CapabilitySet::all().iter() {
                match remove_capability_from_bounding_set(capability) {
                    // The kernel predates the capability.
                    Err(rustix::io::Errno::INVAL) => {}
                    outcome => outcome.map_err(step("clear the bounding set"))?,
                }
            }
        }
        Ok(Self::Drop(account))
    }

    /// Permanently drops everything that `gateway` does not need once its devices run, for all threads. Its
    /// new user becomes the owner of files that it removes at its end; `hand_over_sockets` gives
    /// it those of sockets, and takes its ID and that of its group.
    ///
    /// # Errors
    /// The system refuses.
    pub fn give_up(
        &self,
        gateway: &Gateway,
        path: &Path,
        hand_over_sockets: impl Fn(u32, u32) -> io::Result<()>,
    ) -> Result<(), PrivilegesError> {
        let Self::Drop(account) = self else { return Ok(()) };
        let kept = needed_by(gateway);
        let permitted = capabilities(None).map_err(step("read the capabilities"))?.permitted;
        let kept = kept & permitted;
        limit_resources().map_err(step("set resource limits"))?;
        if let Some(account) = account {
            let (uid, gid) = account.ids();
            let given = hand_over_sockets(uid, gid).and_then(|()| hand_over(account, gateway));
            given.map_err(step("hand files over to the user"))?;
            go_on_as(account)?;
        }
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
        set_capabilities(None, sets).map_err(step("drop capabilities"))?;
        let others = dpdk::renounce_capabilities_of_other_threads();
        for thread in others.map_err(step("drop the capabilities of threads"))? {
            tracing::warn!("DPDK thread {thread} keeps its capabilities");
        }
        filter::install(calls_of(gateway))?;
        tell(account.as_ref(), kept);
        if let Err(error) = config::load(path) {
            tracing::warn!(
                "reloads will fail, because the gateway can no longer read its configuration: {error}"
            );
        }
        Ok(())
    }

    /// Makes the calling thread, a worker, drop the capabilities that the control thread keeps for devices.
    pub fn renounce(&self) {
        let Self::Drop(_) = self else { return };
        if let Err(error) = dpdk::renounce_capabilities() {
            tracing::warn!("a worker cannot drop its capabilities: {error}");
        }
    }
}

/// The account that the gateway switches to; `None` if it keeps its user.
fn account_for(process: &Process) -> Result<Option<Account>, PrivilegesError> {
    let stated = process.user.as_deref();
    let found = Account::find(stated.unwrap_or(USUAL)).map_err(step("look up the user"))?;
    let is_root = geteuid().is_root();
    match (found, stated) {
        (None, Some(name)) => Err(PrivilegesError::NoAccount(name.into())),
        (Some(account), Some(_)) if account.ids().0 == geteuid().as_raw() => Ok(None),
        (_, Some(name)) if !is_root => Err(PrivilegesError::NotRoot(name.into())),
        (_, None) if !is_root => Ok(None),
        (None, None) => {
            tracing::warn!(
                "the gateway keeps running as root: there is no account \"{USUAL}\", and process.user is not set"
            );
            Ok(None)
        }
        (account, _) => Ok(account),
    }
}

/// The capabilities that the control thread needs for devices until the end. Workers need none.
fn needed_by(gateway: &Gateway) -> CapabilitySet {
    let devices = gateway.runtime.devices.iter().flatten();
    devices.fold(CapabilitySet::empty(), |needed, device| match &device.kind {
        // Memory that DPDK adds later is locked for the NIC, beyond any limit.
        DeviceKind::Pci(_) => needed | CapabilitySet::IPC_LOCK,
        // Its XDP program is detached from the interface at the end.
        DeviceKind::Virtual(vdev) if vdev.starts_with("net_af_xdp") => needed | CapabilitySet::NET_ADMIN,
        // Open sockets and files need no capability.
        DeviceKind::Virtual(_) => needed,
    })
}

/// The additional system calls of the devices.
fn calls_of(gateway: &Gateway) -> &'static [i64] {
    let devices = gateway.runtime.devices.iter().flatten();
    let is_af_xdp =
        |kind: &DeviceKind| matches!(kind, DeviceKind::Virtual(vdev) if vdev.starts_with("net_af_xdp"));
    if devices.map(|device| &device.kind).any(is_af_xdp) { &[libc::SYS_bpf] } else { &[] }
}

/// Switches to the account, but keeps this thread's capabilities and its parent death signal, which a change
/// of user would clear.
fn go_on_as(account: &Account) -> Result<(), PrivilegesError> {
    let at_the_end_of_its_parent =
        parent_process_death_signal().map_err(step("read the parent death signal"))?;
    set_keep_capabilities(true).map_err(step("keep capabilities across the user switch"))?;
    account.assume().map_err(step("switch the user"))?;
    set_keep_capabilities(false).map_err(step("stop keeping capabilities"))?;
    set_parent_process_death_signal(at_the_end_of_its_parent).map_err(step("restore the parent death signal"))
}

/// Gives the account the files that it must be able to remove or connect to.
fn hand_over(account: &Account, gateway: &Gateway) -> io::Result<()> {
    let (uid, gid) = account.ids();
    dpdk::hand_over_runtime_directory(uid, gid)?;
    let devices = gateway.runtime.devices.iter().flatten();
    devices.map(|device| &device.kind).try_for_each(|kind| memif::hand_over(kind, uid, gid))
}

/// Limits files and threads, and disables core dumps, which could contain keys.
fn limit_resources() -> rustix::io::Result<()> {
    for (resource, most) in [(Resource::Core, 0), (Resource::Nofile, FILES), (Resource::Nproc, THREADS)] {
        let Rlimit { current, maximum } = getrlimit(resource);
        let at_most = |limit: Option<u64>| Some(limit.unwrap_or(most).min(most));
        setrlimit(resource, Rlimit { current: at_most(current), maximum: at_most(maximum) })?;
    }
    Ok(())
}

/// Logs the remaining privileges.
fn tell(account: Option<&Account>, kept: CapabilitySet) {
    let user = account
        .map_or_else(|| "the user who started it".to_owned(), |account| format!("user {}", account.name));
    let kept: Vec<_> = kept.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
    let kept = if kept.is_empty() { "no capabilities".to_owned() } else { kept.join(", ") };
    tracing::info!("privileges dropped: the gateway runs as {user}, with {kept} and a system call filter");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_is_not_there_is_refused_by_name() {
        let process = |user: &str| Process { user: Some(user.into()), privileges: runtime::Privileges::Drop };
        let error = account_for(&process("no-such-account")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "process.user: there is no account \"no-such-account\" on this machine"
        );
        match account_for(&process("root")) {
            Ok(account) => assert!(geteuid().is_root() && account.is_none(), "root stays who it is"),
            Err(error) => assert!(!geteuid().is_root() && matches!(error, PrivilegesError::NotRoot(_))),
        }
    }

    #[test]
    fn the_control_thread_keeps_what_its_devices_need_until_the_end_and_nothing_else() {
        let of = |devices: [&str; 2]| {
            let port = |(name, device): (&str, &str)| {
                format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\nmtu = 1500\ndevice = {{ {device} }}\n")
            };
            let text: String = ["dc0", "lh0"].into_iter().zip(devices).map(port).collect();
            let gateway = config::parse(&text, "test").unwrap();
            (needed_by(&gateway), calls_of(&gateway))
        };
        let none = (CapabilitySet::empty(), &[][..]);
        let (af_packet, af_xdp) = ("interface = \"a\"", "interface = \"b\", driver = \"af_xdp\"");
        let memif = "memif = { socket = \"/run/l\", role = \"server\" }";
        assert_eq!(of([af_packet, memif]), none);
        assert_eq!(of(["vdev = \"net_pcap0,rx_pcap=a\"", "vdev = \"net_ring0\""]), none);
        assert_eq!(of([af_packet, af_xdp]), (CapabilitySet::NET_ADMIN, &[libc::SYS_bpf][..]));
        assert_eq!(of(["pci = \"3b:00.0\"", memif]), (CapabilitySet::IPC_LOCK, &[][..]));
    }
}
