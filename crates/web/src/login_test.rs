//! Who a request goes by.
//! May touch: requests that no server received.
//! Must not: need the clock.

use actix_web::test::TestRequest;
use yarn_conf::Configuration;

use super::*;

const HOUR_MS: i64 = 3_600_000;

fn server(pairs: &[(&str, &str)]) -> Login {
    Login::new(&Configuration::of(pairs.iter().copied()), "simple").unwrap()
}

/// Who asks for `path` with a cookie, an hour after it started.
fn asks(server: &Login, path: &str, cookie: &str) -> (String, Option<String>) {
    let request = TestRequest::with_uri(path).insert_header(("Cookie", cookie));
    let (user, cookie) = server.identify(&request.to_http_request(), HOUR_MS);
    let cookie = cookie.map(|cookie| cookie.to_str().unwrap().to_owned());
    (user.0, cookie)
}

#[test]
fn nobody_is_the_static_user() {
    let named = server(&[("hadoop.http.staticuser.user", "guest")]);
    assert_eq!(asks(&named, "/cluster", ""), ("guest".to_owned(), None));
    for empty in ["/cluster", "/cluster?user.name=", "/cluster?user=alice"] {
        assert_eq!(asks(&server(&[]), empty, ""), ("dr.who".to_owned(), None));
    }
}

#[test]
fn a_named_user_gets_a_cookie_that_says_it_again() {
    let server = server(&[]);
    let (user, cookie) = asks(&server, "/cluster?user.name=alice", "");
    let cookie = cookie.unwrap();
    assert_eq!(user, "alice");
    // ten hours from when it was given
    let start = format!(
        "hadoop.auth=\"u=alice&p=alice&t=simple&e={}&s=",
        11 * HOUR_MS
    );
    assert!(cookie.starts_with(&start), "{cookie}");
    assert!(cookie.ends_with("\"; Path=/; HttpOnly"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let both = format!("theme=dark; {cookie}");
    assert_eq!(asks(&server, "/", &both), ("alice".to_owned(), None));
    // as in Hadoop the cookie goes before the query
    let named = asks(&server, "/?user.name=bob", cookie);
    assert_eq!(named, ("alice".to_owned(), None));
}

#[test]
fn a_cookie_that_this_server_did_not_give_or_that_is_old_says_nothing() {
    let server = server(&[("hadoop.http.authentication.token.validity", "60")]);
    let given = |cookie: HeaderValue| {
        cookie
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    };
    let cookie = given(server.cookie("alice", HOUR_MS).unwrap());
    assert_eq!(asks(&server, "/", &cookie).0, "alice");
    let old = given(server.cookie("alice", HOUR_MS - 60_000).unwrap());
    let other = given(self::server(&[]).cookie("alice", HOUR_MS).unwrap());
    for bad in [
        old,
        other,
        cookie.replace("u=alice", "u=root"),
        cookie.replace("hadoop.auth", "hadoop.other"),
        "hadoop.auth=\"u=alice&p=alice&t=simple&e=9999999999999\"".to_owned(),
        "hadoop.auth=".to_owned(),
    ] {
        assert_eq!(asks(&server, "/", &bad).0, "dr.who", "{bad}");
    }
}

#[test]
fn a_name_that_would_break_the_cookie_gets_none() {
    let server = server(&[]);
    for odd in [
        "a%26e=9",
        "a%22",
        "a%3Bb",
        "a%0D%0Ab",
        "%C3%BC",
        &"a".repeat(256),
    ] {
        let (user, cookie) = asks(&server, &format!("/?user.name={odd}"), "");
        assert!(user != "dr.who" && cookie.is_none(), "{odd}: {cookie:?}");
    }
}
