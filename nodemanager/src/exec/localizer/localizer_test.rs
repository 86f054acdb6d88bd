//! Tests with the real localiser.
//! May touch: temporary directories, localiser processes.
//! Must not: leave them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use nm_core::localize::{ResourceKind, ResourceUrl};
use tempfile::TempDir;

use super::*;
use crate::exec::dirs;
use crate::exec::test_support::{account, binaries, is_root, need_root, open_dir};

struct Node {
    dir: TempDir,
    local: PathBuf,
    localizer: Arc<Localizer>,
}

impl Node {
    fn new(target_bytes: u64) -> Self {
        let dir = open_dir();
        let local = dir.path().join("local");
        dirs::init_local_dir(&local).unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        let conf = LocalizerConf {
            target_bytes,
            ..LocalizerConf::default()
        };
        let localizer = Arc::new(Localizer::new(binaries(), conf, Deleter::new(4, 0)));
        let node = Self {
            dir,
            local,
            localizer,
        };
        node.chmod("", 0o755);
        node.chmod("src", 0o755);
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A source file and the resource of a client that saw it.
    fn resource(&self, name: &str, visibility: Visibility, mode: u32) -> LocalResource {
        let path = self.path("src").join(name);
        if !path.exists() {
            fs::write(&path, name.repeat(10)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let meta = fs::metadata(&path).unwrap();
        LocalResource {
            url: ResourceUrl {
                scheme: "file".into(),
                port: -1,
                path: path.to_string_lossy().into_owned(),
                ..Default::default()
            },
            size: i64::try_from(meta.len()).unwrap(),
            timestamp_ms: meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000,
            kind: ResourceKind::File,
            visibility,
            pattern: None,
        }
    }

    fn needs(&self, container: &str, resources: Vec<LocalResource>) -> Needs {
        let resources = resources
            .into_iter()
            .enumerate()
            .map(|(n, r)| (format!("key{n}"), r))
            .collect();
        Needs {
            user: "alice".into(),
            app_id: "application_1_0001".into(),
            container_id: container.into(),
            account: account(),
            resources,
            local: Report {
                good: vec![(self.local.clone(), 1 << 30)],
                bad: vec![],
            },
        }
    }

    async fn get(&self, container: &str, resource: LocalResource) -> Result<String, String> {
        let needs = self.needs(container, vec![resource]);
        let done = self.localizer.localize(&needs).await;
        done.map(|l| l.links[0].target.clone())
            .map_err(|e| e.to_string())
    }
}

#[tokio::test]
async fn each_visibility_has_its_place_owner_and_mode() {
    let node = Node::new(u64::MAX);
    let resources = [
        Visibility::Public,
        Visibility::Private,
        Visibility::Application,
    ]
    .map(|v| node.resource("a.txt", v, 0o644))
    .to_vec();
    let needs = node.needs("c1", resources);
    let done = node.localizer.localize(&needs).await.unwrap();
    let own = nix::unistd::Uid::effective().as_raw();
    for (link, (dir, mode, uid)) in done.links.iter().zip([
        ("filecache/10/a.txt", 0o555, own),
        (
            "usercache/alice/filecache/10/a.txt",
            0o500,
            needs.account.uid,
        ),
        (
            "usercache/alice/appcache/application_1_0001/filecache/10/a.txt",
            0o500,
            needs.account.uid,
        ),
    ]) {
        assert_eq!(link.target, node.local.join(dir).to_string_lossy());
        let meta = fs::metadata(&link.target).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.uid()), (mode, uid), "{dir}");
        assert_eq!(meta.len(), 50);
    }
    let public = fs::metadata(node.local.join("filecache/10")).unwrap();
    assert_eq!((public.uid(), public.mode() & 0o777), (own, 0o755));
    assert_eq!(
        done.counters.text().rsplit_once(',').unwrap().0,
        "150,0,3,0"
    );
    let again = node.localizer.localize(&needs).await.unwrap();
    assert_eq!(
        again.counters.text().rsplit_once(',').unwrap().0,
        "0,150,0,3"
    );
}

#[tokio::test]
async fn concurrent_containers_share_one_fetch() {
    let node = Node::new(u64::MAX);
    let resource = node.resource("a.txt", Visibility::Private, 0o644);
    let one = node.get("c1", resource.clone());
    let two = node.get("c2", resource);
    let (one, two) = tokio::join!(one, two);
    assert_eq!(one.unwrap(), two.unwrap());
    let made = fs::read_dir(node.local.join("usercache/alice/filecache"))
        .unwrap()
        .count();
    assert_eq!(made, 1);
}

#[tokio::test]
async fn a_failure_is_told_and_the_others_still_come() {
    let node = Node::new(u64::MAX);
    let good = node.resource("good", Visibility::Private, 0o644);
    let mut bad = node.resource("bad", Visibility::Private, 0o644);
    bad.timestamp_ms += 1;
    let needs = node.needs("c1", vec![bad.clone(), good.clone()]);
    let text = node
        .localizer
        .localize(&needs)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("bad changed on src filesystem - expected: "),
        "{text}"
    );
    node.get("c2", good).await.unwrap();
    let mut hdfs = bad;
    hdfs.url.scheme = "hdfs".into();
    let text = node.get("c3", hdfs).await.unwrap_err();
    assert_eq!(text, "No FileSystem for scheme \"hdfs\"");
}

#[tokio::test]
async fn sources_are_read_with_the_accounts_rights() {
    if !need_root("sources_are_read_with_the_accounts_rights") {
        return;
    }
    let node = Node::new(u64::MAX);
    for visibility in [Visibility::Private, Visibility::Public] {
        let secret = node.resource("secret", visibility, 0o600);
        let text = node.get("c1", secret).await.unwrap_err();
        let account = account().name;
        let expected =
            format!("(Permission denied): the account {account} that runs the container cannot");
        // A PUBLIC resource already fails for not being public.
        let public = text.contains("is not publicly accessible");
        assert!(text.contains(&expected) || public, "{text}");
    }
    node.chmod("src", 0o700);
    let path = node.resource("hidden", Visibility::Private, 0o644);
    assert!(
        node.get("c2", path)
            .await
            .unwrap_err()
            .contains("Permission denied")
    );
}

#[tokio::test]
async fn a_vanished_file_is_fetched_again() {
    let node = Node::new(u64::MAX);
    let resource = node.resource("a.txt", Visibility::Public, 0o644);
    let first = node.get("c1", resource.clone()).await.unwrap();
    fs::remove_file(&first).unwrap();
    let second = node.get("c2", resource).await.unwrap();
    assert_ne!(first, second);
    assert!(Path::new(&second).is_file());
}

#[tokio::test]
async fn unused_resources_over_the_target_size_are_deleted() {
    let node = Node::new(60);
    let first = node.resource("1.txt", Visibility::Public, 0o644);
    let second = node.resource("2.txt", Visibility::Public, 0o644);
    let first = node.get("c1", first).await.unwrap();
    let second = node.get("c2", second).await.unwrap();
    assert_eq!(
        node.localizer.cleanup(std::slice::from_ref(&node.local)),
        0,
        "both are in use"
    );
    node.localizer.release("c1");
    assert_eq!(
        node.localizer.cleanup(std::slice::from_ref(&node.local)),
        50
    );
    while Path::new(&first).parent().unwrap().exists() {
        tokio::task::yield_now().await;
    }
    assert!(Path::new(&second).is_file());
    assert!(node.local.join("filecache").is_dir());
}

#[tokio::test]
async fn no_private_directory_is_left_and_no_disk_is_an_error() {
    let node = Node::new(u64::MAX);
    let resource = node.resource("a.txt", Visibility::Public, 0o644);
    node.get("c1", resource).await.unwrap();
    let private = node.local.join("nmPrivate/application_1_0001");
    while fs::read_dir(&private).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
    let mut needs = node.needs("c2", vec![node.resource("b", Visibility::Private, 0o644)]);
    needs.local = Report::default();
    assert_eq!(
        node.localizer.localize(&needs).await,
        Err(LocalizeError::NoLocalDir)
    );
    if is_root() {
        assert_eq!(
            fs::metadata(node.local.join("nmPrivate")).unwrap().mode() & 0o777,
            0o700
        );
    }
}
