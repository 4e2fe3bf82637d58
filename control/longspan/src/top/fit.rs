//! Text in less room than it wants: whole fields are left out, what is cut ends in an ellipsis, prose is wrapped.

use super::theme::Theme;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::borrow::Cow;
use textwrap::WordSplitter;

/// The columns between two fields.
const GAP: &str = "  ";

/// A part of a line that is shown whole or not at all.
#[derive(Clone, Debug)]
pub struct Field {
    /// The text.
    pub span: Span<'static>,
    /// The order in which fields are left out, the largest first; one of rank 0 stays.
    pub rank: u8,
}

impl Field {
    /// A field in this style.
    pub fn new(rank: u8, text: impl Into<String>, style: Style) -> Self {
        Self { span: Span::styled(text.into(), style), rank }
    }
}

/// The columns that `text` takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// `text` in at most `room` columns.
pub fn cut(text: &str, room: usize, theme: Theme) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let dots = theme.ellipsis();
    let left = room.saturating_sub(width(dots));
    let mut used = 0;
    let fits = |it: &char| {
        used += width(it.encode_utf8(&mut [0; 4]));
        used <= left
    };
    let start: String = text.chars().take_while(fits).collect();
    format!("{}{dots}", start.trim_end()).chars().take(room).collect()
}

/// A line of those `fields` that fit. If not even those of rank 0 do, the first of them is cut, and the last ones go.
pub fn fields(mut fields: Vec<Field>, room: usize, theme: Theme) -> Line<'static> {
    while taken(&fields) > room
        && let Some(rank) = fields.iter().map(|it| it.rank).max().filter(|rank| *rank > 0)
    {
        fields.retain(|it| it.rank < rank);
    }
    let shortest = width(theme.ellipsis()) + 1;
    while fields.len() > 1 && taken(&fields[1..]) + GAP.len() + shortest > room {
        fields.pop();
    }
    let too_much = taken(&fields).saturating_sub(room);
    if let Some(first) = fields.first_mut() {
        let left = first.span.width().saturating_sub(too_much);
        first.span.content = cut(&first.span.content, left, theme).into();
    }
    let mut spans = Vec::new();
    for field in fields {
        if !spans.is_empty() {
            spans.push(Span::raw(GAP));
        }
        spans.push(field.span);
    }
    Line::from(spans)
}

/// The columns of `fields` and of the gaps between them.
fn taken(fields: &[Field]) -> usize {
    let gaps = GAP.len() * fields.len().saturating_sub(1);
    fields.iter().map(|it| it.span.width()).sum::<usize>() + gaps
}

/// `text` in lines of at most `room` columns. A word that is longer than a line goes on in the next one.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let options = textwrap::Options::new(room).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// As many of `lines` as `rows` has room for; where it has not enough, the last one says how many there are more.
pub fn rows(mut lines: Vec<Line<'static>>, rows: usize, what: &str, style: Style) -> Vec<Line<'static>> {
    if lines.len() > rows {
        let shown = rows.saturating_sub(1);
        let more = lines.len() - shown;
        lines.truncate(shown);
        lines.push(Line::styled(format!("+{more} {what}"), style));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Theme = Theme { has_colours: false, has_blocks: false };
    const BLOCKS: Theme = Theme { has_colours: false, has_blocks: true };

    fn line(room: usize) -> String {
        let field = |rank, text: &str| Field::new(rank, text, Style::new());
        let all = vec![field(0, "amsterdam"), field(2, "0.1.0"), field(1, "3 s"), field(0, "live")];
        fields(all, room, ASCII).to_string()
    }

    #[test]
    fn whole_fields_are_left_out_and_then_the_first_is_cut() {
        assert_eq!(line(27), "amsterdam  0.1.0  3 s  live");
        assert_eq!(line(26), "amsterdam  3 s  live");
        assert_eq!(line(15), "amsterdam  live");
        assert_eq!(line(14), "amste...  live");
        assert_eq!(line(8), "amste...");
        assert_eq!(line(2), "..");
        assert_eq!(line(0), "");
    }

    #[test]
    fn what_is_cut_ends_in_an_ellipsis_of_the_theme() {
        assert_eq!([cut("a finding", 9, ASCII), cut("a finding", 8, ASCII)], ["a finding", "a fin..."]);
        assert_eq!([cut("a finding", 3, BLOCKS), cut("你好你好", 6, BLOCKS)], ["a…", "你好…"]);
    }

    #[test]
    fn prose_is_wrapped_between_words_and_longer_words_within() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a/very/long/path it is", 8), ["a/very/l", "ong/path", "it is"]);
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn lines_without_room_are_counted() {
        let all = || ["a", "b", "c"].map(Line::raw).to_vec();
        let shown =
            |room| rows(all(), room, "lines", Style::new()).iter().map(Line::to_string).collect::<Vec<_>>();
        assert_eq!(
            (shown(3), shown(2)),
            (vec!["a".into(), "b".into(), "c".into()], vec!["a".into(), "+2 lines".into()])
        );
    }
}
