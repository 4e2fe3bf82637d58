//! The interfaces of the kernel in the network namespace of this process, as `/proc` and `/sys` show them.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use units::BitRate;

/// The interfaces of this process's network namespace, whatever is mounted.
const HERE: &str = "/proc/self/net/dev";
/// What the kernel says of each interface: of the network namespace in which this was mounted.
const SYSFS: &str = "/sys/class/net";

/// Whether frames pass an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    Up,
    /// It is up, and its other end is not.
    NoCarrier,
    /// It is set down.
    Down,
    /// The kernel does not say.
    Unknown,
}

/// The names of all interfaces.
pub(crate) fn names() -> BTreeSet<String> {
    names_in(&fs::read_to_string(HERE).unwrap_or_default())
}

/// The names in a text such as [`HERE`]: each before a colon, below two lines of headings.
fn names_in(text: &str) -> BTreeSet<String> {
    text.lines().skip(2).filter_map(|it| Some(it.rsplit_once(':')?.0.trim().to_owned())).collect()
}

/// Whether frames pass an interface.
pub(crate) fn link(name: &str) -> LinkState {
    if !sysfs_is_of_this_namespace() {
        return LinkState::Unknown;
    }
    match fs::read_to_string(Path::new(SYSFS).join(name).join("carrier")) {
        Ok(carrier) if carrier.trim() == "1" => LinkState::Up,
        Ok(_) => LinkState::NoCarrier,
        // The kernel's answer for an interface that is down.
        Err(error) if error.kind() == ErrorKind::InvalidInput => LinkState::Down,
        Err(_) => LinkState::Unknown,
    }
}

/// The rate of an interface, if the kernel knows it. That of a tap means nothing.
pub(crate) fn rate(name: &str) -> Option<BitRate> {
    let about = Path::new(SYSFS).join(name);
    if about.join("tun_flags").exists() {
        return None;
    }
    let speed = fs::read_to_string(about.join("speed")).ok()?;
    let megabits: u64 = speed.trim().parse().ok().filter(|_| sysfs_is_of_this_namespace())?;
    BitRate::new(megabits.checked_mul(1_000_000)?)
}

/// Whether `/sys` has the interfaces that this process has. Not so where a program has entered a network namespace and
/// mounted nothing, as `nsenter --net` does.
fn sysfs_is_of_this_namespace() -> bool {
    let entries = fs::read_dir(SYSFS).into_iter().flatten().flatten();
    // There are files too, such as `bonding_masters`.
    let interfaces = entries.filter(|it| it.path().is_dir());
    let shown: BTreeSet<_> = interfaces.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    shown == names()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_interfaces_stand_before_their_counters() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n    \
                    lo:  100 2 0 0\neth0.100:  7    1 0 0\n";
        assert_eq!(names_in(text), ["eth0.100", "lo"].map(String::from).into());
        assert!(names_in("").is_empty());
    }
}
