//! A snapshot as tables for people.

mod drops;
mod neighbours;
mod pfc;
mod ports;
mod queues;
mod runtime;
mod shown;

pub use shown::{NoSuchPort, View, has_port, of_port};

use crate::health::{self, Health};
use crate::period::Period;
use crate::snapshot::Snapshot;
use shown::{Shown, write_listed};

/// Shows `view` of `snapshot` in plain ASCII, for the port called `port` or for all ports. The configuration is
/// always shown whole.
///
/// # Errors
/// [`NoSuchPort`] if the gateway has no port of that name.
pub fn render(snapshot: &Snapshot, view: View, port: Option<&str>) -> Result<String, NoSuchPort> {
    let shown = Shown::new(snapshot, port)?;
    let mut page = String::new();
    match view {
        View::Ports => ports::write(&mut page, &shown),
        View::Queues => queues::write(&mut page, &shown),
        View::Pfc => pfc::write(&mut page, &shown),
        View::Flows => write_listed(&mut page, &shown, view, "LSCC is not configured on any port.\n"),
        View::Drops => drops::write(&mut page, &shown),
        View::Slots => write_listed(&mut page, &shown, view, "Bifrost is not configured on any port.\n"),
        View::Neighbours => neighbours::write(&mut page, &shown),
        View::Runtime => runtime::write(&mut page, &shown),
        View::Roce => {
            page.push_str(&health::render(&Health::of(&Period::since_start(snapshot), port)));
        }
        View::Config => page.push_str(&snapshot.config),
    }
    // Sections begin with a blank line.
    Ok(page.trim_start_matches('\n').into())
}
