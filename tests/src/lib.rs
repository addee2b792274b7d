//! Shared pieces of the test package: real devices with known I/O, and the built binary.
