//! `/conf`: the configuration in force, as Hadoop's `ConfServlet` shows it.
//! May touch: the configuration.
//! Must not: show a secret, or expand a reference (the text behind it may be one).

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{Data, Query},
};
use regex::Regex;
use serde::{Deserialize, Serialize};
use yarn_conf::Configuration;

use crate::Format;

/// Patterns of the keys whose values are secrets.
const SENSITIVE_KEYS: &str = "hadoop.security.sensitive-config-keys";
/// Hidden whatever the patterns say.
const ALWAYS_SENSITIVE: [&str; 6] = [
    "password",
    "secret",
    "access.key",
    "account.key",
    "credential",
    "keystore.pass",
];
/// What Hadoop shows instead.
const REDACTED: &str = "<redacted>";

/// Content types of Hadoop's `ConfServlet`.
const JSON: &str = "application/json;charset=utf-8";
const XML: &str = "text/xml;charset=utf-8";

/// Parameters of `/conf`.
#[derive(Deserialize)]
pub struct Asked {
    /// The one key that is asked for.
    name: Option<String>,
}

/// One key as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AsJson<'a> {
    key: &'a str,
    value: &'a str,
    is_final: bool,
    resource: String,
}

/// One key as XML.
#[derive(Serialize)]
struct AsXml<'a> {
    name: &'a str,
    value: &'a str,
    #[serde(rename = "final")]
    is_final: bool,
    source: String,
}

#[derive(Serialize)]
struct Properties<T> {
    properties: Vec<T>,
}

#[derive(Serialize)]
struct Property<T> {
    property: T,
}

/// GET `/conf[?name=key]`: XML, or JSON for those who ask for it. Needs a `Data<Configuration>`.
pub async fn conf(
    conf: Data<Configuration>,
    asked: Query<Asked>,
    request: HttpRequest,
) -> HttpResponse {
    let accept = request.headers().get(header::ACCEPT);
    let json = accept.is_some_and(|v| v.to_str().is_ok_and(|v| v.contains("json")));
    let name = asked.name.as_deref().filter(|name| !name.is_empty());
    let mut answer = show(&conf, name, json);
    let kind = header::HeaderValue::from_static(if json { JSON } else { XML });
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

fn show(conf: &Configuration, name: Option<&str>, json: bool) -> HttpResponse {
    let secrets = Secrets::of(conf);
    let source = |key: &str| {
        let origin = conf.origin(key);
        // The name alone, as Hadoop: where the file lies is nobody's business.
        origin.map_or_else(
            || "default".to_owned(),
            |o| o.file.rsplit('/').next().unwrap_or("").to_owned(),
        )
    };
    let as_json = |(key, value): (_, _)| AsJson {
        key,
        value: secrets.shown(key, value),
        is_final: conf.is_final(key),
        resource: source(key),
    };
    let as_xml = |(key, value): (_, _)| AsXml {
        name: key,
        value: secrets.shown(key, value),
        is_final: conf.is_final(key),
        source: source(key),
    };
    let format = if json { Format::Json } else { Format::Xml };
    let root = "configuration";
    match (name, json) {
        (None, true) => {
            let properties = conf.iter().map(as_json).collect();
            format.bare(root, &Properties { properties })
        }
        (None, false) => {
            let property: Vec<_> = conf.iter().map(as_xml).collect();
            format.bare(root, &Property { property })
        }
        (Some(key), _) => {
            let Some(value) = conf.raw(key) else {
                return HttpResponse::NotFound().finish();
            };
            if json {
                let property = as_json((key, value));
                format.bare(root, &Property { property })
            } else {
                let property = as_xml((key, value));
                format.bare(root, &Property { property })
            }
        }
    }
}

/// Which keys hold secrets.
struct Secrets(Vec<Regex>);

impl Secrets {
    fn of(conf: &Configuration) -> Self {
        let list = conf.raw(SENSITIVE_KEYS).unwrap_or_default();
        let patterns = list.split(|c: char| c == ',' || c.is_whitespace());
        let patterns = patterns.filter(|p| !p.is_empty());
        // A pattern that does not compile still names the keys that it spells out.
        let regex = |p: &str| Regex::new(p).or_else(|_| Regex::new(&regex::escape(p)));
        Self(patterns.filter_map(|p| regex(p).ok()).collect())
    }

    fn shown<'a>(&self, key: &str, value: &'a str) -> &'a str {
        let lower = key.to_ascii_lowercase();
        let secret = ALWAYS_SENSITIVE.iter().any(|part| lower.contains(part))
            || self.0.iter().any(|pattern| pattern.is_match(key));
        if secret { REDACTED } else { value }
    }
}

#[cfg(test)]
#[path = "conf_test.rs"]
mod tests;
