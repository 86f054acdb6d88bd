//! `mapping-rule-json` (`MappingRuleCreator`).
//! May touch: text.
//! Must not: know the queue tree.

use serde_json::{Map, Value};

use super::{Action, Fallback, Matcher, Rule};

/// Longest text that is read, in bytes.
const JSON_BYTES_MAX: usize = 1 << 20;

/// The rules of `{"rules": […]}`; other members are ignored, as by Hadoop.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    if text.len() > JSON_BYTES_MAX {
        return Err(format!(
            "mapping rules of {} bytes, at most {JSON_BYTES_MAX} are read",
            text.len()
        ));
    }
    // only the first value counts, as for Jackson
    let first = serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .next();
    let value = match first {
        None => return Err("No content to map due to end-of-input".to_owned()),
        Some(value) => value.map_err(|e| format!("mapping rules are not JSON: {e}"))?,
    };
    let Value::Object(members) = value else {
        return Err("mapping rules are JSON but not an object {\"rules\": […]}".to_owned());
    };
    match members.get("rules") {
        None => Ok(Vec::new()),
        Some(Value::Array(rules)) => rules.iter().map(rule).collect(),
        Some(_) => Err("member rules is not a list".to_owned()),
    }
}

fn rule(value: &Value) -> Result<Rule, String> {
    let Value::Object(members) = value else {
        return Err(format!("rule {value} is not an object"));
    };
    let policy = text(members, "policy")?.ok_or("Rule policy is undefined")?;
    let kind = text(members, "type")?.ok_or("Rule type is undefined")?;
    let matches = text(members, "matches")?.ok_or("Match string is undefined")?;
    if matches.is_empty() {
        return Err("Match string is empty".to_owned());
    }
    let matcher = match (kind.as_str(), matches.as_str()) {
        ("user", "*") => Matcher::All,
        ("user", _) => Matcher::User(matches),
        ("group", "*") => return Err("Cannot match '*' for groups".to_owned()),
        ("group", _) => Matcher::Group(matches),
        ("application", _) => Matcher::Application(matches),
        _ => {
            return Err(format!(
                "type {kind} is not one of user, group, application"
            ));
        }
    };
    Ok(Rule {
        matcher,
        action: action(members, &policy)?,
        fallback: fallback(members)?,
    })
}

fn action(members: &Map<String, Value>, policy: &str) -> Result<Action, String> {
    let create = flag(members, "create")?.unwrap_or(true);
    let parent = text(members, "parentQueue")?;
    let place = |queue: String, create| Action::Place { queue, create };
    let below = |name: &str| {
        let queue = parent
            .as_ref()
            .map_or_else(|| name.to_owned(), |parent| format!("{parent}.{name}"));
        place(queue, create)
    };
    Ok(match policy {
        "specified" => place("%specified".to_owned(), create),
        "reject" => Action::Reject,
        "defaultQueue" => place("%default".to_owned(), false),
        "user" => below("%user"),
        "primaryGroup" => below("%primary_group"),
        "secondaryGroup" => below("%secondary_group"),
        "primaryGroupUser" => below("%primary_group.%user"),
        "secondaryGroupUser" => below("%secondary_group.%user"),
        "applicationName" => below("%application"),
        "setDefaultQueue" => Action::Set {
            variable: "%default".to_owned(),
            value: text(members, "value")?.ok_or("default queue is undefined")?,
        },
        "custom" => {
            let queue = text(members, "customPlacement")?.ok_or("custom queue is undefined")?;
            place(queue, create)
        }
        _ => {
            return Err(format!(
                "policy {policy} is not one of specified, reject, defaultQueue, user, \
                 primaryGroup, secondaryGroup, primaryGroupUser, secondaryGroupUser, \
                 applicationName, setDefaultQueue, custom"
            ));
        }
    })
}

fn fallback(members: &Map<String, Value>) -> Result<Fallback, String> {
    match text(members, "fallbackResult")?.as_deref() {
        None | Some("skip") => Ok(Fallback::Skip),
        Some("placeDefault") => Ok(Fallback::PlaceDefault),
        Some("reject") => Ok(Fallback::Reject),
        Some(other) => Err(format!(
            "fallbackResult {other} is not one of skip, reject, placeDefault"
        )),
    }
}

/// A member as text; null is as absent, numbers and booleans as they are written.
fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(scalar @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(scalar.to_string())),
        Some(other) => Err(format!("{name} is {other}, not text")),
    }
}

fn flag(members: &Map<String, Value>, name: &str) -> Result<Option<bool>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(on)) => Ok(Some(*on)),
        Some(Value::String(text)) if text == "true" => Ok(Some(true)),
        Some(Value::String(text)) if text == "false" => Ok(Some(false)),
        Some(other) => Err(format!("{name} is {other}, not true or false")),
    }
}
