//! The pauses of other ports that the flow control of a port hears of.

use super::Fabric;
use crate::frame::Frame;
use units::{Nanos, PortId, PortSet};

impl<F: Frame> Fabric<F> {
    /// Tells the schemes that listen to `port` that the pauses in force there may have changed.
    #[inline]
    pub(super) fn pass_on(&mut self, now: Nanos, port: PortId) {
        let listeners = self.listeners[port.index()];
        if listeners.is_empty() {
            return;
        }
        let ends = self.egress[port.index()].pauses_in_force();
        for listener in listeners.iter() {
            self.ingress[listener.index()].scheme.hear_pauses(now, &ends);
            self.changed.insert(listener);
        }
    }

    /// Finds the ports of this shard whose schemes listen to others, and tells them what is in force there.
    pub(super) fn listen(&mut self, now: Nanos) {
        self.listeners.fill(PortSet::EMPTY);
        for port in self.owned.iter() {
            if let Some(heard) = self.ingress[port.index()].scheme.listens_to() {
                self.listeners[heard.index()].insert(port);
            }
        }
        self.owned.iter().for_each(|port| self.pass_on(now, port));
    }
}
