//! Tables as Parquet: all columns optional, without compression, strings by dictionary.

use super::cell::{Cell, Column, Kind};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The number of rows that are written together, and held in memory until then.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet file.
pub struct Parquet {
    writer: SerializedFileWriter<File>,
    columns: Vec<Values>,
    /// Rows that are not written yet.
    rows: usize,
}

/// The values of a column that are not written yet.
enum Values {
    Text(Buffer<ByteArrayType>),
    Whole(Buffer<Int64Type>),
    Number(Buffer<DoubleType>),
}

/// Values of one type.
struct Buffer<T: DataType> {
    values: Vec<T::T>,
    /// For each row, 1 if it has a value, and 0 if not.
    levels: Vec<i16>,
}

impl Parquet {
    /// Creates the file at `path`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(path: &Path, columns: &[Column]) -> io::Result<Self> {
        let schema = schema(columns).map_err(io::Error::other)?;
        let properties = Arc::new(WriterProperties::default());
        let writer = SerializedFileWriter::new(File::create(path)?, schema, properties);
        let columns = columns.iter().map(|column| Values::new(column.kind)).collect();
        Ok(Self { writer: writer.map_err(io::Error::other)?, columns, rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn add(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        for (values, cell) in self.columns.iter_mut().zip(row) {
            values.add(*cell).map_err(io::Error::other)?;
        }
        self.rows += 1;
        if self.rows < GROUP_ROWS { Ok(()) } else { self.write_group().map_err(io::Error::other) }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group().map_err(io::Error::other)?;
        }
        self.writer.close().map(drop).map_err(io::Error::other)
    }

    /// Writes the rows in memory.
    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for values in &mut self.columns {
            let mut column = group.next_column()?.ok_or_else(unexpected)?;
            match values {
                Values::Text(buffer) => buffer.write(&mut column)?,
                Values::Whole(buffer) => buffer.write(&mut column)?,
                Values::Number(buffer) => buffer.write(&mut column)?,
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(Buffer::new()),
            Kind::Whole => Self::Whole(Buffer::new()),
            Kind::Number => Self::Number(Buffer::new()),
        }
    }

    fn add(&mut self, cell: Cell<'_>) -> Result<()> {
        match (self, cell) {
            (Self::Text(buffer), Cell::Text(text)) => buffer.add(Some(ByteArray::from(text))),
            (Self::Whole(buffer), Cell::Whole(value)) => buffer.add(Some(value)),
            (Self::Number(buffer), Cell::Number(value)) => buffer.add(Some(value)),
            (Self::Text(buffer), Cell::Missing) => buffer.add(None),
            (Self::Whole(buffer), Cell::Missing) => buffer.add(None),
            (Self::Number(buffer), Cell::Missing) => buffer.add(None),
            _ => return Err(unexpected()),
        }
        Ok(())
    }
}

impl<T: DataType> Buffer<T> {
    fn new() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }

    fn add(&mut self, value: Option<T::T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        column.typed::<T>().write_batch(&self.values, Some(&self.levels), None)?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }
}

fn unexpected() -> ParquetError {
    ParquetError::General("a cell does not match its column".into())
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Whole => (PhysicalType::INT64, None),
            Kind::Number => (PhysicalType::DOUBLE, None),
        };
        let builder = Type::primitive_type_builder(&column.name, physical);
        builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder("longspan").with_fields(fields).build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn rows_beyond_a_group_are_in_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let columns = [Column::new("a.b", Kind::Text), Column::new("c", Kind::Whole)];
        let text = |row| if row % 2 == 0 { Cell::Text("even") } else { Cell::Missing };
        let mut table = Parquet::create(&path, &columns).unwrap();
        let rows = GROUP_ROWS as i64 + 1;
        (0..rows).for_each(|row| table.add(&[text(row), Cell::Whole(row)]).unwrap());
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let metadata = reader.metadata();
        assert_eq!((metadata.num_row_groups(), metadata.file_metadata().num_rows()), (2, rows));
        for (row, read) in (0..).zip(reader.get_row_iter(None).unwrap()) {
            let text = if row % 2 == 0 { "\"even\"" } else { "null" };
            assert_eq!(read.unwrap().to_string(), format!("{{a.b: {text}, c: {row}}}"));
        }
    }

    #[test]
    fn a_cell_of_another_type_than_its_column_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let columns = [Column::new("text", Kind::Text)];
        let mut table = Parquet::create(&directory.path().join("t.parquet"), &columns).unwrap();
        assert!(table.add(&[Cell::Whole(1)]).is_err());
    }
}
