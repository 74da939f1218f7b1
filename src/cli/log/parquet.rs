//! Records as columns, for the engines that a fleet's data is analysed on.
//!
//! One row a finding. A verdict without findings is one row whose finding columns are null, so that rates
//! have a denominator; a call that was carried out and one that was undone are one row each, so that the
//! precision of a rule is `1 - undone / executed`.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value as Json;

use super::filter::{findings, text};
use crate::journal::{Kind, Record};

/// Rows of one group: some MB.
const GROUP: usize = 65_536;

const SCHEMA: &str = "message finding {
    required int64 seq;
    required int64 time (TIMESTAMP(MILLIS, true));
    required binary kind (UTF8);
    optional binary session (UTF8);
    optional int32 turn;
    optional binary policy (UTF8);
    optional binary verdict (UTF8);
    optional double micros;
    optional binary gate (UTF8);
    optional binary tier (UTF8);
    optional binary rule (UTF8);
    optional binary source (UTF8);
    optional binary because (UTF8);
    optional int32 remedies;
    optional binary tool (UTF8);
    optional binary outcome (UTF8);
    required boolean proved;
}";

/// One row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    seq: i64,
    time: i64,
    kind: String,
    session: Option<String>,
    turn: Option<i32>,
    policy: Option<String>,
    verdict: Option<String>,
    micros: Option<f64>,
    gate: Option<String>,
    tier: Option<String>,
    rule: Option<String>,
    source: Option<String>,
    because: Option<String>,
    remedies: Option<i32>,
    tool: Option<String>,
    outcome: Option<String>,
    /// False behind a break of the chain.
    proved: bool,
}

fn some(json: &Json, name: &str) -> Option<String> {
    Some(text(json, name)).filter(|t| !t.is_empty()).map(str::to_owned)
}

/// The rows of records.
pub(super) fn rows(records: &[Record]) -> Vec<Row> {
    records.iter().flat_map(of).collect()
}

fn of(record: &Record) -> Vec<Row> {
    let body = &record.body;
    let row = Row {
        seq: i64::try_from(record.seq).unwrap_or(i64::MAX),
        time: i64::try_from(record.time).unwrap_or(i64::MAX),
        kind: record.kind.as_str().to_owned(),
        session: record.place.as_ref().map(|p| p.session.clone()),
        turn: record.place.as_ref().and_then(|p| i32::try_from(p.turn).ok()),
        policy: some(body, "policy"),
        proved: record.proved,
        ..Row::default()
    };
    match record.kind {
        Kind::Verdict | Kind::Shadow => {
            let report = body.get("report").unwrap_or(&Json::Null);
            let kind = match some(body, "of") {
                Some(of) => format!("shadow-{of}"),
                None => row.kind.clone(),
            };
            let micros = report.get("micros").and_then(Json::as_f64);
            let verdict = Row { kind, verdict: some(report, "verdict"), micros, ..row };
            let found: Vec<Row> = findings(record).map(|f| finding(&verdict, f)).collect();
            if found.is_empty() { vec![verdict] } else { found }
        }
        // One row an action, however many of its values went back.
        Kind::Undone if body.get("first").and_then(Json::as_bool) == Some(false) => Vec::new(),
        Kind::Executed | Kind::Undone => {
            let call = body.get("call").unwrap_or(&Json::Null);
            let (rule, tool) = (some(call, "by"), some(call, "tool"));
            let outcome = some(body, "outcome").or_else(|| some(body, "how"));
            vec![Row { rule, tool, outcome, because: some(body, "why").or_else(|| some(body, "field")), ..row }]
        }
        _ => Vec::new(),
    }
}

fn finding(verdict: &Row, found: &Json) -> Row {
    let remedies = found.get("remedy").and_then(Json::as_array).map_or(0, Vec::len);
    Row {
        gate: some(found, "gate"),
        tier: some(found, "tier"),
        rule: some(found, "rule"),
        source: some(found, "source"),
        because: some(found, "because"),
        remedies: i32::try_from(remedies).ok(),
        ..verdict.clone()
    }
}

/// Writes the rows.
///
/// # Errors
/// What the file system says.
pub(super) fn write(file: impl Write + Send, rows: &[Row]) -> io::Result<()> {
    columns(file, rows).map_err(io::Error::other)
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

fn columns<W: Write + Send>(file: W, rows: &[Row]) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build());
    let mut writer = SerializedFileWriter::new(file, schema, properties)?;
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        integers(&mut group, rows.iter().map(|r| Some(r.seq)), true)?;
        integers(&mut group, rows.iter().map(|r| Some(r.time)), true)?;
        words(&mut group, rows.iter().map(|r| Some(r.kind.as_str())), true)?;
        words(&mut group, rows.iter().map(|r| r.session.as_deref()), false)?;
        small(&mut group, rows.iter().map(|r| r.turn))?;
        words(&mut group, rows.iter().map(|r| r.policy.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.verdict.as_deref()), false)?;
        reals(&mut group, rows.iter().map(|r| r.micros))?;
        words(&mut group, rows.iter().map(|r| r.gate.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.tier.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.rule.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.source.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.because.as_deref()), false)?;
        small(&mut group, rows.iter().map(|r| r.remedies))?;
        words(&mut group, rows.iter().map(|r| r.tool.as_deref()), false)?;
        words(&mut group, rows.iter().map(|r| r.outcome.as_deref()), false)?;
        flags(&mut group, rows.iter().map(|r| Some(r.proved)), true)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Values without the missing ones, and for each row whether it has one; a required column has no levels.
fn levels<T>(values: impl Iterator<Item = Option<T>>, required: bool) -> (Vec<T>, Option<Vec<i16>>) {
    let values: Vec<Option<T>> = values.collect();
    let levels = values.iter().map(|v| i16::from(v.is_some())).collect();
    (values.into_iter().flatten().collect(), (!required).then_some(levels))
}

/// One writer of a column a type: the crate's trait of types is sealed towards values, not writers.
macro_rules! column {
    ($name:ident, $value:ty, $kind:ty) => {
        fn $name<W: Write + Send>(
            group: &mut Group<'_, W>,
            values: impl Iterator<Item = Option<$value>>,
            required: bool,
        ) -> Result<(), ParquetError> {
            let (values, levels) = levels(values, required);
            let missing = || ParquetError::General("the schema has fewer columns than a row".to_owned());
            let mut column = group.next_column()?.ok_or_else(missing)?;
            column.typed::<$kind>().write_batch(&values, levels.as_deref(), None)?;
            column.close()
        }
    };
}
column!(integers, i64, Int64Type);
column!(flags, bool, BoolType);
column!(bytes, ByteArray, ByteArrayType);
column!(optional_small, i32, Int32Type);
column!(optional_reals, f64, DoubleType);

fn words<'a, W: Write + Send>(
    group: &mut Group<'_, W>,
    values: impl Iterator<Item = Option<&'a str>>,
    required: bool,
) -> Result<(), ParquetError> {
    bytes(group, values.map(|v| v.map(ByteArray::from)), required)
}

fn small<W: Write + Send>(
    group: &mut Group<'_, W>,
    values: impl Iterator<Item = Option<i32>>,
) -> Result<(), ParquetError> {
    optional_small(group, values, false)
}

fn reals<W: Write + Send>(
    group: &mut Group<'_, W>,
    values: impl Iterator<Item = Option<f64>>,
) -> Result<(), ParquetError> {
    optional_reals(group, values, false)
}
