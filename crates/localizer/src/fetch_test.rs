//! Tests of checks, permissions and atomic placement.
//! May touch: temporary directories.
//! Must not: leave them.

use std::os::unix::fs::MetadataExt;

use tempfile::TempDir;

use super::*;

struct Site {
    dir: TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A request for the file `name`, as a client that saw it now would make.
    fn request(&self, name: &str, kind: Kind) -> Request {
        let path = self.path(name).to_string_lossy().into_owned();
        let status = for_scheme("file").unwrap().status(&path).unwrap();
        Request {
            id: 1,
            scheme: "file".into(),
            url: format!("file:{path}"),
            path,
            size: if status.is_dir {
                -1
            } else {
                i64::try_from(status.len).unwrap()
            },
            timestamp_ms: status.modified_ms,
            kind,
            public: false,
            pattern: None,
            dest: self.path("10"),
            limits: Limits::default(),
        }
    }

    fn file(&self, name: &str, text: &str) -> Request {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), Permissions::from_mode(0o644)).unwrap();
        self.request(name, Kind::File)
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().mode() & 0o777
    }

    fn assert_nothing_is_left(&self) {
        assert!(!self.path("10").exists() && !self.path("10_tmp").exists());
    }
}

#[test]
fn a_file_arrives_with_stocks_permissions() {
    let site = Site::new();
    let mut request = site.file("a.txt", "hello");
    let fetched = fetch(&request).unwrap();
    assert_eq!(
        fetched,
        Fetched {
            name: "a.txt".into(),
            size: 5,
            warning: None
        }
    );
    assert_eq!(fs::read_to_string(site.path("10/a.txt")).unwrap(), "hello");
    assert_eq!((site.mode("10"), site.mode("10/a.txt")), (0o755, 0o500));
    request.public = true;
    request.dest = site.path("11");
    fetch(&request).unwrap();
    assert_eq!(site.mode("11/a.txt"), 0o555);
    assert!(!site.path("11_tmp").exists());
}

#[test]
fn a_changed_timestamp_is_refused_with_hadoops_sentence() {
    let site = Site::new();
    let mut request = site.file("a.txt", "hello");
    let was = iso8601_utc(request.timestamp_ms);
    request.timestamp_ms = 1000;
    let text = fetch(&request).unwrap_err().to_string();
    let expected = format!(
        "Resource {} changed on src filesystem - expected: \"1970-01-01T00:00:01.000+0000\", \
         was: \"{was}\", current time: \"",
        request.url
    );
    assert!(text.starts_with(&expected), "{text}");
    site.assert_nothing_is_left();
}

#[test]
fn a_changed_size_is_refused_and_an_unknown_one_is_not() {
    let site = Site::new();
    let mut request = site.file("a.txt", "hello");
    request.size = 4;
    let text = fetch(&request).unwrap_err().to_string();
    assert!(
        text.ends_with("changed on src filesystem - expected size: 4, was: 5"),
        "{text}"
    );
    request.size = -1;
    fetch(&request).unwrap();
}

#[test]
fn an_unbuilt_scheme_and_a_missing_file_are_named() {
    let site = Site::new();
    let mut request = site.file("a.txt", "x");
    fs::remove_file(site.path("a.txt")).unwrap();
    let text = fetch(&request).unwrap_err().to_string();
    assert_eq!(text, format!("File {} does not exist", request.url));
    request.scheme = "hdfs".into();
    assert_eq!(
        fetch(&request).unwrap_err().to_string(),
        "No FileSystem for scheme \"hdfs\""
    );
}

#[test]
fn public_means_readable_by_all_along_the_whole_path() {
    let site = Site::new();
    fs::create_dir(site.path("d")).unwrap();
    fs::set_permissions(site.path("d"), Permissions::from_mode(0o755)).unwrap();
    let mut request = site.file("d/a.txt", "x");
    request.public = true;
    fetch(&request).unwrap();
    for (path, mode) in [("d/a.txt", 0o640), ("d", 0o750)] {
        fs::set_permissions(site.path(path), Permissions::from_mode(mode)).unwrap();
        let text = fetch(&request).unwrap_err().to_string();
        assert!(
            text.contains("is not publicly accessible and as such cannot be part"),
            "{text}"
        );
        fs::set_permissions(site.path(path), Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn caps_are_kept_and_leave_nothing() {
    let site = Site::new();
    let mut request = site.file("a.txt", "hello");
    request.limits.bytes_max = 4;
    let text = fetch(&request).unwrap_err().to_string();
    assert!(text.ends_with("has more than 4 bytes"), "{text}");
    site.assert_nothing_is_left();
    request.limits.bytes_max = 5;
    fetch(&request).unwrap();
}

#[test]
fn a_directory_is_copied_whole_within_the_caps() {
    let site = Site::new();
    fs::create_dir_all(site.path("src/sub")).unwrap();
    fs::write(site.path("src/sub/f"), "abc").unwrap();
    let mut request = site.request("src", Kind::File);
    assert_eq!(fetch(&request).unwrap().size, 3);
    assert_eq!(
        fs::read_to_string(site.path("10/src/sub/f")).unwrap(),
        "abc"
    );
    assert_eq!(
        (site.mode("10/src"), site.mode("10/src/sub/f")),
        (0o700, 0o500)
    );
    request.limits.entries_max = 2;
    assert!(
        fetch(&request)
            .unwrap_err()
            .to_string()
            .ends_with("has more than 2 entries")
    );
}

#[test]
fn what_a_killed_localiser_left_is_no_obstacle() {
    let site = Site::new();
    let request = site.file("a.txt", "new");
    fs::create_dir_all(site.path("10_tmp/a.txt")).unwrap();
    fs::create_dir_all(site.path("10/old")).unwrap();
    fetch(&request).unwrap();
    assert_eq!(fs::read_to_string(site.path("10/a.txt")).unwrap(), "new");
    assert!(!site.path("10/old").exists());
}

#[test]
fn a_pipe_does_not_hold_the_localiser_up() {
    let site = Site::new();
    let path = site.path("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let request = site.request("pipe", Kind::File);
    let text = fetch(&request).unwrap_err().to_string();
    assert!(text.ends_with("not a file or directory"), "{text}");
}
