//! Colours and characters of the dashboard. Both have a plain form, and neither alone says anything.

use super::grid::Tone;
use ratatui::style::{Color, Modifier, Style};

/// The abilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Whether there are colours.
    pub has_colours: bool,
    /// Whether there are characters beyond ASCII.
    pub has_blocks: bool,
}

/// Eight heights of a column, and none.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const LETTERS: [&str; 9] = [" ", ".", ".", ":", ":", "-", "=", "+", "#"];

impl Theme {
    /// The theme that the environment asks for, by `variable`: no colours with NO_COLOR (no-color.org) or on a dumb
    /// terminal, ASCII unless the locale is UTF-8.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let is_dumb = set("TERM").is_none_or(|term| term == "dumb" || term.ends_with("-m"));
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let locale = locale.to_lowercase();
        Self {
            has_colours: set("NO_COLOR").is_none() && !is_dumb,
            has_blocks: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }

    /// Text of a tone.
    pub fn tone(self, tone: Tone) -> Style {
        let plain = Style::new();
        match (tone, self.has_colours) {
            (Tone::Plain, _) => plain,
            (Tone::Dim, _) => plain.add_modifier(Modifier::DIM),
            (Tone::Good, true) => plain.fg(Color::Green),
            (Tone::Good, false) => plain,
            (Tone::Warn, true) => plain.fg(Color::Yellow),
            (Tone::Warn, false) => plain.add_modifier(Modifier::BOLD),
            (Tone::Bad, true) => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            (Tone::Bad, false) => plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        }
    }

    /// Headings.
    pub fn heading(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.has_colours { bold.fg(Color::Cyan) } else { bold }
    }

    /// The view that is shown.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The selected row. Reversed, cells of several colours would have as many backgrounds.
    pub fn selected(self) -> Style {
        if self.has_colours { Style::new().bg(Color::DarkGray) } else { self.chosen() }
    }

    /// The end of a text that is cut.
    pub const fn ellipsis(self) -> &'static str {
        if self.has_blocks { "…" } else { "..." }
    }

    /// A bar of `width` characters, `share` of which is full.
    pub fn bar(self, share: f64, width: usize) -> String {
        let full = ((share.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
        let (on, off) = if self.has_blocks { ("█", "░") } else { ("#", ".") };
        on.repeat(full) + &off.repeat(width - full)
    }

    /// A column for each of `values`, as high as its share of `most`. A value above zero is always visible.
    pub fn columns(self, values: impl Iterator<Item = u64>, most: u64) -> String {
        let heights = if self.has_blocks { BLOCKS } else { LETTERS };
        let height = |value: u64| match value {
            0 => heights[0],
            _ => heights[((value as f64 / most.max(1) as f64 * 8.0).ceil() as usize).clamp(1, 8)],
        };
        values.map(height).collect()
    }
}
