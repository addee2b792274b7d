//! The disks of the host: which there are, what they are called, and how they come and go.
//!
//! Owns everything that is learned from sysfs, `/dev` links and uevents, all of it under
//! [`Roots`] so that a test can lay out a fake host. It must never open a block device and
//! never run `zfs` or `zpool`: both can hang for good when a pool is suspended, which is when
//! this tool is needed.

mod dataset;
mod disk;
#[cfg(test)]
pub(crate) mod fake;
mod inventory;
mod links;
pub mod list;
mod partition;
pub(crate) mod roots;
mod scan;
mod selector;
#[cfg(test)]
mod tests;
mod uevent;
mod watch;

pub use dataset::vm_of;
pub use disk::{Disk, Identity};
pub use inventory::{Change, Inventory};
pub use roots::Roots;
pub use scan::{count_zvols, order, scan, scan_selected};
pub use selector::{DEFAULT_PATTERN, Selector, SelectorError};
pub use uevent::Uevents;
pub use watch::DeviceWatch;
