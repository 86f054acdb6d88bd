//! Tar archives, plain or behind a decompressor.
//! May touch: what the unpacker makes.
//! Must not: make devices or pipes, set owners or modes.

use std::io::Read;

use tar::EntryType;

use super::Unpacker;
use crate::FetchError;

/// Unpacks all entries.
pub(super) fn unpack(from: &mut dyn Read, out: &mut Unpacker<'_, '_>) -> Result<(), FetchError> {
    let mut archive = tar::Archive::new(from);
    for entry in archive.entries().map_err(|e| out.broken(e))? {
        let mut entry = entry.map_err(|e| out.broken(e))?;
        let path = entry.path().map_err(|e| out.broken(e))?.into_owned();
        let kind = entry.header().entry_type();
        match kind {
            EntryType::Directory => out.make_dir(&path)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                out.make_file(&path, &mut entry)?;
            }
            EntryType::Symlink | EntryType::Link => {
                let target = entry.link_name().map_err(|e| out.broken(e))?;
                let target = target.ok_or_else(|| out.broken("a link without a target"))?;
                if kind == EntryType::Link {
                    out.make_hard_link(&path, &target)?;
                } else {
                    out.make_link(&path, &target)?;
                }
            }
            EntryType::XGlobalHeader => {}
            other => {
                let text = format!("entry {} is a {other:?}", path.display());
                return Err(out.broken(text));
            }
        }
    }
    Ok(())
}
