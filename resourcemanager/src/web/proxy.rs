//! `/proxy/<application>/…`: hands a request to the ApplicationMaster while it lives, leads elsewhere after.
//! May touch: the core's read model, the tracking URL that an ApplicationMaster registered.
//! Must not: ask any other host, follow a redirect, or pass the browser's cookies on.

use std::{
    error::Error as _,
    fmt::Write as _,
    io,
    net::{IpAddr, TcpListener, ToSocketAddrs},
    pin::Pin,
    task,
    time::Duration,
};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    body::SizedStream,
    http::{StatusCode, header},
    web::{Bytes, Data, Payload},
};
use futures_core::Stream;
use reqwest::{Client, Url};
use tokio::sync::mpsc;
use yarn_conf::{Configuration, Problem};
use yarn_types::ApplicationId;
use yarn_web::User;

use super::{State, pages};
use crate::rpc::{app_url_of, app_urls};

/// Names and values of an answer's headers together; servers' own limits are far below.
const HEADERS_MAX_BYTES: usize = 64 << 10;
/// Pieces of a request's body that wait for the ApplicationMaster.
const PIECES: usize = 4;

/// `WebAppProxyServlet`'s list, and the length, which its client works out by itself.
const PASSED_ON: [&str; 10] = [
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "accept-charset",
    "content-type",
    "content-length",
    "origin",
    "access-control-request-method",
    "access-control-request-headers",
];
/// RFC 9110, 7.6.1: for one connection alone.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What asks the ApplicationMasters. It leaves from the address of `listener`: their `AmIpFilter`
/// answers nobody else. Where that is every address, from what the name in `web_url` means.
///
/// # Errors
/// The client cannot be built.
pub(super) fn client(
    listener: &TcpListener,
    web_url: &str,
    timeout: Option<Duration>,
) -> io::Result<Client> {
    let bound = listener.local_addr()?.ip();
    let named = || -> Option<IpAddr> {
        let at = web_url.strip_prefix("http://")?;
        let mut found = at.to_socket_addrs().ok()?;
        found.next().map(|at| at.ip())
    };
    let from = if bound.is_unspecified() {
        named().filter(|ip| !ip.is_unspecified())
    } else {
        Some(bound)
    };
    let mut builder = Client::builder();
    if let Some(timeout) = timeout {
        builder = builder.connect_timeout(timeout).read_timeout(timeout);
    }
    builder
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .local_address(from)
        .build()
        .map_err(io::Error::other)
}

/// How long to wait for a connection, and for each piece of an answer; `None` without end.
///
/// # Errors
/// A value that is no number.
pub(super) fn timeout(conf: &Configuration) -> Result<Option<Duration>, Problem> {
    let enabled = conf.bool("yarn.resourcemanager.proxy.timeout.enabled", true)?;
    let ms = conf.i32("yarn.resourcemanager.proxy.connection.timeout", 60_000)?;
    // 0 and below: no limit, as in Java's HTTP client.
    let ms = u64::try_from(ms).ok().filter(|ms| enabled && *ms > 0);
    Ok(ms.map(Duration::from_millis))
}

/// The parts of `/proxy/<application>/<rest>`, as they came; `/proxy/redirect/…`, to which an
/// ApplicationMaster sends browsers that came to it directly, means the same.
fn parts(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("/proxy/")?;
    let path = path.strip_prefix("redirect/").unwrap_or(path);
    Some(path.split_once('/').unwrap_or((path, "")))
}

pub(super) async fn proxy(
    state: Data<State>,
    client: Data<Client>,
    request: HttpRequest,
    user: User,
    payload: Payload,
) -> HttpResponse {
    let Some((text, rest)) = parts(request.uri().path()) else {
        let text = "Your path appears to be formatted incorrectly.";
        return pages::problem(StatusCode::NOT_FOUND, text);
    };
    let Ok(id) = text.parse::<ApplicationId>() else {
        let text = format!("{text} appears to be formatted incorrectly.");
        return pages::problem(StatusCode::NOT_FOUND, &text);
    };
    let Some(found) = state.ask(move |rm| rm.app(id)).await else {
        return pages::busy();
    };
    let Some(app) = found else {
        let text = format!("Application {id} could not be found in RM or history server");
        return pages::problem(StatusCode::NOT_FOUND, &text);
    };
    let own_page = app_url_of(&state.context.web_url, id);
    let original = app_urls(&state.context, &app).original;
    if original == own_page {
        return found_at(&own_page);
    }
    let Some(base) = tracking_url(&original) else {
        return found_at(&own_page);
    };
    let Some(target) = target(&base, rest, request.query_string()) else {
        let text = format!("{} leads out of the tracking URL", request.uri().path());
        return pages::problem(StatusCode::BAD_REQUEST, &text);
    };
    // A browser opens https by itself: the proxy speaks plain http.
    if app.state.is_final() || base.scheme() == "https" {
        return found_at(target.as_str());
    }
    let errand = Errand {
        id,
        base,
        target,
        me: state.context.web_url.trim_start_matches("http://"),
        user: &user.0,
    };
    errand.run(&client, &request, payload).await
}

fn found_at(target: &str) -> HttpResponse {
    HttpResponse::Found()
        .insert_header((header::LOCATION, target))
        .finish()
}

/// The page of an ApplicationMaster; `None` when there is none.
fn tracking_url(original: &str) -> Option<Url> {
    if original == "N/A" {
        return None;
    }
    // ApplicationMasters may give host:port alone.
    let url = if original.contains("://") {
        Url::parse(original)
    } else {
        Url::parse(&format!("http://{original}"))
    };
    let mut url = url.ok()?;
    url.set_fragment(None);
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// `path` without `base` in front of it, whole segments compared.
fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(base.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// `rest` and `query` of a request, behind `base`; `None` when `rest` climbs out of it.
fn target(base: &Url, rest: &str, query: &str) -> Option<Url> {
    let mut url = base.clone();
    if !rest.is_empty() {
        url.set_path(&format!("{}/{rest}", base.path().trim_end_matches('/')));
        below(url.path(), base.path())?;
    }
    let query = match base.query() {
        Some(own) if !query.is_empty() => format!("{own}&{query}"),
        Some(own) => own.to_owned(),
        None => query.to_owned(),
    };
    url.set_query(Some(&*query).filter(|query| !query.is_empty()));
    Some(url)
}

/// Where a browser is to go when the answer for `asked` says `location`; `None` when the
/// ApplicationMaster sends the request back to this proxy.
fn moved(id: ApplicationId, base: &Url, asked: &Url, location: &str) -> Option<String> {
    let Ok(to) = asked.join(location) else {
        return Some(location.to_owned());
    };
    let own = format!("/proxy/{id}");
    let asked_rest = below(asked.path(), base.path()).unwrap_or_default();
    let back = [own.clone(), format!("/proxy/redirect/{id}")]
        .iter()
        .filter_map(|own| below(to.path(), own))
        .any(|rest| {
            rest.trim_start_matches('/') == asked_rest.trim_start_matches('/')
                && to.query() == asked.query()
        });
    if back {
        return None;
    }
    if to.origin() != base.origin() {
        return Some(to.into());
    }
    let mut path = if below(to.path(), &own).is_some() {
        to.path().to_owned()
    } else if let Some(rest) = below(to.path(), base.path()) {
        format!("{own}{rest}")
    } else {
        return Some(to.into());
    };
    for (mark, part) in [('?', to.query()), ('#', to.fragment())] {
        if let Some(part) = part {
            path.push(mark);
            path.push_str(part);
        }
    }
    Some(path)
}

/// Java's `URLEncoder`.
fn url_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => {
                // Writing to a String does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The body of a request on its way.
struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// `payload` belongs to this thread, the client to all of them.
fn carry(mut payload: Payload) -> reqwest::Body {
    let (to, from) = mpsc::channel(PIECES);
    actix_web::rt::spawn(async move {
        loop {
            let piece = std::future::poll_fn(|c| Pin::new(&mut payload).poll_next(c)).await;
            let Some(piece) = piece else { return };
            let piece = piece.map_err(|e| io::Error::other(e.to_string()));
            // The ApplicationMaster reads no further.
            if to.send(piece).await.is_err() {
                return;
            }
        }
    });
    reqwest::Body::wrap_stream(Pieces(from))
}

/// One request to one ApplicationMaster.
struct Errand<'a> {
    id: ApplicationId,
    /// What it registered.
    base: Url,
    /// What is asked for.
    target: Url,
    /// host:port of this proxy, its name in `Via` (RFC 9110, 7.6.3).
    me: &'a str,
    /// For whom.
    user: &'a str,
}

impl Errand<'_> {
    async fn run(&self, client: &Client, request: &HttpRequest, payload: Payload) -> HttpResponse {
        let all = request.headers().get_all(header::VIA);
        let mut via: Vec<&str> = all.filter_map(|line| line.to_str().ok()).collect();
        let mut hops = via.iter().flat_map(|line| line.split(','));
        if hops.any(|hop| hop.split_whitespace().nth(1) == Some(self.me)) {
            let text = format!("the tracking URL of {} leads back here", self.id);
            return pages::problem(StatusCode::LOOP_DETECTED, &text);
        }
        let this = format!("1.1 {}", self.me);
        via.push(&this);

        let Ok(method) = reqwest::Method::from_bytes(request.method().as_str().as_bytes()) else {
            return pages::problem(StatusCode::METHOD_NOT_ALLOWED, "unknown method");
        };
        let mut errand = client.request(method, self.target.clone());
        for name in PASSED_ON {
            if let Some(value) = request.headers().get(name) {
                errand = errand.header(name, value.as_bytes());
            }
        }
        errand = errand
            .header("via", via.join(", "))
            .header("cookie", format!("proxy-user={}", url_encoded(self.user)));
        let has_body = request.headers().contains_key(header::CONTENT_LENGTH)
            || request.headers().contains_key(header::TRANSFER_ENCODING);
        if has_body {
            errand = errand.body(carry(payload));
        }
        match errand.send().await {
            Ok(answer) => self.answered(answer),
            Err(e) => self.failed(&e),
        }
    }

    fn failed(&self, e: &reqwest::Error) -> HttpResponse {
        let mut why = e.source();
        while let Some(next) = why.and_then(std::error::Error::source) {
            why = Some(next);
        }
        let status = if e.is_timeout() {
            StatusCode::GATEWAY_TIMEOUT
        } else {
            StatusCode::BAD_GATEWAY
        };
        let why = why.map_or_else(|| e.to_string(), ToString::to_string);
        let (id, base) = (self.id, &self.base);
        let text = format!("the ApplicationMaster of {id} does not answer at {base}: {why}");
        pages::problem(status, &text)
    }

    /// The answer's status and headers, its body behind them as it comes.
    fn answered(&self, answer: reqwest::Response) -> HttpResponse {
        let status = answer.status().as_u16();
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        let mut reply = HttpResponse::build(status);
        if let Err((status, text)) = self.headers(&mut reply, answer.headers()) {
            return pages::problem(status, &text);
        }
        let length = answer.headers().get("content-length");
        let length = length.and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return reply.finish();
        }
        match length {
            Some(length) => reply.body(SizedStream::new(length, answer.bytes_stream())),
            None => reply.streaming(answer.bytes_stream()),
        }
    }

    fn headers(
        &self,
        reply: &mut HttpResponseBuilder,
        headers: &reqwest::header::HeaderMap,
    ) -> Result<(), (StatusCode, String)> {
        let sizes = headers.iter().map(|(n, v)| n.as_str().len() + v.len());
        if sizes.sum::<usize>() > HEADERS_MAX_BYTES {
            let text = format!(
                "headers of the ApplicationMaster of {} are longer than {HEADERS_MAX_BYTES} bytes",
                self.id
            );
            return Err((StatusCode::BAD_GATEWAY, text));
        }
        let named = headers.get_all("connection");
        let named: Vec<&str> = named
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(',').map(str::trim))
            .collect();
        for (name, value) in headers {
            let name = name.as_str();
            let for_one_hop = HOP_BY_HOP.contains(&name)
                || named.iter().any(|other| other.eq_ignore_ascii_case(name));
            // The length goes with the body.
            if for_one_hop || name == "content-length" {
                continue;
            }
            let location = value.to_str().ok().filter(|_| name == "location");
            if let Some(location) = location {
                let to = moved(self.id, &self.base, &self.target, location);
                let Some(to) = to else {
                    let text = format!(
                        "the ApplicationMaster of {} sends this proxy away: the address that its \
                         requests come from is not one that PROXY_HOSTS of its AmIpFilter means",
                        self.id
                    );
                    return Err((StatusCode::LOOP_DETECTED, text));
                };
                reply.append_header((header::LOCATION, to));
            } else {
                reply.append_header((name, value.as_bytes()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "proxy_test.rs"]
mod tests;
