//! The command `zvoltrace`.

fn main() {}
