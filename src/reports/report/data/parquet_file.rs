//! A table as Parquet: columns are collected and written a million lines at a time.

use std::fs::File as OsFile;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use text::{Cell, Field, Kind};

use super::File;

/// Lines of a row group. A choice: what readers take at once, and some 100 MB while it is collected.
const GROUP: usize = 1 << 20;

/// A file that is being written.
pub(super) struct ParquetFile {
    writer: SerializedFileWriter<OsFile>,
    columns: Vec<Values>,
    lines: usize,
}

/// Values of a column that are not written yet.
struct Values {
    /// By line: 1 for a value, 0 for an unknown one.
    known: Vec<i16>,
    of: Typed,
}

enum Typed {
    Text { values: Vec<ByteArray>, last: Option<ByteArray> },
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Truth(Vec<bool>),
}

impl Values {
    fn new(kind: Kind) -> Self {
        let of = match kind {
            Kind::Text | Kind::Sentence => Typed::Text { values: Vec::new(), last: None },
            Kind::Whole => Typed::Whole(Vec::new()),
            Kind::Number => Typed::Number(Vec::new()),
            Kind::Truth => Typed::Truth(Vec::new()),
        };
        Self { known: Vec::new(), of }
    }

    /// Adds a value. Columns of text take all values, such as those of an axis of numbers and names, and
    /// columns of numbers take whole ones.
    fn push(&mut self, cell: &Cell<'_>) {
        let as_text = match (&self.of, cell) {
            (Typed::Text { .. }, Cell::Whole(n)) => Some(n.to_string()),
            (Typed::Text { .. }, Cell::Number(n)) => Some(n.to_string()),
            (Typed::Text { .. }, Cell::Truth(is)) => Some(is.to_string()),
            _ => None,
        };
        let as_text = as_text.map(|text| Cell::Text(text.into()));
        // Parquet stores known values only, and says by line which are known.
        let is_known = match (&mut self.of, as_text.as_ref().unwrap_or(cell)) {
            (Typed::Text { values, last }, Cell::Text(text)) => {
                // The same text often repeats; a clone shares its memory.
                let same = last.as_ref().filter(|last| last.data() == text.as_bytes());
                let value = same.cloned().unwrap_or_else(|| ByteArray::from(&**text));
                *last = Some(value.clone());
                values.push(value);
                true
            }
            (Typed::Whole(values), Cell::Whole(n)) => {
                // Parquet has unsigned numbers as the same bits.
                values.push(i64::from_ne_bytes(n.to_ne_bytes()));
                true
            }
            (Typed::Number(values), Cell::Number(n)) => {
                values.push(*n);
                true
            }
            (Typed::Number(values), Cell::Time(time)) => {
                values.push(time.as_nanos_f64());
                true
            }
            (Typed::Number(values), Cell::Whole(n)) => {
                values.push(*n as f64);
                true
            }
            (Typed::Truth(values), Cell::Truth(is)) => {
                values.push(*is);
                true
            }
            _ => false,
        };
        self.known.push(i16::from(is_known));
    }
}

impl ParquetFile {
    /// Creates the file. The unit and the meaning of each column are in its metadata.
    pub(super) fn create(path: &Path, columns: &[Field<'_>]) -> io::Result<Self> {
        let field = |column: &Field<'_>| {
            let builder = match column.kind {
                Kind::Text | Kind::Sentence => {
                    Type::primitive_type_builder(column.name, Physical::BYTE_ARRAY)
                        .with_logical_type(Some(LogicalType::String))
                }
                Kind::Whole => Type::primitive_type_builder(column.name, Physical::INT64)
                    .with_logical_type(Some(LogicalType::integer(64, false))),
                Kind::Number => Type::primitive_type_builder(column.name, Physical::DOUBLE),
                Kind::Truth => Type::primitive_type_builder(column.name, Physical::BOOLEAN),
            };
            // Every value may be unknown.
            builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
        };
        let fields =
            columns.iter().map(field).collect::<Result<_, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("table").with_fields(fields).build();
        let about = columns.iter().map(|column| {
            let unit =
                if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
            KeyValue::new(column.name.to_string(), format!("{}{unit}", column.meaning))
        });
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("sluice {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about.collect()))
            .build();
        // Never over a file that is there.
        let file = OsFile::create_new(path)?;
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        let writer = writer.map_err(io::Error::other)?;
        let columns = columns.iter().map(|column| Values::new(column.kind)).collect();
        Ok(Self { writer, columns, lines: 0 })
    }

    /// Writes the collected lines as a row group.
    fn write(&mut self) -> Result<(), parquet::errors::ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let mut writer =
                group.next_column()?.expect("there are as many columns as in the schema");
            let known = Some(&*column.known);
            match &mut column.of {
                Typed::Text { values, .. } => {
                    writer.typed::<ByteArrayType>().write_batch(values, known, None)?;
                    values.clear();
                }
                Typed::Whole(values) => {
                    writer.typed::<Int64Type>().write_batch(values, known, None)?;
                    values.clear();
                }
                Typed::Number(values) => {
                    writer.typed::<DoubleType>().write_batch(values, known, None)?;
                    values.clear();
                }
                Typed::Truth(values) => {
                    writer.typed::<BoolType>().write_batch(values, known, None)?;
                    values.clear();
                }
            }
            column.known.clear();
            writer.close()?;
        }
        group.close()?;
        self.lines = 0;
        Ok(())
    }
}

impl File for ParquetFile {
    fn line(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.lines += 1;
        if self.lines == GROUP { self.write().map_err(io::Error::other) } else { Ok(()) }
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        // The last lines do not fill a group.
        if self.lines > 0 {
            self.write().map_err(io::Error::other)?;
        }
        self.writer.close().map(|_| ()).map_err(io::Error::other)
    }
}
