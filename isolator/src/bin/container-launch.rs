//! `container-launch`: starts one container process as its account and reaps its tree.
//! May touch: what the specification on standard input names.
//! Must not: take anything from argv or the environment.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // `std::io::stdin` would buffer bytes that belong to the started program.
    let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned();
    let result = match stdin {
        Ok(fd) => isolator::apply::process::run(&mut std::fs::File::from(fd)),
        Err(source) => Err(isolator::apply::ApplyError::Call {
            call: "dup(0)",
            source,
        }),
    };
    match result {
        Ok(code) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(255)),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "container-launch: {e}");
            ExitCode::from(255)
        }
    }
}
