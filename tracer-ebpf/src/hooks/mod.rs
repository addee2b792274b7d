//! The bodies of the programs, one file for each kind of disk.

pub mod bio;
pub mod request;
