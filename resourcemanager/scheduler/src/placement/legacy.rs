//! `queue-mappings` and `queue-placement-rules.app-name`
//! (`CapacitySchedulerConfiguration.parseLegacyMappingRules`).
//! May touch: text.
//! Must not: know the queue tree.

use super::{APP_NAME_MAPPINGS, Action, Fallback, Matcher, Problem, QUEUE_MAPPINGS, Rule};

/// Both lists, those of users and groups first.
pub(super) fn parse(mappings: &str, by_name: &str) -> Result<Vec<Rule>, Problem> {
    let mut rules = Vec::new();
    for mapping in list(mappings) {
        let illegal = |message| Problem {
            key: QUEUE_MAPPINGS,
            message,
        };
        rules.push(user_or_group(mapping).map_err(illegal)?);
    }
    for mapping in list(by_name) {
        let [name, queue] = parts(mapping)[..] else {
            return Err(Problem {
                key: APP_NAME_MAPPINGS,
                message: format!("Illegal queue mapping {mapping}"),
            });
        };
        rules.push(place(Matcher::Application(name.to_owned()), queue));
    }
    Ok(rules)
}

/// One `u:…:…` or `g:…:…`.
pub(super) fn user_or_group(mapping: &str) -> Result<Rule, String> {
    let [prefix, source, queue] = parts(mapping)[..] else {
        return Err(format!("Illegal queue mapping {mapping}"));
    };
    let matcher = match (prefix, source) {
        ("u", "%user") => Matcher::All,
        ("u", _) => Matcher::User(source.to_owned()),
        ("g", _) => Matcher::Group(source.to_owned()),
        _ => return Err(format!("unknown mapping prefix {prefix}")),
    };
    Ok(place(matcher, queue))
}

fn place(matcher: Matcher, queue: &str) -> Rule {
    Rule {
        matcher,
        action: Action::Place {
            queue: queue.to_owned(),
            create: true,
        },
        fallback: Fallback::PlaceDefault,
    }
}

/// Comma list, trimmed, each entry once.
fn list(value: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    for entry in value.split(',').map(str::trim) {
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

fn parts(mapping: &str) -> Vec<&str> {
    let trimmed = mapping.split(':').map(str::trim);
    trimmed.filter(|part| !part.is_empty()).collect()
}
