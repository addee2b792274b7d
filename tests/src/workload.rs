//! A workload like a virtual machine's, for as long as one likes.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::direct::DirectDevice;

/// Threads: I/Os in flight at a time.
const THREADS: u64 = 4;
/// Pause of a thread after each I/O.
const PAUSE: Duration = Duration::from_micros(500);

/// Puts it on a device of `size_bytes` until `stop` is set. By count: 80 % random writes of 8K
/// (every 32nd followed by an `fdatasync`), 15 % random writes of 4K, 5 % random reads of 8K, all
/// of them direct.
pub fn like_a_vm(device: &Path, size_bytes: u64, stop: &AtomicBool) -> io::Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| scope.spawn(move || one_thread(device, size_bytes, seed, stop)))
            .collect();
        for thread in threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread of the workload panicked"))??;
        }
        Ok(())
    })
}

fn one_thread(device: &Path, size_bytes: u64, seed: u64, stop: &AtomicBool) -> io::Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut disk = DirectDevice::open(device, 8192)?;
    let mut large_writes = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let offset = random.u64(..size_bytes / 8192) * 8192;
        match random.u32(..100) {
            0..80 => {
                disk.write(offset, 8192)?;
                large_writes += 1;
                if large_writes.is_multiple_of(32) {
                    disk.flush()?;
                }
            }
            80..95 => disk.write(offset, 4096)?,
            _ => disk.read(offset, 8192)?,
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
