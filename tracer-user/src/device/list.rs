//! What `zvoltrace list` prints: the disks, for people and for programs.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use super::Disk;
use crate::{input::Mode, report::units};

/// Value of [`List::schema`].
pub const SCHEMA: &str = "zvoltrace.list/1";

/// The JSON form. Keys may be added, never renamed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct List {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The disks, in the order they were given.
    pub devices: Vec<Row>,
}

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Kernel name.
    pub device: String,
    /// Major number.
    pub major: u32,
    /// First minor number.
    pub minor: u32,
    /// Dataset; null when it is not known, or no zvol.
    pub dataset: Option<String>,
    /// Virtual machine by Proxmox's names.
    pub vm: Option<u64>,
    /// Mode.
    pub mode: Mode,
    /// A zvol's block size.
    pub volblocksize_bytes: Option<u64>,
    /// Size of the disk; a string, since it can pass 2^53.
    pub size_bytes: String,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Whether it is a snapshot.
    pub snapshot: bool,
}

impl List {
    /// Makes the list.
    #[must_use]
    pub fn new(disks: &[Disk]) -> Self {
        Self {
            schema: SCHEMA,
            devices: disks.iter().map(Row::new).collect(),
        }
    }
}

impl Row {
    fn new(disk: &Disk) -> Self {
        Self {
            device: disk.name.clone(),
            major: disk.major,
            minor: disk.first_minor,
            dataset: disk.dataset.clone(),
            vm: disk.vm(),
            mode: disk.mode,
            volblocksize_bytes: disk.volblocksize_bytes,
            size_bytes: disk.size_bytes.to_string(),
            read_only: disk.read_only,
            snapshot: disk.snapshot,
        }
    }
}

/// A table with one line a disk. The dataset comes last, so that a long name wraps nothing.
#[must_use]
pub fn text(disks: &[Disk]) -> String {
    if disks.is_empty() {
        return "no zvols on this host\n".to_owned();
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["DEVICE", "BLOCK", "MODE", "SIZE", "VM", "DATASET"]);
    for disk in disks {
        table.add_row([
            disk.name.clone(),
            disk.volblocksize_bytes.map_or_else(dash, units::size),
            mode(disk.mode).to_owned(),
            units::volume(disk.size_bytes),
            disk.vm().map_or_else(dash, |vm| vm.to_string()),
            name(disk),
        ]);
    }
    for column in [1, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim());
        text.push('\n');
    }
    text
}

fn name(disk: &Disk) -> String {
    let dataset = disk.dataset.clone().unwrap_or_else(dash);
    if disk.read_only && !disk.snapshot {
        format!("{dataset} (read-only)")
    } else {
        dataset
    }
}

fn dash() -> String {
    "-".to_owned()
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Bio => "bio",
        Mode::BlkMq => "blk-mq",
    }
}
