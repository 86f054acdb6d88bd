//! One body, as JSON or XML by `Accept`; refusals as Hadoop's web services write them.
//! May touch: serde, headers.
//! Must not: know what it is asked.

use std::{
    collections::BTreeMap,
    future::{Ready, ready},
};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse,
    dev::Payload,
    error::InternalError,
    http::{StatusCode, header},
};
use serde::Serialize;

/// The query's names and values, in order.
pub type Pairs = actix_web::web::Query<Vec<(String, String)>>;

const JSON: &str = "application/json;charset=utf-8";
const XML: &str = "application/xml;charset=utf-8";
const XML_HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
/// JAXB's subtypes: the key `type` in JSON, an attribute in XML.
const SUBTYPES: [&str; 2] = ["capacityScheduler", "capacitySchedulerLeafQueueInfo"];

/// What the caller reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Also when there is no `Accept`.
    Json,
    /// `application/xml`.
    Xml,
}

impl FromRequest for Format {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let accept = request.headers().get(header::ACCEPT);
        let accept = accept.map_or("*/*", |value| value.to_str().unwrap_or(""));
        ready(Self::of(accept).ok_or_else(|| {
            let text = "HTTP 406 Not Acceptable".to_owned();
            let answer = Self::Json.refuse(StatusCode::NOT_ACCEPTABLE, NOT_ACCEPTABLE, text);
            InternalError::from_response("no acceptable format", answer).into()
        }))
    }
}

/// `RemoteExceptionData`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RemoteException {
    exception: &'static str,
    message: String,
    java_class_name: &'static str,
}

/// Java class of a refusal.
#[derive(Clone, Copy)]
struct Class(&'static str);

const BAD_REQUEST: Class = Class("org.apache.hadoop.yarn.webapp.BadRequestException");
const NOT_FOUND: Class = Class("org.apache.hadoop.yarn.webapp.NotFoundException");
const ILLEGAL_ARGUMENT: Class = Class("java.lang.IllegalArgumentException");
const NOT_ACCEPTABLE: Class = Class("javax.ws.rs.NotAcceptableException");
const RETRIABLE: Class = Class("org.apache.hadoop.ipc.RetriableException");

impl Format {
    /// The better of the two for an `Accept` header; `None` when neither will do.
    fn of(accept: &str) -> Option<Self> {
        let (mut json, mut xml) = (0.0_f32, 0.0_f32);
        for entry in accept.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            let kind = parts.next().unwrap_or("").to_ascii_lowercase();
            let weight = parts.find_map(|p| p.strip_prefix("q="));
            let weight = weight.map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0));
            // What names a kind goes before what takes any.
            let (for_json, for_xml) = match kind.as_str() {
                "application/json" => (weight, 0.0),
                "application/xml" => (0.0, weight),
                "*/*" | "application/*" => (weight * 0.01, weight * 0.01),
                _ => (0.0, 0.0),
            };
            json = json.max(for_json);
            xml = xml.max(for_xml);
        }
        match (json > 0.0, xml > json) {
            (_, true) => Some(Self::Xml),
            (true, false) => Some(Self::Json),
            (false, false) => None,
        }
    }

    /// `body` under the key `root`, in XML within the element `root`.
    pub fn ok(self, root: &'static str, body: &impl Serialize) -> HttpResponse {
        self.answer(StatusCode::OK, root, body)
    }

    /// `body` without a key in JSON, in XML within the element `root`.
    pub fn bare(self, root: &'static str, body: &impl Serialize) -> HttpResponse {
        self.bare_with(StatusCode::OK, root, body)
    }

    /// [`Format::bare`] with another status.
    pub fn bare_with(
        self,
        status: StatusCode,
        root: &'static str,
        body: &impl Serialize,
    ) -> HttpResponse {
        let text = match self {
            Self::Json => serde_json::to_string(body).map_err(|e| e.to_string()),
            Self::Xml => xml(root, body).map_err(|e| e.to_string()),
        };
        self.response(status, text)
    }

    fn answer(self, status: StatusCode, root: &'static str, body: &impl Serialize) -> HttpResponse {
        match self {
            Self::Json => self.bare_with(status, root, &BTreeMap::from([(root, body)])),
            Self::Xml => self.bare_with(status, root, body),
        }
    }

    fn response(self, status: StatusCode, text: Result<String, String>) -> HttpResponse {
        match text {
            Ok(text) => HttpResponse::build(status)
                .content_type(match self {
                    Self::Json => JSON,
                    Self::Xml => XML,
                })
                .body(text),
            Err(e) => {
                tracing::error!(error = e, "an answer could not be written");
                HttpResponse::InternalServerError().finish()
            }
        }
    }

    /// `RemoteException` of `class`.
    fn refuse(self, status: StatusCode, class: Class, message: String) -> HttpResponse {
        let body = RemoteException {
            exception: class.0.rsplit('.').next().unwrap_or(class.0),
            message,
            java_class_name: class.0,
        };
        self.answer(status, "RemoteException", &body)
    }

    /// Hadoop's `BadRequestException`.
    pub fn bad_request(self, message: &str) -> HttpResponse {
        let message = format!("java.lang.Exception: {message}");
        self.refuse(StatusCode::BAD_REQUEST, BAD_REQUEST, message)
    }

    /// Java's `IllegalArgumentException`, which carries no prefix.
    pub fn illegal_argument(self, message: String) -> HttpResponse {
        self.refuse(StatusCode::BAD_REQUEST, ILLEGAL_ARGUMENT, message)
    }

    /// Hadoop's `NotFoundException`.
    pub fn not_found(self, message: &str) -> HttpResponse {
        let message = format!("java.lang.Exception: {message}");
        self.refuse(StatusCode::NOT_FOUND, NOT_FOUND, message)
    }

    /// The daemon cannot answer now; the caller may try again.
    pub fn unavailable(self, message: &str) -> HttpResponse {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        self.refuse(status, RETRIABLE, message.to_owned())
    }
}

/// `body` as a document.
fn xml(root: &'static str, body: &impl Serialize) -> Result<String, quick_xml::SeError> {
    let mut text = quick_xml::se::to_string_with_root(root, body)?;
    for subtype in SUBTYPES {
        // A text cannot look like this: its `<` is escaped.
        let element = format!("><type>{subtype}</type>");
        let attribute = format!(
            r#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="{subtype}">"#
        );
        text = text.replace(&element, &attribute);
    }
    // Diagnostics may hold anything; XML cannot.
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    let legal = text
        .chars()
        .map(|c| if allowed(c) { c } else { '\u{fffd}' });
    Ok(XML_HEAD.chars().chain(legal).collect())
}

#[cfg(test)]
#[path = "answer_test.rs"]
mod tests;
