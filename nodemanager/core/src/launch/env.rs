//! A container's environment: NodeManager variables, admin variables and the application's own.
//! May touch: the values it is given.
//! Must not: read the process environment.

use std::collections::{BTreeMap, BTreeSet};

use super::expand;

/// What is the same for every container of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Host of the NodeId; Spark passes it on as the executor's name.
    pub nm_host: String,
    /// Port of the NodeId.
    pub nm_port: u16,
    /// Port of the web server.
    pub nm_http_port: u16,
    /// `yarn.nodemanager.user-home-dir`, default `/home/`.
    pub home_dir: String,
    /// `yarn.nodemanager.env-whitelist`, in its order.
    pub whitelist: Vec<String>,
    /// `yarn.nodemanager.admin-env`, e.g. `MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX`.
    pub admin_env: String,
    /// `yarn.nodemanager.force.path`, empty by default.
    pub force_path: String,
    /// The NodeManager's own environment; only whitelisted and admin variables are taken.
    pub nm_env: BTreeMap<String, String>,
}

/// What differs between containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    /// `container_…`.
    pub container_id: String,
    /// The submitter, whatever account runs the container.
    pub user: String,
    /// The container's directory.
    pub work_dir: String,
    /// The container's log directory on the disk its files go to.
    pub log_dir: String,
    /// Application directories on all usable disks (`LOCAL_DIRS`).
    pub app_dirs: Vec<String>,
    /// `usercache/<user>/` on all usable disks (`LOCAL_USER_DIRS`).
    pub user_dirs: Vec<String>,
    /// The container's log directories on all usable disks (`LOG_DIRS`).
    pub log_dirs: Vec<String>,
    /// `localizationCountersAsString`: bytes and counts of what was fetched and cached.
    pub localization_counters: String,
    /// Aux services' metadata in base64, by service name.
    pub aux_metadata: BTreeMap<String, String>,
    /// Variables about the container's devices; the application cannot set them.
    pub devices: Vec<(String, String)>,
}

/// The three groups of variables, in the order the script exports them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables of the NodeManager that yield to any present value.
    pub whitelisted: Vec<(String, String)>,
    /// Variables fixed by the NodeManager; they override the application's.
    pub nm: Vec<(String, String)>,
    /// The application's and the admin's, each after those it refers to.
    pub rest: Vec<(String, String)>,
}

/// The environment of one container (`ContainerLaunch.sanitizeEnv`).
pub fn environment(
    node: &NodeFacts,
    container: &ContainerFacts,
    requested: &BTreeMap<String, String>,
) -> Environment {
    let fixed = nm_variables(node, container);
    let mut env = requested.clone();
    for (name, value) in &fixed {
        env.insert(name.clone(), value.clone());
    }
    apply_admin_env(&mut env, &node.admin_env, &node.nm_env);
    if !node.force_path.is_empty() {
        let own = env
            .get("PATH")
            .filter(|p| !p.is_empty())
            .map_or("$PATH", String::as_str);
        env.insert("PATH".to_owned(), format!("{}:{own}", node.force_path));
    }
    let present = |name: &String| Some((name.clone(), node.nm_env.get(name)?.clone()));
    let whitelisted = node
        .whitelist
        .iter()
        .filter(|n| !env.contains_key(*n))
        .filter_map(present)
        .collect();
    for value in env.values_mut() {
        *value = expand(value, &container.log_dir);
    }
    let nm_names: BTreeSet<&String> = fixed.iter().map(|(name, _)| name).collect();
    let nm = fixed
        .iter()
        .map(|(name, value)| (name.clone(), env.get(name).unwrap_or(value).clone()))
        .collect();
    let rest = order_by_dependencies(&env)
        .into_iter()
        .filter(|(name, _)| !nm_names.contains(name))
        .collect();
    Environment {
        whitelisted,
        nm,
        rest,
    }
}

/// The NodeManager's variables, in stock's order.
fn nm_variables(node: &NodeFacts, c: &ContainerFacts) -> Vec<(String, String)> {
    let token_file = format!("{}/{}", c.work_dir, super::TOKENS_FILE);
    let pairs = [
        ("HADOOP_TOKEN_FILE_LOCATION", token_file),
        ("CONTAINER_ID", c.container_id.clone()),
        ("NM_PORT", node.nm_port.to_string()),
        ("NM_HOST", node.nm_host.clone()),
        ("NM_HTTP_PORT", node.nm_http_port.to_string()),
        ("LOCAL_DIRS", c.app_dirs.join(",")),
        ("LOCAL_USER_DIRS", c.user_dirs.join(",")),
        ("LOG_DIRS", c.log_dirs.join(",")),
        ("USER", c.user.clone()),
        ("LOGNAME", c.user.clone()),
        ("HOME", node.home_dir.clone()),
        ("PWD", c.work_dir.clone()),
        ("LOCALIZATION_COUNTERS", c.localization_counters.clone()),
        ("JVM_PID", "$$".to_owned()),
    ];
    let mut vars: Vec<(String, String)> = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    vars.extend(c.devices.iter().cloned());
    for (service, data) in &c.aux_metadata {
        vars.push((format!("NM_AUX_SERVICE_{service}"), data.clone()));
    }
    vars
}

/// Adds `K=V,K=V`, where `$NAME` in a value means the container's variable, else the
/// NodeManager's, else nothing (`Apps.setEnvFromInputString`: an existing value is appended to).
fn apply_admin_env(
    env: &mut BTreeMap<String, String>,
    admin_env: &str,
    nm_env: &BTreeMap<String, String>,
) {
    for pair in admin_env.split(',') {
        let Some((name, value)) = pair.trim().split_once('=') else {
            continue;
        };
        if !is_name(name) {
            continue;
        }
        let value = substitute(value, |var| {
            env.get(var)
                .or_else(|| nm_env.get(var))
                .cloned()
                .unwrap_or_else(|| {
                    // Stock's start scripts export MALLOC_ARENA_MAX=4 when the admin has not set it.
                    if var == "MALLOC_ARENA_MAX" {
                        "4".to_owned()
                    } else {
                        String::new()
                    }
                })
        });
        let merged = match env.get(name) {
            Some(old) => format!("{old}:{value}"),
            None => value,
        };
        env.insert(name.to_owned(), merged);
    }
}

/// Whether `name` is `[A-Za-z_][A-Za-z0-9_]*`.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Replaces each `$NAME` in `text`.
fn substitute(text: &str, value_of: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.get(1..).unwrap_or_default();
        let end = after
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        if is_name(name) {
            out.push_str(&value_of(name));
        } else {
            out.push('$');
            out.push_str(name);
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// The variables with each after those its value refers to; a cycle is cut where it is met.
pub fn order_by_dependencies(env: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut ordered = Vec::with_capacity(env.len());
    for name in env.keys() {
        // An explicit stack: a long chain of variables must not exhaust the thread's.
        let mut stack = vec![(name.as_str(), false)];
        while let Some((name, ready)) = stack.pop() {
            let Some(value) = env.get(name) else { continue };
            if ready {
                ordered.push((name.to_owned(), value.clone()));
                continue;
            }
            if !done.insert(name) {
                continue;
            }
            stack.push((name, true));
            for dep in dependencies(value).into_iter().rev() {
                if let Some((dep, _)) = env.get_key_value(dep)
                    && !done.contains(dep.as_str())
                {
                    stack.push((dep.as_str(), false));
                }
            }
        }
    }
    ordered
}

/// Names of the variables that bash would expand in `value` inside double quotes.
pub fn dependencies(value: &str) -> Vec<&str> {
    let bytes = value.as_bytes();
    let mut found = Vec::new();
    let mut in_double_quotes = true; // the script writes every value between double quotes
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        match byte {
            b'"' => in_double_quotes = !in_double_quotes,
            b'\'' if !in_double_quotes => i = end_of_single_quotes(bytes, i + 1),
            b'\\' => i += 1,
            b'$' => {
                let mut start = i + 1;
                if bytes.get(start) == Some(&b'{') {
                    start += 1;
                    if bytes.get(start) == Some(&b'#') {
                        start += 1;
                    }
                }
                let tail = value.get(start..).unwrap_or_default();
                let len = tail
                    .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .unwrap_or(tail.len());
                let name = tail.get(..len).unwrap_or_default();
                if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
                    found.push(name);
                    i = start + len;
                } else {
                    i = start;
                }
                continue; // the byte after the name is still to be looked at
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// Index of the quote that ends a single-quoted part beginning at `i`.
fn end_of_single_quotes(bytes: &[u8], mut i: usize) -> usize {
    while let Some(byte) = bytes.get(i) {
        match byte {
            b'\'' => return i,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    i
}

#[cfg(test)]
#[path = "env_test.rs"]
mod tests;
