//! The deadline of a port's flow control.

use super::Fabric;
use crate::frame::Frame;
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    /// Calls the scheme of `port`, if its deadline has come.
    #[inline]
    pub(super) fn call_scheme(&mut self, now: Nanos, port: PortId) {
        let ingress = &mut self.ingress[port.index()];
        if ingress.scheme.deadline() <= now {
            ingress.call_scheme(now, &self.ledger, &self.pools);
        }
    }
}
