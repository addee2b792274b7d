//! The columns of an I/O.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BooleanBuilder, Int64Builder, StringDictionaryBuilder, TimestampNanosecondBuilder,
        UInt16Builder, UInt32Builder, UInt64Builder,
    },
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::errors::ParquetError;
use tracer_common::flag;

use crate::{
    errno,
    event::{Event, Op},
    input::{Device, Mode, Start},
};

/// Flags with a column of their own.
const FLAGS: [(&str, u32); 6] = [
    ("sync", flag::SYNC),
    ("fua", flag::FUA),
    ("preflush", flag::PREFLUSH),
    ("meta", flag::META),
    ("readahead", flag::RAHEAD),
    ("idle", flag::IDLE),
];

pub(super) fn schema() -> SchemaRef {
    let word = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let always = |name: &str, kind: DataType| Field::new(name, kind, false);
    let perhaps = |name: &str, kind: DataType| Field::new(name, kind, true);
    let mut fields = vec![
        perhaps(
            "time",
            DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        ),
        always("start_ns", DataType::Int64),
        perhaps("issue_ns", DataType::Int64),
        always("end_ns", DataType::Int64),
        perhaps("latency_ns", DataType::UInt64),
        perhaps("queue_ns", DataType::UInt64),
        perhaps("service_ns", DataType::UInt64),
        always("device", word()),
        perhaps("dataset", word()),
        always("mode", word()),
        perhaps("volblocksize_bytes", DataType::UInt64),
        always("op", word()),
        always("offset_bytes", DataType::UInt64),
        always("bytes", DataType::UInt32),
    ];
    fields.extend(
        FLAGS
            .iter()
            .map(|(name, _)| always(name, DataType::Boolean)),
    );
    fields.extend([
        always("flags", DataType::UInt32),
        perhaps("error", word()),
        always("cpu", DataType::UInt16),
        always("pid", DataType::UInt32),
        always("tid", DataType::UInt32),
        perhaps("comm", word()),
    ]);
    Arc::new(Schema::new(fields))
}

type Words = StringDictionaryBuilder<Int32Type>;

/// Rows that are being collected.
pub(super) struct Columns {
    schema: SchemaRef,
    rows: usize,
    time: TimestampNanosecondBuilder,
    start: Int64Builder,
    issue: Int64Builder,
    end: Int64Builder,
    latency: UInt64Builder,
    queue: UInt64Builder,
    service: UInt64Builder,
    device: Words,
    dataset: Words,
    mode: Words,
    volblocksize: UInt64Builder,
    op: Words,
    offset: UInt64Builder,
    bytes: UInt32Builder,
    flags: [BooleanBuilder; FLAGS.len()],
    bits: UInt32Builder,
    error: Words,
    cpu: UInt16Builder,
    pid: UInt32Builder,
    tid: UInt32Builder,
    comm: Words,
}

impl Columns {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            rows: 0,
            time: TimestampNanosecondBuilder::new().with_timezone("UTC"),
            start: Int64Builder::new(),
            issue: Int64Builder::new(),
            end: Int64Builder::new(),
            latency: UInt64Builder::new(),
            queue: UInt64Builder::new(),
            service: UInt64Builder::new(),
            device: Words::new(),
            dataset: Words::new(),
            mode: Words::new(),
            volblocksize: UInt64Builder::new(),
            op: Words::new(),
            offset: UInt64Builder::new(),
            bytes: UInt32Builder::new(),
            flags: std::array::from_fn(|_| BooleanBuilder::new()),
            bits: UInt32Builder::new(),
            error: Words::new(),
            cpu: UInt16Builder::new(),
            pid: UInt32Builder::new(),
            tid: UInt32Builder::new(),
            comm: Words::new(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn push(&mut self, start: Option<&Start>, device: &Device, event: &Event) {
        self.rows += 1;
        let started_ns = start.map_or(0, |start| start.started_ns);
        let since_start = |at_ns: u64| at_ns.wrapping_sub(started_ns).cast_signed();
        // The epoch itself stands for a wall clock that nobody knows.
        let unix_ns = start
            .map(|start| start.started_unix_ns)
            .filter(|unix_ns| *unix_ns > 0);
        let start_ns = since_start(event.start_ns);
        self.time
            .append_option(unix_ns.and_then(|unix_ns| unix_ns.checked_add(start_ns)));
        self.start.append_value(start_ns);
        self.issue.append_option(event.issue_ns.map(since_start));
        self.end.append_value(since_start(event.end_ns));
        self.latency.append_option(event.latency_ns());
        let issue_ns = event.issue_ns;
        self.queue
            .append_option(issue_ns.and_then(|issue| issue.checked_sub(event.start_ns)));
        self.service
            .append_option(issue_ns.and_then(|issue| event.end_ns.checked_sub(issue)));
        self.device.append_value(&device.name);
        self.dataset.append_option(device.dataset.as_ref());
        self.mode.append_value(match device.mode {
            Mode::Bio => "bio",
            Mode::BlkMq => "blk-mq",
        });
        self.volblocksize.append_option(device.volblocksize_bytes);
        match event.op {
            Op::Read => self.op.append_value("read"),
            Op::Write => self.op.append_value("write"),
            Op::Flush => self.op.append_value("flush"),
            Op::Discard => self.op.append_value("discard"),
            Op::SecureErase => self.op.append_value("secure_erase"),
            Op::WriteZeroes => self.op.append_value("write_zeroes"),
            Op::Unknown(number) => self.op.append_value(format!("unknown_{number}")),
        }
        self.offset.append_value(event.offset_bytes);
        self.bytes.append_value(event.bytes);
        for (column, (_, mask)) in self.flags.iter_mut().zip(FLAGS) {
            column.append_value(event.flags.has(mask));
        }
        self.bits.append_value(event.flags.bits());
        self.error
            .append_option((event.errno != 0).then(|| errno::name(event.errno)));
        self.cpu.append_value(event.cpu);
        self.pid.append_value(event.pid);
        self.tid.append_value(event.tid);
        let comm = event.comm.to_text();
        self.comm.append_option((!comm.is_empty()).then_some(comm));
    }

    /// The collected rows; collecting starts anew.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ParquetError> {
        self.rows = 0;
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(self.time.finish()),
            Arc::new(self.start.finish()),
            Arc::new(self.issue.finish()),
            Arc::new(self.end.finish()),
            Arc::new(self.latency.finish()),
            Arc::new(self.queue.finish()),
            Arc::new(self.service.finish()),
            Arc::new(self.device.finish()),
            Arc::new(self.dataset.finish()),
            Arc::new(self.mode.finish()),
            Arc::new(self.volblocksize.finish()),
            Arc::new(self.op.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.bytes.finish()),
        ];
        arrays.extend(
            self.flags
                .iter_mut()
                .map(|flag| Arc::new(flag.finish()) as ArrayRef),
        );
        arrays.extend([
            Arc::new(self.bits.finish()) as ArrayRef,
            Arc::new(self.error.finish()),
            Arc::new(self.cpu.finish()),
            Arc::new(self.pid.finish()),
            Arc::new(self.tid.finish()),
            Arc::new(self.comm.finish()),
        ]);
        Ok(RecordBatch::try_new(self.schema.clone(), arrays)?)
    }
}
