//! Bodies of POST and PUT in the format that their header names.
//! May touch: the request.
//! Must not: judge what they say.

use actix_web::{HttpRequest, HttpResponse, http::header, web::Bytes};
use serde::de::DeserializeOwned;
use yarn_web::Format;

/// Why a body says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unread {
    /// It is neither JSON nor XML.
    Type,
    /// It is not what its type says.
    Body,
}

impl Unread {
    /// Hadoop's answer to it.
    pub fn answer(self, format: Format) -> HttpResponse {
        match self {
            Self::Type => yarn_web::not_supported(),
            Self::Body => format.unreadable(),
        }
    }
}

/// The body as an `X`.
///
/// # Errors
/// It is none.
pub(super) fn read<X: DeserializeOwned>(request: &HttpRequest, body: &Bytes) -> Result<X, Unread> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    if kind.starts_with("application/xml") {
        let text = std::str::from_utf8(body).map_err(|_| Unread::Body)?;
        quick_xml::de::from_str(text).map_err(|_| Unread::Body)
    } else if kind.is_empty() || kind.starts_with("application/json") {
        serde_json::from_slice(body).map_err(|_| Unread::Body)
    } else {
        Err(Unread::Type)
    }
}
