//! Tests of mount detection on hybrid, pure and odd hosts.
//! May touch: nothing.
//! Must not: depend on this machine's mounts.

use super::*;

const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
42 31 0:38 / /mnt/second rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn a_hybrid_host_has_both_and_each_controller_is_found_on_its_own() {
    let mut found = Mounts::parse(HYBRID);
    found.v2_controllers = vec!["memory".to_owned()];
    let at = |p: &'static str| Path::new(p);
    assert_eq!(found.devices(Mode::V1), Some(at("/sys/fs/cgroup/devices")));
    assert_eq!(found.devices(Mode::V2), Some(at("/sys/fs/cgroup/unified")));
    let cpu = Some((Mode::V1, at("/sys/fs/cgroup/cpu,cpuacct")));
    assert_eq!(found.controller("cpu", Mode::V2), cpu);
    let memory = Some((Mode::V2, at("/sys/fs/cgroup/unified")));
    assert_eq!(found.controller("memory", Mode::V1), memory);
    assert_eq!(found.controller("pids", Mode::V1), None);
}

#[test]
fn a_pure_v2_host_has_no_v1_devices() {
    let pure = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    let found = Mounts::parse(pure);
    assert_eq!(found.devices(Mode::V1), None);
    assert_eq!(found.devices(Mode::V2), Some(Path::new("/sys/fs/cgroup")));
    assert!(found.v1.is_empty());
}

#[test]
fn mount_points_are_unescaped_and_bad_lines_passed_over() {
    let odd = "x\n1 2 - \n36 31 0:33 / /my\\040cgroups/devices rw - cgroup cgroup rw,devices\n";
    let found = Mounts::parse(odd);
    assert_eq!(
        found.devices(Mode::V1),
        Some(Path::new("/my cgroups/devices"))
    );
    assert_eq!(unescape("/a\\0"), PathBuf::from("/a\\0"));
}
