//! The part below the table: the selected port with its rates and levels, or the selected finding.

use super::fit::{self, Field};
use super::grid::{Grid, Tone};
use super::model::Model;
use super::theme::Theme;
use super::views::{self, DashboardView};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use telemetry::{PortPeriod, PriorityPeriod};
use units::human::{bytes, speed};

/// The columns of the line of a priority that bars do not take.
const BESIDE_BARS: usize = 63;
/// The columns of a bar at most and at least.
const BAR: (usize, usize) = (60, 4);

/// The lines about the selected row; `None` in views that have none.
pub fn lines(model: &Model, grid: &Grid, width: usize, theme: Theme) -> Option<Vec<Line<'static>>> {
    if ![DashboardView::Ports, DashboardView::Queues, DashboardView::Pauses, DashboardView::Health]
        .contains(&model.view)
    {
        return None;
    }
    let selected = grid.rows.get(model.selected.min(grid.rows.len().saturating_sub(1)));
    if let Some(row) = selected.filter(|_| model.view == DashboardView::Health) {
        return Some(row.note.iter().flat_map(|it| fit::wrapped(it, width)).map(Line::raw).collect());
    }
    let port = selected.and_then(|row| model.period()?.port(row.port.as_deref()?));
    Some(port.map_or_else(Vec::new, |port| of_port(model, port, width, theme)))
}

/// A port: its rates over the last time, and its priorities against their thresholds.
fn of_port(model: &Model, port: PortPeriod<'_>, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let title = format!("{}  {} {}", port.name(), port.now.device.driver, port.now.device.name);
    let mut lines = vec![Line::styled(fit::cut(&title, width, theme), theme.heading())];
    for (name, read) in [("in ", (|it| it.0) as fn(&(u64, u64)) -> u64), ("out", |it| it.1)] {
        lines.push(history(model, port, name, read, width, theme));
    }
    let lossless = port.priorities().filter(|it| it.now.ingress.lossless);
    lines.extend(lossless.map(|it| class_line(it, width, theme)));
    lines
}

/// A line of columns, the latest to the right, against the highest of them.
fn history(
    model: &Model,
    port: PortPeriod<'_>,
    name: &str,
    read: fn(&(u64, u64)) -> u64,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let none = Default::default();
    let rates = model.history.get(port.name()).unwrap_or(&none);
    let room = width.saturating_sub(24);
    let shown = rates.iter().skip(rates.len().saturating_sub(room)).map(read);
    let most = shown.clone().max().unwrap_or_default();
    let columns = theme.columns(shown, most);
    Line::from(vec![
        Span::raw(fit::cut(&format!(" {name} {:>10} max ", speed(most)), width, theme)),
        Span::styled(columns, theme.tone(Tone::Good)),
    ])
}

/// The level of a lossless group against its XOFF and its headroom, and the bytes that wait in the queue.
fn class_line(class: PriorityPeriod<'_>, width: usize, theme: Theme) -> Line<'static> {
    let group = &class.now.ingress;
    let headroom = class.levels.headroom_bytes;
    let below = group.occupancy_bytes.saturating_sub(headroom);
    let (size, xoff) = group.limits.map_or((0, None), |limits| (limits.headroom_bytes, limits.xoff_bytes));
    let bar = |part: u64, of: u64| {
        let columns = (width.saturating_sub(BESIDE_BARS) / 2).clamp(BAR.1, BAR.0);
        theme.bar(part as f64 / of.max(1) as f64, columns)
    };
    let held = match xoff {
        Some(xoff) => format!("XOFF {} {:>8}", bar(below, xoff), bytes(xoff)),
        None => format!("holds {:>8}", bytes(below)),
    };
    let tone = views::headroom_tone(&class);
    let used = format!("headroom {} {:>8}", bar(headroom, size), bytes(size));
    let fields = vec![
        Field::new(0, format!(" priority {}", class.now.priority), Style::new()),
        Field::new(2, held, Style::new()),
        Field::new(1, used, theme.tone(tone)),
        Field::new(3, format!("queued {}", bytes(class.now.egress.queued.bytes.0)), Style::new()),
    ];
    fit::fields(fields, width, theme)
}
