//! What systemd is told, where it listens (`Type=notify`).

use sd_notify::NotifyState;

/// The gateway forwards.
pub fn ready(name: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("gateway \"{name}\" is forwarding"))]);
}

/// It reads its configuration again. [`ready`] ends it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!("cannot notify systemd of the reload: {error}"),
    }
}

/// It drains and ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// Without systemd there is nobody to tell, which is no error.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("cannot notify systemd: {error}");
    }
}
