//! Fast CNPs at the border: believed where a port accepts them, dropped everywhere else.

use super::Fabric;
use crate::congestion::senders::Passage;
use crate::descriptor::{Descriptor, Network};
use crate::frame::Frame;
use crate::program::PortSettings;
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PortId};
use wire::roce::fast_cnp;

/// Whether a frame can be a Fast CNP. Extension headers are rare, so the rest is looked at out of line.
#[inline]
pub(super) fn is_fast_cnp(descriptor: Descriptor, headers: &[u8]) -> bool {
    descriptor.network == Network::Ipv6 && is_candidate(descriptor, headers)
}

#[inline(never)]
fn is_candidate(descriptor: Descriptor, headers: &[u8]) -> bool {
    headers.get(usize::from(descriptor.payload_offset)..).is_some_and(fast_cnp::is_candidate)
}

impl<F: Frame> Fabric<F> {
    /// Takes a Fast CNP, valid or not.
    #[cold]
    pub(super) fn receive_fast_cnp(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: Descriptor,
        headers: &[u8],
        length: Bytes,
    ) -> Passage {
        let accepts = settings.fast_cnp.as_ref().is_some_and(|it| it.accept);
        let Some(senders) = self.senders[port.index()].as_mut().filter(|_| accepts) else {
            self.refuse(port, settings, DropReason::ForeignFastCnp, length);
            return Passage::Consumed;
        };
        let packet = headers.get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        if senders.receive_fast_cnp(now, packet) {
            return Passage::Forwarded;
        }
        self.ingress[port.index()].counters.consumed[Consumed::FastCnp.index()].count(length);
        Passage::Consumed
    }
}
