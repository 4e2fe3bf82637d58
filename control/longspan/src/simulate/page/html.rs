//! The parts of the page other than its plots.

use crate::chart::drawing::COLOURS;
use crate::chart::text::escaped;

/// The style of the page, in light and dark.
const STYLE: &str = include_str!("style.css");

/// The whole page.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// A section of the page.
pub fn section(title: &str, content: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{content}</section>\n", escaped(title))
}

/// A section that opens on a click.
pub fn details(title: &str, content: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{content}</details>\n", escaped(title))
}

/// A remark.
pub fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

/// The colours of the curves with these labels.
pub fn legend<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let entry = |(place, label)| {
        format!("<li class=\"c{}\"><span class=\"swatch\"></span>{}</li>", place % COLOURS, escaped(label))
    };
    format!("<ul class=\"legend\">{}</ul>\n", labels.enumerate().map(entry).collect::<String>())
}

/// Plots side by side, as far as there is room.
pub fn grid(figures: &str) -> String {
    if figures.is_empty() { String::new() } else { format!("<div class=\"grid\">\n{figures}</div>\n") }
}

/// A table. Cells are HTML; the first column is a heading.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let head: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let row = |row: &Vec<String>| {
        let (first, rest) = row.split_first()?;
        let rest: String = rest.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        Some(format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>\n"))
    };
    let rows: String = rows.iter().filter_map(row).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}
