//! `[control]`.

use core::net::SocketAddr;

use units::Interval;

use super::bifrost::time;
use crate::reader::{At, Section};
use crate::value::{Account, Permissions, SocketPath};

/// How a running gateway is asked and watched.
#[derive(Default)]
pub(crate) struct ControlDecl {
    pub socket: Option<At<SocketPath>>,
    pub mode: Option<At<Permissions>>,
    pub group: Option<At<Account>>,
    pub metrics: Option<At<Option<SocketAddr>>>,
    pub stall: Option<At<Interval>>,
    pub drain: Option<At<Interval>>,
}

impl ControlDecl {
    pub fn read(control: &mut Section<'_, '_>) -> Self {
        let minute = Interval::from_secs(60);
        Self {
            socket: control.optional("socket"),
            mode: control.optional("mode"),
            group: control.optional("group"),
            metrics: control.optional("metrics"),
            stall: time(control, "stall", Interval::from_millis(1)..=minute, "1ms to 60s"),
            drain: time(control, "drain", Interval::ZERO..=minute, "up to 60s"),
        }
    }
}
