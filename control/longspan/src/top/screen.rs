//! The dashboard on a screen of any size.

use super::grid::{Cell, Grid, Row, Tone};
use super::model::Model;
use super::theme::Theme;
use super::views::{View, tone};
use crate::console;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, StatefulWidget, Table, TableState, Widget, Wrap};
use telemetry::health::Health;
use telemetry::table::{bytes, duration, speed, thousands};
use telemetry::{Period, PortPeriod, PriorityPeriod};

/// The lines above the table: the gateway, its buffer, the views.
const HEAD: u16 = 4;
/// The lines for a port below the table: its rates, and a line for each of some priorities.
const DETAIL: u16 = 7;
/// The columns of a bar.
const BAR: usize = 20;

const KEYS: &str = "q quit  ? help  1-8 view  s sort  Enter one port  p pause  +/- interval";

const HELP: &[&str] = &[
    "1 to 8, Tab      ports, queues, pauses, marks, slots, drops, cores, health",
    "up, down, j, k   select a row; Home and End go to the first and the last",
    "Enter            show only the port of that row, or all again; Esc: all",
    "s                sort by the next column, largest first; r reverses the rows",
    "p, space         let the picture stand still, or go on",
    "+, -             ask the gateway half or twice as often (+ is longer)",
    "?, h             this help",
    "q, Ctrl-C        quit",
    "",
    "pausing: share of the time for which the gateway paused the peer",
    "paused:  share of the time for which the peer paused this port",
    "mark:    the most since the watermarks were cleared (longspan show --clear)",
    "Counts and rates are of the last interval; delays are since the start.",
];

/// The height at which nothing of the table is left out.
pub fn height(model: &Model) -> u16 {
    let rows = u16::try_from(model.grid().rows.len()).unwrap_or(u16::MAX);
    rows.saturating_add(HEAD + 1 + DETAIL + 1)
}

/// Draws the whole dashboard. Control characters that a gateway put into its texts become question marks.
pub fn draw(area: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let head = Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0), Constraint::Length(1)]);
    let [head, body, foot] = head.areas(area);
    write_head(head, buffer, model, theme);
    if model.helps {
        Paragraph::new(HELP.iter().copied().map(Line::raw).collect::<Vec<_>>()).render(body, buffer);
    } else if model.period().is_some() {
        write_body(body, buffer, model, theme);
    } else {
        Paragraph::new("Waiting for the gateway.").render(body, buffer);
    }
    Line::styled(KEYS, theme.tone(Tone::Dim)).render(foot, buffer);
    for cell in &mut buffer.content {
        if !cell.symbol().chars().all(console::is_harmless) {
            cell.set_symbol("?");
        }
    }
}

fn write_head(area: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let mut lines = Vec::new();
    match model.period() {
        Some(period) => {
            let now = period.now;
            let title = format!("{}  Longspan {}  up {}", now.gateway, now.version, duration(now.uptime_ns));
            lines.push(Line::from(vec![Span::styled(title, theme.heading()), state(&period, model, theme)]));
            lines.push(buffer_line(&period, theme));
        }
        None => lines.push(Line::from(state_without_gateway(model, theme))),
    }
    if let Some(lost) = &model.lost {
        lines.truncate(1);
        lines.push(Line::styled(format!("LOST: {lost}"), theme.tone(Tone::Bad)));
    }
    lines.resize(2, Line::default());
    lines.push(tabs(model, theme));
    Paragraph::new(lines).render(area, buffer);
}

fn state_without_gateway(model: &Model, theme: Theme) -> Span<'static> {
    let text = format!("longspan top, every {}", telemetry::table::nanos(model.interval.0));
    Span::styled(text, theme.heading())
}

/// Whether the picture moves, and the time that it covers.
fn state(period: &Period<'_>, model: &Model, theme: Theme) -> Span<'static> {
    let every = telemetry::table::nanos(model.interval.0);
    let (text, tone) = if model.lost.is_some() {
        ("NO ANSWER, trying again".to_owned(), Tone::Bad)
    } else if model.is_paused {
        ("PAUSED".to_owned(), Tone::Warn)
    } else if period.is_since_start() {
        ("averages since the start".to_owned(), Tone::Warn)
    } else {
        (format!("live, every {every}"), Tone::Good)
    };
    Span::styled(format!("  {text}"), theme.tone(tone))
}

fn buffer_line(period: &Period<'_>, theme: Theme) -> Line<'static> {
    let (pools, memory) = (period.now.pools, period.now.memory);
    let verdict = Health::of(period, None).verdict;
    let held = |held: u64, size: u64| format!("{} of {}", bytes(held), bytes(size));
    let text = format!(
        "  shared {}  headroom {}  buffers {} of {}",
        held(pools.shared.held_bytes, pools.shared.size_bytes),
        held(pools.headroom.held_bytes, pools.headroom.size_bytes),
        thousands(memory.mbufs_in_use),
        thousands(memory.mbufs)
    );
    Line::from(vec![Span::styled(verdict.name(), theme.tone(tone(verdict))), Span::raw(text)])
}

fn tabs(model: &Model, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for (key, view) in (1..).zip(View::ALL) {
        let text = if view == model.view {
            format!("[{key} {}]", view.name())
        } else {
            format!(" {key} {} ", view.name())
        };
        let style = if view == model.view { theme.chosen() } else { Default::default() };
        spans.push(Span::styled(text, style));
    }
    if let Some(only) = &model.only {
        spans.push(Span::raw(format!("  {only} only")));
    }
    Line::from(spans)
}

fn write_body(area: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let grid = model.grid();
    let rows = u16::try_from(grid.rows.len().max(1)).unwrap_or(u16::MAX).saturating_add(1);
    // The table has what it needs before the port below it has anything, unless the port fits beside some rows.
    let detail = if area.height > 2 * DETAIL { DETAIL } else { area.height.saturating_sub(rows).min(DETAIL) };
    let views = [View::Ports, View::Queues, View::Pauses, View::Health];
    let has_detail = views.contains(&model.view) && detail > 2;
    let detail = if has_detail { detail } else { 0 };
    let [table, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(detail)]).areas(area);
    write_grid(table, buffer, &grid, model, theme);
    if !has_detail {
        return;
    }
    let [line, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(below);
    let rule = if theme.has_blocks { "\u{2500}" } else { "-" };
    Line::styled(rule.repeat(usize::from(line.width)), theme.tone(Tone::Dim)).render(line, buffer);
    let selected = grid.rows.get(model.selected.min(grid.rows.len().saturating_sub(1)));
    if let Some(row) = selected.filter(|row| !row.note.is_empty()) {
        let lines: Vec<_> = row.note.iter().map(|it| Line::raw(it.as_str())).collect();
        return Paragraph::new(lines).wrap(Wrap { trim: true }).render(below, buffer);
    }
    let port = selected.and_then(|row| row.port.clone()).filter(|_| model.view != View::Health);
    if let (Some(period), Some(port)) = (model.period(), port)
        && let Some(port) = period.port(&port)
    {
        write_port(below, buffer, model, port, theme);
    }
}

/// Draws the columns that fit, and the rows around the selected one.
fn write_grid(area: Rect, buffer: &mut Buffer, grid: &Grid, model: &Model, theme: Theme) {
    if grid.rows.is_empty() {
        return Line::raw(grid.otherwise).render(area, buffer);
    }
    let widths = widths(grid, model, area.width);
    let heading = |column: usize| {
        let arrow = if model.order.column == Some(column) { "*" } else { "" };
        let text = Line::styled(format!("{}{arrow}", grid.headings[column]), theme.heading());
        text.alignment(alignment(grid, column))
    };
    let cells = |row: &Row| {
        let line = |(column, cell): (usize, &Cell)| {
            Line::styled(cell.text.clone(), theme.tone(cell.tone)).alignment(alignment(grid, column))
        };
        ratatui::widgets::Row::new(
            row.cells.iter().enumerate().take(widths.len()).map(line).collect::<Vec<_>>(),
        )
    };
    let header = ratatui::widgets::Row::new((0..widths.len()).map(heading).collect::<Vec<_>>());
    let constraints = widths.iter().map(|width| Constraint::Length(*width));
    let table = Table::new(grid.rows.iter().map(cells), constraints)
        .header(header)
        .column_spacing(SPACING)
        .row_highlight_style(theme.selected())
        .highlight_symbol(">");
    let selected = model.selected.min(grid.rows.len() - 1);
    StatefulWidget::render(table, area, buffer, &mut TableState::new().with_selected(selected));
}

/// The columns between two columns.
const SPACING: u16 = 2;

/// The widths of the columns that fit into `width`. The last one that does not fit entirely has the rest if it is text.
fn widths(grid: &Grid, model: &Model, width: u16) -> Vec<u16> {
    let mut left = width.saturating_sub(1);
    let mut widths = Vec::new();
    for (column, heading) in grid.headings.iter().enumerate() {
        let mark = u16::from(model.order.column == Some(column));
        let cells = grid.rows.iter().map(|row| Line::raw(row.cells[column].text.as_str()).width());
        let wanted = cells.chain([heading.len()]).max().unwrap_or_default();
        let wanted = u16::try_from(wanted).unwrap_or(u16::MAX).saturating_add(mark);
        let space = if column == 0 { 0 } else { SPACING };
        let room = left.saturating_sub(space);
        let is_text = alignment(grid, column) == Alignment::Left;
        if wanted > room && !(is_text && room > 8) {
            break;
        }
        widths.push(wanted.min(room));
        left = room.saturating_sub(wanted);
    }
    widths
}

/// Text is to the left, figures to the right.
fn alignment(grid: &Grid, column: usize) -> Alignment {
    let texts = ["port", "link", "reason", "at", "why", "verdict", "finding", "ports"];
    if texts.contains(&grid.headings[column]) { Alignment::Left } else { Alignment::Right }
}

/// Draws a port: its rates over the last time, and its priorities against their thresholds.
fn write_port(area: Rect, buffer: &mut Buffer, model: &Model, port: PortPeriod<'_>, theme: Theme) {
    let mut lines = vec![Line::styled(
        format!("{}  {} {}", port.name(), port.now.device.driver, port.now.device.name),
        theme.heading(),
    )];
    let width = usize::from(area.width.saturating_sub(24));
    for (name, read) in [("in ", (|it| it.0) as fn(&(u64, u64)) -> u64), ("out", |it| it.1)] {
        lines.push(history(model, port, name, read, width, theme));
    }
    let lossless = port.priorities().filter(|it| it.now.ingress.lossless);
    lines.extend(lossless.map(|it| class_line(it, theme)));
    Paragraph::new(lines).render(area, buffer);
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
    let shown = rates.iter().skip(rates.len().saturating_sub(width)).map(read);
    let most = shown.clone().max().unwrap_or_default();
    let columns = theme.columns(shown, most);
    Line::from(vec![
        Span::raw(format!(" {name} {:>10} max ", speed(most))),
        Span::styled(columns, theme.tone(Tone::Good)),
    ])
}

/// The level of a lossless group against its XOFF and its headroom, and the bytes that wait in the queue.
fn class_line(class: PriorityPeriod<'_>, theme: Theme) -> Line<'static> {
    let group = &class.now.ingress;
    let headroom = class.levels.headroom_bytes;
    let below = group.occupancy_bytes.saturating_sub(headroom);
    let (size, xoff) = group.limits.map_or((0, None), |limits| (limits.headroom_bytes, limits.xoff_bytes));
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let mut spans = vec![Span::raw(format!(" priority {}  ", class.now.priority))];
    match xoff {
        Some(xoff) => spans.push(Span::raw(format!(
            "XOFF {} {:>8}  ",
            theme.bar(share(below, xoff), BAR / 2),
            bytes(xoff)
        ))),
        None => spans.push(Span::raw(format!("holds {:>8}  ", bytes(below)))),
    }
    let tone = if headroom > 0 { Tone::Warn } else { Tone::Plain };
    let bar = theme.bar(share(headroom, size), BAR / 2);
    spans.push(Span::styled(format!("headroom {bar} {:>8}", bytes(size)), theme.tone(tone)));
    spans.push(Span::raw(format!("  queued {}", bytes(class.now.egress.queued.bytes))));
    Line::from(spans)
}
