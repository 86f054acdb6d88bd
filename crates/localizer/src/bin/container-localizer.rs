//! `container-localizer`: reads requests as JSON lines, fetches, answers as JSON lines.
//! May touch: what the requests name, with the rights it was started with.
//! Must not: outlive its standard input by more than the fetch in progress.

use std::io::{Write, stdin, stdout};
use std::process::ExitCode;

use container_localizer::fetch::fetch;
use container_localizer::protocol::{Request, Response, read_line};

fn main() -> ExitCode {
    // Other processes of the account must not reach into a fetch for the PUBLIC cache, neither by
    // ptrace nor by /proc/<pid>/cwd.
    let _ = nix::sys::prctl::set_dumpable(false);
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "container-localizer: {e}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> std::io::Result<()> {
    let mut input = stdin().lock();
    let mut output = stdout().lock();
    while let Some(line) = read_line(&mut input)? {
        let request: Request = serde_json::from_str(&line)?;
        let result = fetch(&request).map_err(|e| e.to_string());
        let response = Response {
            id: request.id,
            result,
        };
        serde_json::to_writer(&mut output, &response)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}
