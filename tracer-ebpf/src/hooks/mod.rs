//! The bodies of the programs, one file for each kind of disk, and what copies of them do.

pub mod bio;
pub mod copies;
pub mod request;
