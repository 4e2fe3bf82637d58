//! The interface of a scheme that speaks to senders.

use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Origin, Slot};
use crate::program::PortSettings;
use units::{Nanos, PortId, QueueSet};

/// A scheme that notifies the senders behind a port. It keeps an entry for each slot of the port's table of flows. By
/// default it ignores frames.
pub(crate) trait Scheme {
    /// Whether the settings of `port` turn it on.
    fn is_on(&self, port: &PortSettings) -> bool;

    /// Takes the settings of `spare`, which was made for them. If the table of flows was `exchanged`, it also takes the
    /// entries of `spare`, which are empty, as all slots have lost their meaning.
    fn configure(&mut self, spare: &mut Self, exchanged: bool)
    where
        Self: Sized;

    /// Takes a CNP from the far side to the sender of `flow`. Returns whether it is passed on.
    fn receive_cnp(&mut self, _: Nanos, _flow: Option<Slot>, _: &mut Flows, _: Origin) -> bool {
        true
    }

    /// Whether direct INT from elsewhere is passed on.
    fn takes_direct_int(&self) -> bool {
        true
    }

    /// The time of the next call of [`Scheme::notify`].
    fn deadline(&self) -> Nanos;

    /// Whether notifications wait until a port that has room again calls [`Scheme::notify`].
    fn is_blocked(&self) -> bool;

    /// The number of notifications that wait, or may come to be due.
    fn waiting(&self) -> u64;

    /// Makes the notifications that are due, as long as `send` takes them. The queues in `severe` are
    /// severely congested.
    fn notify(
        &mut self,
        now: Nanos,
        severe: QueueSet,
        flows: &mut Flows,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    );

    /// The number of notifications that are lost because the scheme ends `now`. A sender counts if it `is_reachable`.
    fn lose(
        &mut self,
        _now: Nanos,
        _severe: QueueSet,
        _: &mut Flows,
        _is_reachable: &mut dyn FnMut(PortId, Notification) -> bool,
    ) -> u64 {
        self.waiting()
    }
}
