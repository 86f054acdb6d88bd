//! A hung library is a timeout, not a hung node.
//! May touch: the watcher with probes of the test's own.
//! Must not: load NVML.

use std::sync::mpsc::channel;

use super::*;

fn empty() -> Reading {
    Reading {
        devices: Vec::new(),
        faults: Vec::new(),
        driver: "1".to_owned(),
    }
}

struct Hangs {
    release: Receiver<()>,
}

impl Probe for Hangs {
    fn read(&mut self) -> Result<Reading, ProbeError> {
        let _ = self.release.recv();
        Ok(empty())
    }
}

#[test]
fn a_reading_that_hangs_is_reported_and_taken_when_it_comes() {
    let (release, released) = channel();
    let (tell, told) = channel();
    let options = WatchOptions {
        interval: Duration::from_millis(1),
        limit: Duration::from_millis(5),
        backoff_max: Duration::from_millis(5),
    };
    watch(Box::new(Hangs { release: released }), options, move |r| {
        tell.send(r).is_ok()
    })
    .unwrap();
    assert_eq!(
        told.recv().unwrap(),
        Err(ProbeError::Timeout { limit_ms: 5 })
    );
    release.send(()).unwrap();
    assert_eq!(told.iter().find(Result::is_ok), Some(Ok(empty())));
}
