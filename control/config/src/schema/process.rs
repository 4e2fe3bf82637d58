//! `[process]`.

use crate::reader::{At, Section};
use crate::runtime::Privileges;
use crate::value::Account;

/// What a running gateway may do to the machine that it runs on.
#[derive(Default)]
pub(crate) struct ProcessDecl {
    pub user: Option<At<Account>>,
    pub privileges: Option<At<Privileges>>,
}

impl ProcessDecl {
    pub fn read(process: &mut Section<'_, '_>) -> Self {
        Self { user: process.optional("user"), privileges: process.optional("privileges") }
    }
}
