//! What the page is made of but for its plots.

use crate::chart::drawing::{COLOURS, escaped};

/// How the page looks, in the light and in the dark.
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

/// A section of the page; nothing where `content` is empty.
pub fn section(title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>{}</h2>\n{content}</section>\n", escaped(title))
}

/// A section that is opened by a click.
pub fn details(title: &str, content: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{content}</details>\n", escaped(title))
}

/// A remark.
pub fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

/// Which colour is which curve.
pub fn legend<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let entry = |(place, label)| {
        format!("<li class=\"c{}\"><span class=\"swatch\"></span>{}</li>", place % COLOURS, escaped(label))
    };
    format!("<ul class=\"legend\">{}</ul>\n", labels.enumerate().map(entry).collect::<String>())
}

/// Plots beside each other as far as there is room.
pub fn grid(figures: &str) -> String {
    if figures.is_empty() { String::new() } else { format!("<div class=\"grid\">\n{figures}</div>\n") }
}

/// A table. Cells are HTML already; the first column is a heading.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let head: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let mut text = format!("<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n");
    for row in rows {
        let mut cells = row.iter();
        let first = cells.next().map(|cell| format!("<th scope=\"row\">{cell}</th>")).unwrap_or_default();
        let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        text += &format!("<tr>{first}{rest}</tr>\n");
    }
    text + "</tbody>\n</table></div>\n"
}
