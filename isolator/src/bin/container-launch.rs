//! `container-launch`: starts one container process as its account and reaps its tree.
//! May touch: what the specification on standard input names.
//! Must not: take anything from argv or the environment.

use std::io::{Read, Write};
use std::process::ExitCode;

/// Standard input without a buffer: what follows the specification belongs to the program.
struct Input;

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        Ok(nix::unistd::read(std::io::stdin(), buf)?)
    }
}

fn main() -> ExitCode {
    match isolator::apply::process::run(&mut Input) {
        Ok(code) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(255)),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "container-launch: {e}");
            ExitCode::from(255)
        }
    }
}
