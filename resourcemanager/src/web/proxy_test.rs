//! The proxy in front of an ApplicationMaster's own HTTP server.
//! May touch: sockets of this machine.
//! Must not: sleep.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    thread,
};

use reqwest::StatusCode;
use yarn_proto::yarn::{
    FinalApplicationStatusProto, FinishApplicationMasterRequestProto,
    FinishApplicationMasterResponseProto, RegisterApplicationMasterRequestProto,
    RegisterApplicationMasterResponseProto,
};
use yarn_types::{ApplicationState, Resource};

use super::*;
use crate::fake::{self, Node, Rm};

fn id() -> ApplicationId {
    "application_1_0002".parse().unwrap()
}

fn url(text: &str) -> Url {
    tracking_url(text).unwrap()
}

#[test]
fn a_path_and_query_follow_the_tracking_url() {
    let to = |base, path, query| target(&url(base), path, query).map(String::from);
    let am = "http://am:4040";
    assert_eq!(to(am, "", "").unwrap(), "http://am:4040/");
    assert_eq!(
        to(am, "jobs/", "id=1").unwrap(),
        "http://am:4040/jobs/?id=1"
    );
    assert_eq!(to(am, "a%2Fb%20c", "").unwrap(), "http://am:4040/a%2Fb%20c");
    assert_eq!(
        to("am:4040/ui?k=v", "x", "y=z").unwrap(),
        "http://am:4040/ui/x?k=v&y=z"
    );
}

#[test]
fn no_request_leaves_the_tracking_url() {
    let base = url("http://am:4040/ui");
    for out in ["../secret", "%2e%2e/secret", "a/../../secret", "../uix"] {
        assert_eq!(target(&base, out, ""), None, "{out}");
    }
    for odd in [
        "/evil:1/",
        "//evil:1/",
        "@evil:1/",
        "http://evil:1/",
        "\\evil:1",
    ] {
        let to = target(&url("http://am:4040"), odd, "").unwrap();
        assert_eq!(to.origin(), base.origin(), "{odd}: {to}");
    }
    for none in ["N/A", "javascript://x", "file:///etc/passwd", "http://"] {
        assert_eq!(tracking_url(none), None, "{none}");
    }
}

#[test]
fn a_redirect_stays_behind_the_proxy() {
    let base = url("http://am:4040");
    let asked = url("http://am:4040/a/b?c=d");
    let to = |location: &str| moved(id(), &base, &asked, location);
    let own = |rest: &str| Some(format!("/proxy/application_1_0002{rest}"));
    assert_eq!(to("http://am:4040/jobs/?x=1#y"), own("/jobs/?x=1#y"));
    assert_eq!(to("/jobs/"), own("/jobs/"));
    assert_eq!(to("c"), own("/a/c"));
    assert_eq!(to("/proxy/application_1_0002/jobs/"), own("/jobs/"));
    let foreign = "http://history:18080/a/b?c=d";
    assert_eq!(to(foreign).unwrap(), foreign);
    for back in ["", "/redirect"] {
        let back = format!("http://rm:8088/proxy{back}/application_1_0002/a/b?c=d");
        assert_eq!(to(&back), None, "{back}");
    }
}

#[test]
fn a_user_goes_into_a_cookie_as_java_writes_it() {
    assert_eq!(url_encoded("dr.who"), "dr.who");
    assert_eq!(url_encoded("a b;\r\nü"), "a+b%3B%0D%0A%C3%BC");
}

/// An HTTP server that answers every request with `answer` and shows what it was asked.
fn master(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let (tell, told) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut text = String::new();
            while !text.ends_with("\r\n\r\n") && reader.read_line(&mut text).unwrap() > 0 {}
            let length = text
                .lines()
                .find_map(|l| l.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |l| l.parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            let answer = answer(&text);
            text.push_str(&String::from_utf8(body).unwrap());
            if tell.send(text).is_err() {
                return;
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (at, told)
}

/// An RM whose one application registered `tracking_url`, made from the RM's web address.
struct Running {
    rm: Rm,
    _node: Node,
    app: ApplicationId,
    am: hadoop_ipc::client::Client,
    browser: Client,
}

impl Running {
    async fn start(tracking_url: impl Fn(&str) -> String) -> Self {
        let rm = Rm::start(&[]);
        let client = rm.client("alice").await;
        let mut node = Node::register(&rm, Resource::new(4096, 4)).await;
        let app = fake::submit(&client, "gpu").await;
        node.heartbeat(Vec::new()).await;
        let (_, token) = node.next_started().await;
        let am = rm.master(token).await.unwrap();
        let request = RegisterApplicationMasterRequestProto {
            tracking_url: Some(tracking_url(&rm.at("rm.http"))),
            ..Default::default()
        };
        let _: RegisterApplicationMasterResponseProto = am
            .call("registerApplicationMaster", &request)
            .await
            .unwrap();
        let none = reqwest::redirect::Policy::none();
        let browser = Client::builder().no_proxy().redirect(none).build().unwrap();
        Self {
            rm,
            _node: node,
            app,
            am,
            browser,
        }
    }

    fn url(&self, rest: &str) -> String {
        format!("http://{}/proxy/{}{rest}", self.rm.at("rm.http"), self.app)
    }

    async fn get(&self, rest: &str) -> reqwest::Response {
        self.browser.get(self.url(rest)).send().await.unwrap()
    }
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Own: 1\r\nX-Hop: 1\r\n\
         Set-Cookie: a=b\r\nConnection: close, X-Hop\r\n\r\n{body}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_running_application_comes_through() {
    let (at, asked) = master(|_| ok("<h1>jobs</h1>"));
    let running = Running::start(|_| format!("http://{at}/ui")).await;
    let request = running
        .browser
        .get(running.url("/jobs/?id=1&user.name=bob"));
    let request = request
        .header("Accept", "text/html")
        .header("Cookie", "secret=1")
        .header("Authorization", "Negotiate x");
    let page = request.send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(page.headers()["x-own"], "1");
    assert_eq!(page.headers()["set-cookie"], "a=b");
    assert!(!page.headers().contains_key("x-hop"));
    assert_eq!(page.text().await.unwrap(), "<h1>jobs</h1>");
    let asked_for = asked.recv().unwrap();
    assert!(
        asked_for.starts_with("GET /ui/jobs/?id=1&user.name=bob HTTP/1.1\r\n"),
        "{asked_for}"
    );
    assert!(
        asked_for.contains("cookie: proxy-user=bob\r\n"),
        "{asked_for}"
    );
    assert!(asked_for.contains("accept: text/html\r\n"), "{asked_for}");
    assert!(!asked_for.contains("secret") && !asked_for.contains("Negotiate"));

    // An AmIpFilter sends browsers to this address.
    let redirected = running.url("/x").replace("/proxy/", "/proxy/redirect/");
    let page = running.browser.head(redirected).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(page.headers()["content-length"], "13");
    let asked_for = asked.recv().unwrap();
    assert!(
        asked_for.starts_with("HEAD /ui/x HTTP/1.1\r\n"),
        "{asked_for}"
    );
    assert!(asked_for.contains("proxy-user=dr.who\r\n"), "{asked_for}");
    running.rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_goes_through_and_a_redirect_stays_behind_the_proxy() {
    let (at, asked) = master(|asked| {
        let host = asked
            .lines()
            .find_map(|l| l.strip_prefix("host: "))
            .unwrap();
        format!(
            "HTTP/1.1 302 Found\r\nLocation: http://{host}/jobs/\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        )
    });
    let running = Running::start(|_| at.clone()).await;
    let form = "id=7&terminate=true".repeat(10_000);
    let post = running.browser.post(running.url("/jobs/job/kill/"));
    let answer = post.body(form.clone()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::FOUND);
    let app = running.app;
    assert_eq!(answer.headers()["location"], format!("/proxy/{app}/jobs/"));
    let asked_for = asked.recv().unwrap();
    assert!(asked_for.starts_with("POST /jobs/job/kill/ HTTP/1.1\r\n"));
    assert!(asked_for.ends_with(&format!("\r\n\r\n{form}")));
    running.rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_and_strangers_are_refused() {
    let running = Running::start(|web| format!("http://{web}/proxy/application_1_0002")).await;
    let app = running.app;
    let unknown = running.get("").await.text().await.unwrap();
    assert!(
        unknown
            .contains("Application application_1_0002 could not be found in RM or history server"),
        "{unknown}"
    );
    running.rm.0.stop().await;

    let running = Running::start(|web| format!("http://{web}")).await;
    let own = format!("/proxy/{}/x", running.app);
    assert_eq!(running.get(&own).await.status(), StatusCode::LOOP_DETECTED);
    let bad = running.url("").replace(&running.app.to_string(), "app");
    let bad = running.browser.get(bad).send().await.unwrap();
    assert_eq!(bad.status(), StatusCode::NOT_FOUND);
    let patch = running
        .browser
        .patch(running.url("/"))
        .send()
        .await
        .unwrap();
    assert_eq!(patch.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_ne!(app, running.app);
    running.rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_sends_the_proxy_away_or_is_gone_is_named() {
    let (at, _asked) = master(|asked| {
        let path = asked.split(' ').nth(1).unwrap();
        let app = path.split('/').nth(1).unwrap();
        format!(
            "HTTP/1.1 302 Found\r\nLocation: http://rm/proxy/redirect/{app}{path}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
    });
    let running = Running::start(|_| at.clone()).await;
    let path = format!("/{}/", running.app);
    let away = running.get(&path).await;
    assert_eq!(away.status(), StatusCode::LOOP_DETECTED);
    assert!(away.text().await.unwrap().contains("PROXY_HOSTS"));
    running.rm.0.stop().await;

    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let running = Running::start(|_| format!("http://{gone}")).await;
    let answer = running.get("/").await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let text = answer.text().await.unwrap();
    assert!(text.contains(&gone.to_string()), "{text}");
    running.rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_application_leads_to_its_page() {
    let (at, asked) = master(|_| ok("live"));
    let running = Running::start(|_| format!("http://{at}")).await;
    let finish = FinishApplicationMasterRequestProto {
        final_application_status: Some(FinalApplicationStatusProto::AppSucceeded as i32),
        ..Default::default()
    };
    loop {
        let done: FinishApplicationMasterResponseProto = running
            .am
            .call("finishApplicationMaster", &finish)
            .await
            .unwrap();
        if done.is_unregistered() {
            break;
        }
    }
    let client = running.rm.client("alice").await;
    fake::wait_for(&client, running.app, ApplicationState::Finished).await;
    let answer = running.get("/jobs/").await;
    assert_eq!(answer.status(), StatusCode::FOUND);
    let page = format!(
        "http://{}/cluster/app/{}",
        running.rm.at("rm.http"),
        running.app
    );
    assert_eq!(answer.headers()["location"], page);
    assert!(
        asked.try_recv().is_err(),
        "nobody asks an ended application"
    );
    running.rm.0.stop().await;
}

#[test]
fn silence_ends_when_the_configuration_says_so() {
    let enabled = "yarn.resourcemanager.proxy.timeout.enabled";
    let key = "yarn.resourcemanager.proxy.connection.timeout";
    let read = |pairs: &[(&str, &str)]| timeout(&Configuration::of(pairs.iter().copied()));
    let ms = |ms| Ok(Some(Duration::from_millis(ms)));
    assert_eq!(read(&[]), ms(60_000));
    assert_eq!(read(&[(key, " 1500 ")]), ms(1500));
    assert_eq!(read(&[(key, "0")]), Ok(None));
    assert_eq!(read(&[(key, "1500"), (enabled, "false")]), Ok(None));
    assert!(read(&[(key, "1s")]).is_err());
}
