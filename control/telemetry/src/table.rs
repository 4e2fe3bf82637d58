//! Tables with aligned columns.

use core::fmt::Write;

/// Columns of a table: their headings, and functions that write the cells of a row.
pub type Columns<'c, R> = &'c [(&'c str, fn(&R) -> String)];

/// A table in plain ASCII. Its first columns are text, aligned to the left; the others are figures, aligned to the
/// right.
pub struct Table {
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, the first `text_columns` of them above text.
    pub fn new<'a>(text_columns: usize, headings: impl IntoIterator<Item = &'a str>) -> Self {
        Self { text_columns, rows: vec![headings.into_iter().map(str::to_owned).collect()] }
    }

    /// A table of `columns`, the first `text_columns` of them text, with a row for each of `rows`.
    pub fn of<R>(text_columns: usize, columns: Columns<'_, R>, rows: impl IntoIterator<Item = R>) -> Self {
        let mut table = Self::new(text_columns, columns.iter().map(|(heading, _)| *heading));
        for row in rows {
            table.row(columns.iter().map(|(_, cell)| cell(&row)));
        }
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has headings only.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Writes it, indented by two spaces.
    pub fn write_to(&self, page: &mut String) {
        self.write_rows(page, 0);
    }

    /// Writes it without its headings.
    pub fn write_body_to(&self, page: &mut String) {
        self.write_rows(page, 1);
    }

    fn write_rows(&self, page: &mut String, first: usize) {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<_> = (0..columns).map(width).collect();
        for row in &self.rows[first..] {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // Writing to a string cannot fail.
                let _ = if column < self.text_columns {
                    write!(line, "  {cell:<width$}")
                } else {
                    write!(line, "  {cell:>width$}")
                };
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
    }
}

/// Writes `table` below its `title` and a blank line, unless it is empty.
pub fn section(page: &mut String, title: &str, table: &Table) {
    if !table.is_empty() {
        page.push('\n');
        page.push_str(title);
        page.push('\n');
        table.write_to(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(1, ["port", "n"]);
        table.row(["a".into(), "100".into()]);
        let mut page = String::new();
        table.write_to(&mut page);
        assert_eq!(page, "  port    n\n  a     100\n");
    }
}
