//! The dashboard on a screen of any size.

use super::fit::{self, Field};
use super::grid::{Cell, Grid, Row, Tone};
use super::model::Model;
use super::theme::Theme;
use super::{detail, head, help};
use crate::console;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, StatefulWidget, Table, TableState, Widget};
use units::human::count_of;

/// The lines above the table: the gateway, its buffer, the views, and how many columns are hidden.
const HEAD: u16 = 4;
/// The lines below the table: a rule, and a port with its rates and some priorities.
const DETAIL: u16 = 7;

/// The most columns and rows that are drawn. A terminal has any size that its user gives it, and each cell takes memory.
pub const COLUMNS_MAX: u16 = 1_000;
const ROWS_MAX: u16 = 1_000;

/// The keys, the least important last.
const KEYS: [&str; 7] =
    ["q quit", "? help", "1-8 view", "s sort", "Enter one port", "p pause", "+/- interval"];

/// The height at which neither a row nor a line below the table is left out.
pub fn height(model: &Model, width: u16, theme: Theme) -> u16 {
    let grid = model.grid();
    let below = detail::lines(model, &grid, usize::from(width), theme);
    [HEAD, rows(&grid), below.map_or(0, |lines| wanted(&lines)), 1].into_iter().fold(0, u16::saturating_add)
}

/// The part of a terminal of this size that is drawn.
pub fn area(columns: u16, rows: u16) -> Rect {
    Rect::new(0, 0, columns.min(COLUMNS_MAX), rows.min(ROWS_MAX))
}

/// The lines of the table, with its headings.
fn rows(grid: &Grid) -> u16 {
    u16::try_from(grid.rows.len().max(1)).unwrap_or(u16::MAX).saturating_add(1)
}

/// The lines that `lines` below the table want, with the rule above them.
fn wanted(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1).max(DETAIL)
}

/// The lines of the help that are above its last screen, on a screen of this size.
pub fn last_top_of_help(area: Rect) -> usize {
    help::last_top(areas(area)[2])
}

/// Draws the whole dashboard. Control characters that a gateway put into its texts become question marks.
pub fn draw(area: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let [head, hint, body, foot] = areas(area);
    head::draw(head, buffer, model, theme);
    if model.helps {
        help::draw(body, buffer, model.top_of_help, theme);
    } else if model.period().is_some() {
        write_body(body, hint, buffer, model, theme);
    } else {
        Paragraph::new("Waiting for the gateway.").render(body, buffer);
    }
    let keys = (0..).zip(KEYS).map(|(rank, key)| Field::new(rank, key, theme.tone(Tone::Dim)));
    fit::fields(keys.collect(), usize::from(foot.width), theme).render(foot, buffer);
    for cell in &mut buffer.content {
        if !cell.symbol().chars().all(console::is_harmless) {
            cell.set_symbol("?");
        }
    }
}

/// The gateway, the line for the hidden columns, the rest, the keys.
fn areas(area: Rect) -> [Rect; 4] {
    let lengths =
        [Constraint::Length(HEAD - 1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    Layout::vertical(lengths).areas(area)
}

fn write_body(area: Rect, hint: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let grid = model.grid();
    let lines = detail::lines(model, &grid, usize::from(area.width), theme);
    let height = lines.as_ref().map_or(0, |lines| height_below(area.height, rows(&grid), wanted(lines)));
    let [table, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
    write_grid(table, hint, buffer, &grid, model, theme);
    let Some(lines) = lines.filter(|_| height > 0) else { return };
    let [line, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(below);
    let (rule, dim) = (if theme.has_blocks { "\u{2500}" } else { "-" }, theme.tone(Tone::Dim));
    Line::styled(rule.repeat(usize::from(line.width)), dim).render(line, buffer);
    Paragraph::new(fit::rows(lines, usize::from(below.height), "lines", dim)).render(below, buffer);
}

/// The lines below a table of `rows` in a room of `height`. The table has what it needs first, unless there is room for
/// some rows and the lines of most ports.
fn height_below(height: u16, rows: u16, wanted: u16) -> u16 {
    let left = height.saturating_sub(rows).min(wanted);
    let least = if height > 2 * DETAIL { DETAIL } else { 0 };
    Some(left.max(least)).filter(|lines| *lines > 2).unwrap_or_default()
}

/// Draws the columns that fit, in `hint` how many do not, and the rows around the selected one.
fn write_grid(area: Rect, hint: Rect, buffer: &mut Buffer, grid: &Grid, model: &Model, theme: Theme) {
    if grid.rows.is_empty() {
        let lines = fit::wrapped(grid.otherwise, usize::from(area.width));
        return Paragraph::new(lines.into_iter().map(Line::raw).collect::<Vec<_>>()).render(area, buffer);
    }
    let widths = widths(grid, model, area.width);
    let gaps = widths.len().saturating_sub(1).max(1) as u16;
    let left = area.width.saturating_sub(1 + widths.iter().sum::<u16>());
    let spacing = (left / gaps).clamp(SPACING, SPACING_MAX);
    let hidden = grid.headings.len() - widths.len();
    if hidden > 0 {
        let text = format!("+{}", count_of(hidden as u64, "column"));
        let text = fit::cut(&text, usize::from(hint.width), theme);
        Line::styled(text, theme.tone(Tone::Dim)).right_aligned().render(hint, buffer);
    }
    let heading = |column: usize| {
        let arrow = if model.order.column == Some(column) { "*" } else { "" };
        let text = Line::styled(format!("{}{arrow}", grid.headings[column]), theme.heading());
        text.alignment(alignment(grid, column))
    };
    let cells = |row: &Row| {
        let line = |(column, cell): (usize, &Cell)| {
            let text = fit::cut(&cell.text, usize::from(widths[column]), theme);
            Line::styled(text, theme.tone(cell.tone)).alignment(alignment(grid, column))
        };
        ratatui::widgets::Row::new(
            row.cells.iter().enumerate().take(widths.len()).map(line).collect::<Vec<_>>(),
        )
    };
    let header = ratatui::widgets::Row::new((0..widths.len()).map(heading).collect::<Vec<_>>());
    let constraints = widths.iter().map(|width| Constraint::Length(*width));
    let table = Table::new(grid.rows.iter().map(cells), constraints)
        .header(header)
        .column_spacing(spacing)
        .row_highlight_style(theme.selected())
        .highlight_symbol(">");
    let selected = model.selected.min(grid.rows.len() - 1);
    StatefulWidget::render(table, area, buffer, &mut TableState::new().with_selected(selected));
}

/// The columns between two columns, and where the screen is wide.
const SPACING: u16 = 2;
const SPACING_MAX: u16 = 4;

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
