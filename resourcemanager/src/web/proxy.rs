//! `/proxy/<application>/…`: sends the browser to the ApplicationMaster's page while it lives, to what is left after.
//! May touch: the core's read model.
//! Must not: fetch pages itself (not built yet), or send a browser anywhere but to http and https.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Data, Path},
};
use yarn_types::ApplicationId;

use super::{State, pages};
use crate::rpc::{app_url_of, app_urls};

pub(super) async fn proxy(
    state: Data<State>,
    path: Path<ProxyPath>,
    request: HttpRequest,
) -> HttpResponse {
    let Ok(id) = path.app.parse::<ApplicationId>() else {
        let text = format!("'{}' is not an application id", path.app);
        return pages::problem(StatusCode::BAD_REQUEST, &text);
    };
    let Some(found) = state.ask(move |rm| rm.app(id)).await else {
        return pages::problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "ResourceManager is too busy",
        );
    };
    let Some(app) = found else {
        let text = format!("Application {id} could not be found in RM or history server");
        return pages::problem(StatusCode::NOT_FOUND, &text);
    };
    let own_page = app_url_of(&state.context.web_url, id);
    let original = app_urls(&state.context, &app).original;
    let target = target(&original, &path.path, request.query_string());
    let target = target.unwrap_or(own_page);
    match header::HeaderValue::from_str(&target) {
        Ok(location) => HttpResponse::Found()
            .insert_header((header::LOCATION, location))
            .finish(),
        Err(_) => pages::problem(StatusCode::BAD_GATEWAY, "the tracking URL is not a URL"),
    }
}

/// Parts of the address.
#[derive(serde::Deserialize)]
pub(super) struct ProxyPath {
    app: String,
    #[serde(default)]
    path: String,
}

/// The page of the ApplicationMaster behind `path` and `query`; `None` when there is none.
fn target(original: &str, path: &str, query: &str) -> Option<String> {
    if original == "N/A" {
        return None;
    }
    // ApplicationMasters may give host:port alone.
    let url = match original.split_once("://") {
        Some(("http" | "https", _)) => original.to_owned(),
        Some(_) => return None,
        None => format!("http://{original}"),
    };
    let mut url = if path.is_empty() {
        url
    } else {
        format!("{}/{path}", url.trim_end_matches('/'))
    };
    if !query.is_empty() {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(query);
    }
    Some(url)
}

#[cfg(test)]
#[path = "proxy_test.rs"]
mod tests;
