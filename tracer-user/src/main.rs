//! The command `zvoltrace`: everything is in the library, so that tests and the binary run the
//! same code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    tracer_user::cli::run(&args).into()
}
