//! The help of the dashboard.

use super::fit;
use super::grid::Tone;
use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};

/// The columns of a key or a word, in front of what it means.
const TERM: usize = 17;
/// The columns below which a meaning stands below its term.
const NARROW: usize = 3 * TERM;

const HELP: &[(&str, &str)] = &[
    ("1 to 8, Tab", "ports, queues, pauses, marks, slots, drops, cores, health"),
    ("up, down, j, k", "select a row; Home and End go to the first and the last"),
    ("Enter", "show only the port of that row, or all again; Esc: all"),
    ("s", "sort by the next column, largest first; r reverses the rows"),
    ("p, space", "let the picture stand still, or go on"),
    ("+, -", "ask the gateway half or twice as often (+ is longer)"),
    ("?, h", "this help, which up and down scroll; Esc ends it"),
    ("q, Ctrl-C", "quit"),
    ("", ""),
    ("pausing", "share of the time for which the gateway paused the peer"),
    ("paused", "share of the time for which the peer paused this port"),
    ("mark", "the most since longspan show --clear cleared the watermarks"),
    ("buffers", "packet buffers in use, of all"),
    ("+3 columns", "so many have no room; a wider terminal shows them"),
    ("", ""),
    ("", "Counts and rates are of the last interval; delays are since the start."),
];

/// The lines that are above the last screen of the help in a room of this size.
pub fn last_top(area: Rect) -> usize {
    let lines = lines(usize::from(area.width)).len();
    if lines > usize::from(area.height) { lines - usize::from(area.height.saturating_sub(1)) } else { 0 }
}

/// Draws the help from line `top` on.
pub fn draw(area: Rect, buffer: &mut Buffer, top: usize, theme: Theme) {
    let all = lines(usize::from(area.width));
    let last = last_top(area);
    let top = top.min(last);
    let room = usize::from(area.height.saturating_sub(u16::from(last > 0)));
    let mut shown: Vec<_> = all.iter().skip(top).take(room).cloned().map(Line::raw).collect();
    if last > 0 {
        let hint = format!("lines {} to {} of {}: up, down", top + 1, top + shown.len(), all.len());
        let hint = fit::cut(&hint, usize::from(area.width), theme);
        shown.push(Line::styled(hint, theme.tone(Tone::Dim)));
    }
    Paragraph::new(shown).render(area, buffer);
}

fn lines(width: usize) -> Vec<String> {
    HELP.iter().flat_map(|(term, meaning)| entry(term, meaning, width)).collect()
}

fn entry(term: &str, meaning: &str, width: usize) -> Vec<String> {
    if term.is_empty() {
        return fit::wrapped(meaning, width);
    }
    if width < NARROW {
        let meaning = fit::wrapped(meaning, width.saturating_sub(2)).into_iter().map(|it| format!("  {it}"));
        return fit::wrapped(term, width).into_iter().chain(meaning).collect();
    }
    let meaning = fit::wrapped(meaning, width - TERM).into_iter();
    let terms = [term].into_iter().chain(std::iter::repeat(""));
    terms.zip(meaning).map(|(term, meaning)| format!("{term:TERM$}{meaning}")).collect()
}
