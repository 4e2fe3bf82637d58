//! The account that a gateway switches to, and the group of its socket.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Group, Uid, User, getgrouplist, setgroups, setresgid, setresuid};

/// The default account, used if it exists and the configuration names none.
pub const USUAL: &str = "longspan";

/// An account of this system, with its groups.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Account {
    /// The account called `name`, or `None`.
    ///
    /// # Errors
    /// The error of the system if the look-up fails.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        let Some(User { name, uid, gid, .. }) = User::from_name(name)? else { return Ok(None) };
        // Account names come from the system and never contain NUL.
        let c_name = CString::new(name.as_str())?;
        let groups = getgrouplist(&c_name, gid)?;
        Ok(Some(Self { name, uid, gid, groups }))
    }

    /// The IDs of the user and of its primary group.
    pub fn ids(&self) -> (u32, u32) {
        (self.uid.as_raw(), self.gid.as_raw())
    }

    /// Permanently switches all threads of this process to this account; the C library applies it to each.
    ///
    /// # Errors
    /// The process may not.
    pub fn assume(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setresgid(self.gid, self.gid, self.gid)?;
        setresuid(self.uid, self.uid, self.uid)?;
        Ok(())
    }
}

/// The ID of the group called `name`, or `None`.
///
/// # Errors
/// The error of the system if the look-up fails.
pub fn group(name: &str) -> io::Result<Option<u32>> {
    Ok(Group::from_name(name)?.map(|group| group.gid.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_groups_of_the_system_are_found_by_name() {
        assert_eq!(Account::find("root").unwrap().unwrap().ids(), (0, 0));
        assert!(Account::find("no-such-account").unwrap().is_none());
        assert_eq!(group("root").unwrap(), Some(0));
        assert_eq!(group("no-such-group").unwrap(), None);
    }
}
