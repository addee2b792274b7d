//! A BPF array map, mapped into this process: reads without a system call an entry.

use std::{
    marker::PhantomData,
    os::fd::AsFd,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tracer_common::{
    DiskCounters, FILTER_WAYS, FilterSlot, INFLIGHT_WAYS, Inflight, IoRecord, RingHead,
    names::HOOKS,
};

/// A type that may be read from memory that the kernel writes meanwhile.
///
/// # Safety
/// Every bit pattern is a value of the type, it has no padding, and its size and alignment are
/// multiples of 8.
pub(super) unsafe trait MapValue: Copy {}

// SAFETY: integers without padding; sizes and offsets are asserted in tracer-common.
unsafe impl MapValue for DiskCounters {}
// SAFETY: as above.
unsafe impl MapValue for Inflight {}
// SAFETY: as above.
unsafe impl MapValue for IoRecord {}
// SAFETY: as above.
unsafe impl MapValue for RingHead {}
// SAFETY: as above.
unsafe impl MapValue for [u64; INFLIGHT_WAYS as usize] {}
// SAFETY: as above.
unsafe impl MapValue for [u64; HOOKS] {}
// SAFETY: as above.
unsafe impl MapValue for [FilterSlot; FILTER_WAYS as usize] {}

/// The values of an array map that was made with `BPF_F_MMAPABLE`.
pub(super) struct MappedArray<T> {
    base: NonNull<u8>,
    bytes: usize,
    len: u32,
    value: PhantomData<T>,
}

// SAFETY: the mapping belongs to this value alone and may be used from any thread.
unsafe impl<T: Send> Send for MappedArray<T> {}

impl<T: MapValue> MappedArray<T> {
    /// Maps `len` values of an array.
    pub(super) fn new(map: impl AsFd, len: u32) -> std::io::Result<Self> {
        let bytes = len as usize * size_of::<T>();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                map,
                0,
            )?
        };
        let base = NonNull::new(base.cast())
            .ok_or_else(|| std::io::Error::other("the kernel mapped a BPF map at address 0"))?;
        Ok(Self {
            base,
            bytes,
            len,
            value: PhantomData,
        })
    }

    /// Zeroed values that no kernel shares.
    #[cfg(test)]
    pub(super) fn anonymous(len: u32) -> std::io::Result<Self> {
        let bytes = len as usize * size_of::<T>();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            base,
            bytes,
            len,
            value: PhantomData,
        })
    }

    /// Number of values.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// A copy of a value, word by word: each word is whole, but the kernel may have changed
    /// some of them meanwhile. All zero past the end.
    pub(super) fn read(&self, index: u32) -> T {
        // SAFETY: zero is a value of every MapValue.
        let mut value: T = unsafe { std::mem::zeroed() };
        for (word, to) in self.words(index).enumerate() {
            let from = to.load(Ordering::Relaxed);
            // SAFETY: `words` yields exactly the words of one value.
            unsafe {
                ptr::from_mut(&mut value)
                    .cast::<u64>()
                    .add(word)
                    .write(from);
            }
        }
        value
    }

    /// The words of a value; none past the end.
    pub(super) fn words(&self, index: u32) -> impl Iterator<Item = &AtomicU64> {
        let words = if index < self.len {
            size_of::<T>() / size_of::<u64>()
        } else {
            0
        };
        let first = index as usize * size_of::<T>();
        (0..words).map(move |word| {
            // SAFETY: inside the mapping, aligned to 8 since it starts on a page, and only ever
            // accessed as atomic words here.
            unsafe {
                self.base
                    .add(first + word * size_of::<u64>())
                    .cast::<AtomicU64>()
                    .as_ref()
            }
        })
    }
}

impl<T> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
