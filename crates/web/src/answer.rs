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

use crate::xml::document;

/// The query's names and values, in order.
pub type Pairs = actix_web::web::Query<Vec<(String, String)>>;

const JSON: &str = "application/json;charset=utf-8";
const XML: &str = "application/xml;charset=utf-8";

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
            let answer = untyped(
                StatusCode::NOT_ACCEPTABLE,
                NOT_ACCEPTABLE,
                "HTTP 406 Not Acceptable",
            );
            InternalError::from_response("no acceptable format", answer).into()
        }))
    }
}

/// `RemoteExceptionData`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RemoteException {
    exception: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    java_class_name: &'static str,
}

/// Java class of a refusal.
#[derive(Clone, Copy)]
struct Class(&'static str);

const BAD_REQUEST: Class = Class("org.apache.hadoop.yarn.webapp.BadRequestException");
const NOT_FOUND: Class = Class("org.apache.hadoop.yarn.webapp.NotFoundException");
const AUTHORIZATION: Class = Class("org.apache.hadoop.security.authorize.AuthorizationException");
const FORBIDDEN: Class = Class("org.apache.hadoop.yarn.webapp.ForbiddenException");
const ILLEGAL_ARGUMENT: Class = Class("java.lang.IllegalArgumentException");
const NOT_ACCEPTABLE: Class = Class("javax.ws.rs.NotAcceptableException");
const NOT_ALLOWED: Class = Class("javax.ws.rs.NotAllowedException");
const NOT_SUPPORTED: Class = Class("javax.ws.rs.NotSupportedException");
const WEB_APPLICATION: Class = Class("javax.ws.rs.WebApplicationException");
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
            Self::Xml => document(root, body).map_err(|e| e.to_string()),
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
    fn refuse(self, status: StatusCode, class: Class, message: Option<String>) -> HttpResponse {
        let body = RemoteException {
            exception: class.0.rsplit('.').next().unwrap_or(class.0),
            message,
            java_class_name: class.0,
        };
        self.answer(status, "RemoteException", &body)
    }

    /// Hadoop's `BadRequestException`.
    pub fn bad_request(self, message: &str) -> HttpResponse {
        self.refuse(
            StatusCode::BAD_REQUEST,
            BAD_REQUEST,
            Some(message.to_owned()),
        )
    }

    /// Java's `IllegalArgumentException`, which carries no prefix.
    pub fn illegal_argument(self, message: String) -> HttpResponse {
        self.refuse(StatusCode::BAD_REQUEST, ILLEGAL_ARGUMENT, Some(message))
    }

    /// An application id that is none, in the words of `ApplicationId.fromString`.
    pub fn bad_application_id(self, text: &str) -> HttpResponse {
        if text.starts_with("application_") {
            self.bad_request(&format!("Invalid ApplicationId: {text}"))
        } else {
            self.bad_request(&format!(
                "Invalid ApplicationId prefix: {text}. The valid ApplicationId should start with \
                 prefix application"
            ))
        }
    }

    /// A body that cannot be read: Hadoop says no more than that.
    pub fn unreadable(self) -> HttpResponse {
        self.refuse(StatusCode::BAD_REQUEST, WEB_APPLICATION, None)
    }

    /// Hadoop's `AuthorizationException`.
    pub fn forbidden(self, message: String) -> HttpResponse {
        self.refuse(StatusCode::FORBIDDEN, AUTHORIZATION, Some(message))
    }

    /// Hadoop's `ForbiddenException`.
    pub fn not_permitted(self, message: String) -> HttpResponse {
        self.refuse(StatusCode::FORBIDDEN, FORBIDDEN, Some(message))
    }

    /// Hadoop's `NotFoundException`.
    pub fn not_found(self, message: &str) -> HttpResponse {
        self.refuse(StatusCode::NOT_FOUND, NOT_FOUND, Some(message.to_owned()))
    }

    /// The daemon cannot answer now; the caller may try again.
    pub fn unavailable(self, message: &str) -> HttpResponse {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        self.refuse(status, RETRIABLE, Some(message.to_owned()))
    }
}

/// A refusal that Hadoop's web services answer before they know what the caller reads: JSON,
/// without a content type.
fn untyped(status: StatusCode, class: Class, message: &str) -> HttpResponse {
    let mut answer = Format::Json.refuse(status, class, Some(message.to_owned()));
    answer.headers_mut().remove(header::CONTENT_TYPE);
    answer
}

/// A method that the address does not know: 503 in Hadoop, whose exception mapper has no case
/// for it.
pub async fn not_allowed() -> HttpResponse {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    untyped(status, NOT_ALLOWED, "HTTP 405 Method Not Allowed")
}

/// A body of a type that is not read: 503 in Hadoop, as [`not_allowed`].
pub fn not_supported() -> HttpResponse {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    untyped(status, NOT_SUPPORTED, "HTTP 415 Unsupported Media Type")
}

#[cfg(test)]
#[path = "answer_test.rs"]
mod tests;
