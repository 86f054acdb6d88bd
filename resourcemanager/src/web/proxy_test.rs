//! Where the proxy sends a browser.
//! May touch: URLs.
//! Must not: need a server.

use super::*;

#[test]
fn a_path_and_query_follow_the_tracking_url() {
    let to = |path, query| target("http://am:4040", path, query).unwrap();
    assert_eq!(to("", ""), "http://am:4040");
    assert_eq!(to("jobs/", "id=1"), "http://am:4040/jobs/?id=1");
    assert_eq!(target("am:4040", "", "").unwrap(), "http://am:4040");
}

#[test]
fn only_web_pages_are_targets() {
    assert_eq!(target("N/A", "", ""), None);
    assert_eq!(target("javascript://x", "", ""), None);
    assert_eq!(target("file:///etc/passwd", "", ""), None);
}
