//! `Journal`: the driver's notes of what its core takes, written by a thread of its own.
//! May touch: the journal's directory, one thread.
//! Must not: make the driver wait, or stop the ResourceManager: a disk that cannot keep up ends the
//! journal, with a line in the log. Events hold no secrets: tokens, keys and launch contexts never
//! enter the core.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rm_core::{Event, Rm};
use rm_journal::{Batch, JournalError, segment};
use yarn_types::Millis;

/// Records that may wait for the disk.
const RECORDS_WAITING_MAX: usize = 4_096;
/// Bytes that may wait for the disk, besides one snapshot.
const BYTES_WAITING_MAX: usize = 256 << 20;
/// End of the names of segments.
const SUFFIX: &str = ".journal";

/// `yarn.resourcemanager.heddle.journal.*`, where it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalOptions {
    /// `.dir`: where segments are; made when it is not there, for this account only.
    pub dir: PathBuf,
    /// `.segment-bytes`: a segment that is longer is followed by another.
    pub segment_bytes: u64,
    /// `.segments`, mode `ring`: how many are kept; `None`, mode `full`: all.
    pub segments: Option<usize>,
}

/// What goes to the thread.
enum Piece {
    /// A new file with this beginning.
    Segment(PathBuf, Vec<u8>),
    /// More of the last.
    Record(Vec<u8>),
}

/// The driver's side.
pub struct Journal {
    options: JournalOptions,
    to_disk: Option<SyncSender<Piece>>,
    waiting_bytes: Arc<AtomicUsize>,
    writer: Option<JoinHandle<()>>,
    batch: Batch,
    segment_bytes: u64,
    next_segment: u64,
}

impl Journal {
    /// Makes the directory and starts the thread; the first segment begins with [`Self::begin`].
    ///
    /// # Errors
    /// The directory cannot be made or written, or there is no thread.
    pub fn start(options: JournalOptions) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&options.dir)?;
        let (to_disk, pieces) = sync_channel(RECORDS_WAITING_MAX);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            keep: options.segments,
            dir: options.dir.clone(),
            file: None,
            waiting_bytes: Arc::clone(&waiting_bytes),
        };
        let thread = thread::Builder::new().name("journal".to_owned());
        let writer = thread.spawn(move || writer.run(&pieces))?;
        Ok(Self {
            options,
            to_disk: Some(to_disk),
            waiting_bytes,
            writer: Some(writer),
            batch: Batch::default(),
            segment_bytes: 0,
            next_segment: 0,
        })
    }

    /// Begins a segment with `rm` as it is.
    pub fn begin(&mut self, rm: &Rm) {
        if self.to_disk.is_none() {
            return;
        }
        let number = self.next_segment;
        match segment(rm, number) {
            Ok(bytes) => {
                let (started, _) = rm.started();
                let name = format!("rm-{started:013}-{number:06}{SUFFIX}");
                self.next_segment += 1;
                self.segment_bytes = bytes.len() as u64;
                self.send(Piece::Segment(self.options.dir.join(name), bytes));
            }
            Err(e) => self.stop(&e.to_string()),
        }
    }

    /// Notes an event before the core takes it.
    pub fn event(&mut self, now: Millis, event: &Event) {
        if self.to_disk.is_some() {
            self.batch.event(now, event);
        }
    }

    /// Notes a pass.
    pub fn pass(&mut self, now: Millis) {
        if self.to_disk.is_some() {
            self.batch.pass(now);
        }
    }

    /// The core has taken the batch.
    pub fn end(&mut self, rm: &Rm) {
        if self.to_disk.is_none() || self.batch.is_empty() {
            return;
        }
        let record = self.batch.finish(rm);
        self.record(record);
        if self.segment_bytes >= self.options.segment_bytes {
            self.begin(rm);
        }
    }

    fn record(&mut self, record: Result<Vec<u8>, JournalError>) {
        match record {
            Ok(bytes) => {
                self.segment_bytes += bytes.len() as u64;
                self.send(Piece::Record(bytes));
            }
            Err(e) => self.stop(&e.to_string()),
        }
    }

    fn send(&mut self, piece: Piece) {
        let Some(to_disk) = &self.to_disk else { return };
        let bytes = match &piece {
            Piece::Segment(_, bytes) | Piece::Record(bytes) => bytes.len(),
        };
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        // a snapshot may wait alone, however large it is
        let full = waiting > BYTES_WAITING_MAX || to_disk.try_send(piece).is_err();
        if full {
            self.stop("the disk does not keep up, or the journal could not be written");
        }
    }

    fn stop(&mut self, why: &str) {
        self.to_disk = None;
        self.batch = Batch::default();
        tracing::error!(dir = %self.options.dir.display(), why, "the journal ends here");
    }

    /// Writes the state's digest at the end, and waits for the disk.
    pub fn close(&mut self, rm: &Rm) {
        if self.to_disk.is_some() {
            let record = self.batch.close(rm);
            self.record(record);
        }
        self.to_disk = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the journal's thread ended with a panic");
        }
    }
}

/// The thread's side.
struct Writer {
    keep: Option<usize>,
    dir: PathBuf,
    file: Option<File>,
    waiting_bytes: Arc<AtomicUsize>,
}

impl Writer {
    fn run(mut self, pieces: &Receiver<Piece>) {
        while let Ok(piece) = pieces.recv() {
            if let Err(e) = self.write(&piece) {
                // the driver notices that nobody takes its pieces any more
                tracing::error!(dir = %self.dir.display(), error = %e, "the journal cannot be written");
                return;
            }
        }
    }

    fn write(&mut self, piece: &Piece) -> io::Result<()> {
        let bytes = match piece {
            Piece::Segment(path, bytes) => {
                self.file = Some(create(path)?);
                bytes
            }
            Piece::Record(bytes) => bytes,
        };
        if let Some(file) = &mut self.file {
            file.write_all(bytes)?;
        }
        self.waiting_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
        if let (Piece::Segment(..), Some(keep)) = (piece, self.keep) {
            drop_oldest(&self.dir, keep)?;
        }
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Leaves the newest `keep` segments, of this start and earlier ones. Their names are in order.
fn drop_oldest(dir: &Path, keep: usize) -> io::Result<()> {
    let mut names: Vec<PathBuf> = fs::read_dir(dir)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("rm-") && name.ends_with(SUFFIX))
        })
        .collect();
    names.sort();
    let surplus = names.len().saturating_sub(keep);
    for path in &names[..surplus] {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "journal_test.rs"]
mod tests;
