//! Container logs: list, page, text. A root NodeManager reads files that users own.
//! May touch: regular files below log-dirs/application/container, opened without links.
//! Must not: follow a path or a link elsewhere, hold a whole log in memory.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read, Seek, SeekFrom},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::UNIX_EPOCH,
};

use actix_web::{
    HttpRequest, HttpResponse,
    body::{BodySize, MessageBody},
    http::header,
    web::{self, Bytes},
};
use nm_core::container::State;
use serde::Deserialize;
use tokio::sync::mpsc;
use yarn_types::ContainerId;
use yarn_web::{User, escape};

use super::{Site, pages, rest::java_time};
use crate::exec::{
    account::is_valid_user,
    dirs::{list_logs, open_log},
};

/// Most bytes of a log in one HTML page; the text of any length is streamed.
const PAGE_BYTES_MAX: u64 = 4 << 20;
/// Bytes read at a time for a stream.
const CHUNK_BYTES: usize = 64 * 1024;
/// Content type of a log.
const TEXT: &str = "text/plain; charset=utf-8";
/// Chunks that wait for a slow reader.
const CHUNKS_WAITING_MAX: usize = 4;

/// `?start=&end=` of Hadoop's log pages (bytes; below 0 from the end), `?size=` of its REST
/// (first bytes, below 0 last).
#[derive(Deserialize)]
pub(super) struct Range {
    start: Option<i64>,
    end: Option<i64>,
    size: Option<i64>,
    download: Option<String>,
}

impl Range {
    /// First byte and number of bytes of a file of `length`.
    fn of(&self, length: u64) -> (u64, u64) {
        let at = |v: i64| match u64::try_from(v) {
            Ok(v) => v.min(length),
            Err(_) => length.saturating_sub(v.unsigned_abs()),
        };
        let (start, end) = match (self.start, self.size) {
            (None, Some(size)) if size < 0 => (at(size), length),
            (None, Some(size)) => (0, at(size)),
            (start, _) => (at(start.unwrap_or(0)), self.end.map_or(length, at)),
        };
        (start, end.saturating_sub(start))
    }
}

/// One container's log, open.
struct Log {
    file: File,
    length: u64,
}

/// Why there is no log.
enum Missing {
    /// What was asked for is no name of a log.
    BadName(String),
    /// There is none.
    Unknown(String),
    /// It is not for this caller.
    Forbidden(String),
}

impl Missing {
    fn answer(self) -> HttpResponse {
        match self {
            Self::BadName(text) => HttpResponse::BadRequest().body(text),
            Self::Unknown(text) => HttpResponse::NotFound().body(text),
            Self::Forbidden(text) => HttpResponse::Forbidden().body(text),
        }
    }
}

fn container(id: &str) -> Result<ContainerId, Missing> {
    id.parse()
        .map_err(|_| Missing::BadName(format!("Invalid containerId: {id}")))
}

/// Refuses those who may not see the application (`ContainerLogsUtils.checkAccess`).
pub(super) async fn check(site: &Site, user: &User, id: ContainerId) -> Result<(), String> {
    if !site.acls.enabled() {
        return Ok(());
    }
    let user = &user.0;
    let (acls, caller) = (Arc::clone(&site.acls), user.clone());
    let may = web::block(move || acls.may_view(&caller, id.app())).await;
    if may.unwrap_or(false) {
        return Ok(());
    }
    Err(format!(
        "User [{user}] is not authorized to view the logs for application {}",
        id.app()
    ))
}

async fn open(site: &Site, user: &User, id: &str, file: &str) -> Result<Log, Missing> {
    let id = container(id)?;
    check(site, user, id).await.map_err(Missing::Forbidden)?;
    let plain =
        !file.is_empty() && file != "." && file != ".." && !file.contains(['/', '\\', '\0']);
    if !plain {
        return Err(Missing::BadName(format!("Invalid log file name: {file:?}")));
    }
    let (roots, name) = (site.log_dirs.clone(), file.to_owned());
    let opened = web::block(move || {
        let file = open_log(&roots, &id.app().to_string(), &id.to_string(), &name).ok()?;
        let meta = file.metadata().ok()?;
        meta.is_file().then(|| Log {
            length: meta.len(),
            file,
        })
    });
    opened.await.ok().flatten().ok_or_else(|| {
        Missing::Unknown(format!(
            "Cannot find this log on the local disk: {id}/{file}"
        ))
    })
}

/// GET `/node/containerlogs/{id}/{user}`.
pub(super) async fn list(
    site: web::Data<Site>,
    path: web::Path<(String, String)>,
    caller: User,
) -> HttpResponse {
    let (id, user) = path.into_inner();
    let known = match container(&id) {
        Ok(known) if is_valid_user(&user) => known,
        Ok(_) => return HttpResponse::BadRequest().body("Invalid user name"),
        Err(e) => return e.answer(),
    };
    if let Err(text) = check(&site, &caller, known).await {
        return Missing::Forbidden(text).answer();
    }
    let roots = site.log_dirs.clone();
    let files = web::block(move || list_logs(&roots, &known.app().to_string(), &known.to_string()));
    let files = files.await.unwrap_or_default();
    if files.is_empty() {
        return HttpResponse::NotFound().body(
            "Unknown container. Container either has not started or has already completed or \
             doesn't belong to this node at all.",
        );
    }
    let mut body = String::new();
    for (name, bytes) in files {
        let _ = writeln!(
            body,
            "<p><a href=\"/node/containerlogs/{id}/{}/{}/?start=-4096\">{} : Total file length \
             is {bytes} bytes.</a></p>",
            encode(&user),
            encode(&name),
            escape(&name)
        );
    }
    pages::html(&format!("Logs for {id}"), &body)
}

/// GET `/node/containerlogs/{id}/{user}/{file}`: a page, or text for those who ask for it.
pub(super) async fn page(
    site: web::Data<Site>,
    path: web::Path<(String, String, String)>,
    range: web::Query<Range>,
    caller: User,
    request: HttpRequest,
) -> HttpResponse {
    let (id, user, name) = path.into_inner();
    if !is_valid_user(&user) {
        return HttpResponse::BadRequest().body("Invalid user name");
    }
    let log = match open(&site, &caller, &id, &name).await {
        Ok(log) => log,
        Err(e) => return e.answer(),
    };
    let accept = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok());
    if accept.is_some_and(|a| a.starts_with("text/plain")) || range.download.is_some() {
        return stream(log, &range, String::new(), String::new());
    }
    let (start, wanted) = range.of(log.length);
    let length = log.length;
    let shown = wanted.min(PAGE_BYTES_MAX);
    // Of what is too long the end is shown, as of everything in a log.
    let start = start + (wanted - shown);
    let text = web::block(move || read(log.file, start, shown))
        .await
        .unwrap_or_default();
    let full = format!(
        "/node/containerlogs/{id}/{}/{}/?start=0",
        encode(&user),
        encode(&name)
    );
    let mut body = String::new();
    if shown < length {
        let _ = writeln!(
            body,
            "<p>Showing {shown} bytes of {length} total. <a href=\"{full}\">Click here for the \
             full log.</a> <a href=\"{full}&amp;download=true\">As text.</a></p>"
        );
    }
    let _ = writeln!(
        body,
        "<pre>{}</pre>",
        escape(&String::from_utf8_lossy(&text))
    );
    pages::html(&format!("{name} of {id}"), &body)
}

/// GET `/ws/v1/node/containerlogs/{id}/{file}`.
pub(super) async fn text(
    site: web::Data<Site>,
    path: web::Path<(String, String)>,
    range: web::Query<Range>,
    caller: User,
) -> HttpResponse {
    let (id, name) = path.into_inner();
    let log = match open(&site, &caller, &id, &name).await {
        Ok(log) => log,
        Err(Missing::Unknown(_)) => {
            return HttpResponse::NotFound()
                .content_type(TEXT)
                .body("HTTP 404 Not Found");
        }
        Err(e) => return e.answer(),
    };
    let (head, tail) = frame(&site, &id, &name, &log).await;
    stream(log, &range, head, tail)
}

/// What Hadoop writes before and behind a log; `yarn logs` prints it as it comes.
async fn frame(site: &Site, id: &str, name: &str, log: &Log) -> (String, String) {
    let modified = log.file.metadata().and_then(|meta| meta.modified());
    let since = modified
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.map_or(0, |s| i64::try_from(s.as_millis()).unwrap_or(0));
    let title = format!("Container: {id} on {}", site.node);
    let head = format!(
        "{title}\nLogAggregationType: LOCAL\n{}\nLogType:{name}\n\
         LogLastModifiedTime:{}\nLogLength:{}\nLogContents:\n",
        "=".repeat(title.len()),
        java_time(since),
        log.length,
    );
    let runs = match container(id) {
        Ok(known) => site.inbox.ask(move |nm, _| {
            let container = nm.container(known);
            container.is_some_and(|c| c.state() != State::Done)
        }),
        Err(_) => return (head, String::new()),
    };
    let note = if runs.await.unwrap_or(false) {
        format!(".This log file belongs to a running container ({id}) and so may not be complete.")
    } else {
        String::new()
    };
    let tail = format!("End of LogType:{name}{note}\n{}\n\n", "*".repeat(71));
    (head, tail)
}

fn read(mut file: File, start: u64, bytes: u64) -> Vec<u8> {
    let mut text = Vec::new();
    if file.seek(SeekFrom::Start(start)).is_ok() {
        // What was read before an error is still worth showing.
        let _ = file.take(bytes).read_to_end(&mut text);
    }
    text
}

/// A log of any length between two texts, in chunks that wait for the reader.
fn stream(log: Log, range: &Range, head: String, tail: String) -> HttpResponse {
    let (start, bytes) = range.of(log.length);
    let (sender, chunks) = mpsc::channel(CHUNKS_WAITING_MAX);
    let around = [head.len(), tail.len()].map(|len| u64::try_from(len).unwrap_or(0));
    tokio::task::spawn_blocking(move || {
        if sender.blocking_send(Ok(Bytes::from(head))).is_ok()
            && send(log.file, start, bytes, &sender)
        {
            // Nobody reads any more when this fails.
            let _ = sender.blocking_send(Ok(Bytes::from(tail)));
        }
    });
    let bytes = bytes + around.iter().sum::<u64>();
    HttpResponse::Ok()
        .content_type(TEXT)
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(Chunks { chunks, bytes })
}

/// Whether all of it was sent.
fn send(mut file: File, start: u64, bytes: u64, to: &mpsc::Sender<std::io::Result<Bytes>>) -> bool {
    let mut left = bytes;
    if let Err(e) = file.seek(SeekFrom::Start(start)) {
        let _ = to.blocking_send(Err(e));
        return false;
    }
    let mut buffer = vec![0; CHUNK_BYTES];
    while left > 0 {
        let want = usize::try_from(left)
            .unwrap_or(CHUNK_BYTES)
            .min(CHUNK_BYTES);
        let chunk = match file.read(&mut buffer[..want]) {
            // Cut meanwhile: the reader learns it by the missing bytes.
            Ok(0) => return false,
            Ok(n) => {
                left -= u64::try_from(n).unwrap_or(left);
                Ok(Bytes::copy_from_slice(&buffer[..n]))
            }
            Err(e) => Err(e),
        };
        let failed = chunk.is_err();
        if to.blocking_send(chunk).is_err() || failed {
            return false;
        }
    }
    true
}

struct Chunks {
    chunks: mpsc::Receiver<std::io::Result<Bytes>>,
    bytes: u64,
}

impl MessageBody for Chunks {
    type Error = std::io::Error;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.bytes)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        self.chunks.poll_recv(cx)
    }
}

/// A path segment: everything but letters, digits and `-._~` as `%XX`.
fn encode(segment: &str) -> String {
    let mut out = String::new();
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
