//! A store that keeps node labels on disk, and of everything else nothing.
//! May touch: its thread, the label files, the callback.
//! Must not: answer out of order, or before the labels last.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use rm_core::effect::Record;

use super::{LabelFiles, Store};

/// Pause before labels that could not be written are tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Labels last once they are on disk; other records as long as the process, but never before
/// labels that came earlier.
pub struct LabelKeeper {
    stored: Arc<dyn Fn(u64) + Send + Sync>,
    queue: Sender<(u64, Record)>,
    /// Records in the thread's hands.
    waiting: Arc<AtomicUsize>,
}

impl LabelKeeper {
    /// Tells `stored` each number.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        files: LabelFiles,
        stored: impl Fn(u64) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let stored: Arc<dyn Fn(u64) + Send + Sync> = Arc::new(stored);
        let (queue, records) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (tell, count) = (Arc::clone(&stored), Arc::clone(&waiting));
        thread::Builder::new()
            .name("labels".to_owned())
            .spawn(move || keep(&files, &records, &*tell, &count))?;
        Ok(Self {
            stored,
            queue,
            waiting,
        })
    }
}

fn keep(
    files: &LabelFiles,
    records: &Receiver<(u64, Record)>,
    stored: &(dyn Fn(u64) + Send + Sync),
    waiting: &AtomicUsize,
) {
    for (seq, record) in records {
        if let Record::Labels { labels, nodes } = record {
            // An administrator who gets an answer may rely on it, so it waits for the disk.
            while let Err(e) = files.save(&labels, &nodes) {
                tracing::error!("{e}; tried again in {} s", RETRY.as_secs());
                thread::sleep(RETRY);
            }
        }
        stored(seq);
        waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Store for LabelKeeper {
    fn put(&mut self, seq: u64, record: Record) {
        let first = self.waiting.load(Ordering::Acquire) == 0;
        if first && !matches!(record, Record::Labels { .. }) {
            return (self.stored)(seq);
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if self.queue.send((seq, record)).is_err() {
            tracing::error!(seq, "the thread that keeps node labels is gone");
        }
    }
}
