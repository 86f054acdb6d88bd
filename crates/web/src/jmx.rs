//! `/jmx`: MBeans as Hadoop's `JMXJsonServlet` writes them, and which of them a caller means.
//! May touch: serde, the name of the machine.
//! Must not: measure anything.

use std::{collections::BTreeMap, sync::LazyLock};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of this machine, as the kernel has it.
static HOSTNAME: LazyLock<String> = LazyLock::new(|| {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
});

/// An MBean: its name, then its attributes by name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Bean {
    name: String,
    #[serde(rename = "modelerType")]
    modeler_type: String,
    #[serde(flatten)]
    attributes: BTreeMap<String, Value>,
}

impl Bean {
    /// The bean `name` of a daemon (`service`), with the tags that all metrics of YARN carry.
    pub fn new(service: &str, name: &str, attributes: Vec<(String, Value)>) -> Self {
        let tags = [
            ("tag.Context".to_owned(), "yarn".into()),
            ("tag.Hostname".to_owned(), HOSTNAME.as_str().into()),
        ];
        Self {
            name: format!("Hadoop:service={service},name={name}"),
            modeler_type: name.to_owned(),
            attributes: attributes.into_iter().chain(tags).collect(),
        }
    }
}

#[derive(Serialize)]
struct Beans {
    beans: Vec<Bean>,
}

/// Parameters of `/jmx`.
#[derive(Deserialize)]
pub struct JmxQuery {
    /// Pattern of names.
    qry: Option<String>,
    /// `bean::attribute`.
    get: Option<String>,
}

/// What of `beans` the query asks for.
pub fn answer(mut beans: Vec<Bean>, query: &JmxQuery) -> HttpResponse {
    let mut status = StatusCode::OK;
    if let Some(get) = &query.get {
        let Some((name, attribute)) = get.split_once("::").filter(|(_, a)| !a.contains("::"))
        else {
            // Hadoop sets 400 on a response that is under way already: 200 arrives.
            return json(StatusCode::OK, &error("query format is not as expected."));
        };
        beans.retain(|bean| matches(name, &bean.name));
        for bean in &mut beans {
            bean.attributes.retain(|key, _| key == attribute);
            if bean.attributes.is_empty() {
                let text = format!("No attribute with name {attribute} was found.");
                bean.attributes = error(&text);
                status = StatusCode::NOT_FOUND;
            }
        }
    } else if let Some(pattern) = &query.qry {
        beans.retain(|bean| matches(pattern, &bean.name));
    }
    json(status, &Beans { beans })
}

fn error(message: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("result".to_owned(), "ERROR".into()),
        ("message".to_owned(), message.into()),
    ])
}

fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    match serde_json::to_string_pretty(body) {
        Ok(text) => HttpResponse::build(status)
            .content_type("application/json; charset=utf8")
            .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
            .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET"))
            .body(text),
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

/// Whether `name` is one of those that the `ObjectName` `pattern` means.
fn matches(pattern: &str, name: &str) -> bool {
    let (Some((domains, keys)), Some((domain, properties))) =
        (pattern.split_once(':'), name.split_once(':'))
    else {
        return false;
    };
    let properties: Vec<&str> = properties.split(',').collect();
    let wanted: Vec<&str> = keys.split(',').filter(|key| *key != "*").collect();
    let open = keys.split(',').any(|key| key == "*");
    wildcard(domains, domain)
        && (open || wanted.len() == properties.len())
        && wanted
            .iter()
            .all(|want| properties.iter().any(|property| wildcard(want, property)))
}

/// `*` stands for any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        // The earliest place leaves most for the rest.
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
#[path = "jmx_test.rs"]
mod tests;
