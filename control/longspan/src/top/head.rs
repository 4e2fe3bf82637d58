//! The lines above the table: the gateway, its buffer, the views.

use super::fit::{self, Field};
use super::grid::Tone;
use super::model::Model;
use super::theme::Theme;
use super::views::{DashboardView, tone};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use telemetry::Period;
use telemetry::health::Health;
use units::human::{bytes, duration, nanos};

/// Draws them, each in one line.
pub fn draw(area: Rect, buffer: &mut Buffer, model: &Model, theme: Theme) {
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    match model.period() {
        Some(period) => {
            lines.push(title(&period, model, width, theme));
            lines.push(buffer_line(&period, width, theme));
        }
        None => {
            let text = format!("longspan top, every {}", nanos(model.interval.0));
            lines.push(Line::styled(fit::cut(&text, width, theme), theme.heading()));
        }
    }
    if let Some(lost) = &model.lost {
        lines.truncate(1);
        let text = fit::cut(&format!("LOST: {lost}"), width, theme);
        lines.push(Line::styled(text, theme.tone(Tone::Bad)));
    }
    lines.resize(2, Line::default());
    lines.push(tabs(model, width, theme));
    Paragraph::new(lines).render(area, buffer);
}

/// The gateway, whether the picture moves, and the time that it covers.
fn title(period: &Period<'_>, model: &Model, width: usize, theme: Theme) -> Line<'static> {
    let every = nanos(model.interval.0);
    let (state, tone) = if model.lost.is_some() {
        ("NO ANSWER, trying again".to_owned(), Tone::Bad)
    } else if model.is_paused {
        ("PAUSED".to_owned(), Tone::Warn)
    } else if period.is_since_start() {
        ("averages since the start".to_owned(), Tone::Warn)
    } else {
        (format!("live, every {every}"), Tone::Good)
    };
    let now = period.now;
    let fields = vec![
        Field::new(0, now.gateway.clone(), theme.heading()),
        Field::new(2, format!("Longspan {}", now.version), theme.heading()),
        Field::new(1, format!("up {}", duration(now.uptime_ns)), theme.heading()),
        Field::new(0, state, theme.tone(tone)),
    ];
    fit::fields(fields, width, theme)
}

fn buffer_line(period: &Period<'_>, width: usize, theme: Theme) -> Line<'static> {
    let (pools, memory) = (period.now.pools, period.now.memory);
    let Health { verdict, cause, .. } = Health::of(period, None);
    let cause = cause.map(|it| Field::new(1, it.finding.rule, theme.tone(tone(verdict))));
    let held = |held: u64, size: u64| format!("{} of {}", bytes(held), bytes(size));
    let (shared, headroom) = (pools.shared, pools.headroom);
    let plain = Style::new();
    let mut fields = vec![
        Field::new(0, verdict.name(), theme.tone(tone(verdict))),
        Field::new(3, format!("shared {}", held(shared.held_bytes, shared.size_bytes)), plain),
        Field::new(2, format!("headroom {}", held(headroom.held_bytes, headroom.size_bytes)), plain),
        Field::new(4, format!("buffers {}", share(memory.mbufs_in_use, memory.mbufs)), plain),
    ];
    if let Some(cause) = cause {
        fields.insert(1, cause);
    }
    fit::fields(fields, width, theme)
}

/// In at most five columns, so that the line fits on 80 at its longest.
fn share(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    if percent < 99.95 { format!("{percent:.1}%") } else { "100%".into() }
}

/// The views, by number alone if there is not enough room for their names, and the port that alone is shown.
fn tabs(model: &Model, width: usize, theme: Theme) -> Line<'static> {
    let named = tabs_of(model, theme, |key, view| format!("{key} {}", view.name()));
    if named.width() <= width {
        return named;
    }
    let short = tabs_of(model, theme, |key, _| key.to_string());
    if short.width() <= width {
        return short;
    }
    Line::raw(fit::cut(&short.to_string(), width, theme))
}

fn tabs_of(model: &Model, theme: Theme, name: impl Fn(usize, DashboardView) -> String) -> Line<'static> {
    let mut spans = Vec::new();
    for (key, view) in (1..).zip(DashboardView::ALL) {
        let (text, style) = if view == model.view {
            (format!("[{key} {}]", view.name()), theme.chosen())
        } else {
            (format!(" {} ", name(key, view)), Style::new())
        };
        spans.push(Span::styled(text, style));
    }
    if let Some(only) = &model.only {
        spans.push(Span::raw(format!("  {only} only")));
    }
    Line::from(spans)
}
