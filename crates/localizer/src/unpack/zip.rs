//! Zip and jar archives.
//! May touch: what the unpacker makes.
//! Must not: trust names, sizes or modes of entries.

use std::io::Read;
use std::path::Path;

use regex::Regex;

use super::Unpacker;
use crate::FetchError;
use crate::filesystem::Source;

/// Longest link target, in bytes.
const LINK_BYTES_MAX: u64 = 4096;

/// Unpacks all entries, or those whose whole name matches.
pub(super) fn unpack(
    source: &mut dyn Source,
    pattern: Option<&Regex>,
    out: &mut Unpacker<'_, '_>,
) -> Result<(), FetchError> {
    let mut archive = zip::ZipArchive::new(source).map_err(|e| out.broken(e))?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|e| out.broken(e))?;
        let name = entry.name().map_err(|e| out.broken(e))?.into_owned();
        if name.contains('\0') || name.contains('\\') && name.contains("..") {
            return Err(out.outside(Path::new(&name)));
        }
        if pattern.is_some_and(|p| !p.is_match(&name)) {
            continue;
        }
        let path = Path::new(&name);
        if entry.is_dir() {
            out.make_dir(path)?;
        } else if entry.is_symlink() {
            let mut target = String::new();
            (&mut entry)
                .take(LINK_BYTES_MAX)
                .read_to_string(&mut target)
                .map_err(|e| out.broken(e))?;
            out.make_link(path, Path::new(&target))?;
        } else {
            out.make_file(path, &mut entry)?;
        }
    }
    Ok(())
}
