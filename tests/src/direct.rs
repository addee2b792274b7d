//! A block device opened for direct I/O: what is written here is what the disk gets.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::ioctl::{self, Setter, opcode};

/// Alignment of buffers: no disk here has larger logical blocks.
const ALIGNMENT: usize = 4096;

/// `BLKDISCARD` (`include/uapi/linux/fs.h`): takes start and length in bytes.
const BLKDISCARD: ioctl::Opcode = opcode::none(0x12, 119);

/// A device open twice: plain, and with `O_DSYNC`.
#[derive(Debug)]
pub struct DirectDevice {
    plain: File,
    durable: File,
    buffer: Vec<u8>,
}

impl DirectDevice {
    /// Opens a device node for I/Os of up to `longest` bytes.
    pub fn open(path: &Path, longest: usize) -> io::Result<Self> {
        let open = |flags: OFlags| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)
        };
        let mut buffer = vec![0; longest + ALIGNMENT];
        fastrand::Rng::with_seed(1).fill(&mut buffer);
        Ok(Self {
            plain: open(OFlags::DIRECT)?,
            durable: open(OFlags::DIRECT | OFlags::DSYNC)?,
            buffer,
        })
    }

    /// Reads `len` bytes at `offset` with one call.
    pub fn read(&mut self, offset: u64, len: usize) -> io::Result<()> {
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        self.plain
            .read_exact_at(&mut self.buffer[start..start + len], offset)
    }

    /// Writes `len` bytes at `offset` with one call.
    pub fn write(&self, offset: u64, len: usize) -> io::Result<()> {
        self.plain.write_all_at(self.aligned(len), offset)
    }

    /// The same, durable when it returns (`O_DSYNC`).
    pub fn write_durable(&self, offset: u64, len: usize) -> io::Result<()> {
        self.durable.write_all_at(self.aligned(len), offset)
    }

    /// `fdatasync`.
    pub fn flush(&self) -> io::Result<()> {
        self.plain.sync_data()
    }

    /// Discards `len` bytes at `offset`.
    pub fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        // SAFETY: BLKDISCARD reads two u64 from its argument and writes nothing to it.
        let done = unsafe {
            let range = Setter::<BLKDISCARD, [u64; 2]>::new([offset, len]);
            ioctl::ioctl(&self.plain, range)
        };
        Ok(done?)
    }

    fn aligned(&self, len: usize) -> &[u8] {
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        &self.buffer[start..start + len]
    }
}
