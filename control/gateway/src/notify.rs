//! Notifications to systemd (`Type=notify`).

use sd_notify::NotifyState;

/// Reports that the gateway forwards.
pub fn ready(name: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("gateway \"{name}\" is forwarding"))]);
}

/// Reports a reload, until [`ready`].
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!("cannot notify systemd of the reload: {error}"),
    }
}

/// Reports that the gateway drains and ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// Does nothing without systemd.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("cannot notify systemd: {error}");
    }
}
