//! Tests of the environment.
//! May touch: nothing outside memory.
//! Must not: read the process environment.

use super::*;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn node() -> NodeFacts {
    NodeFacts {
        nm_host: "n1".into(),
        nm_port: 1,
        nm_http_port: 2,
        home_dir: "/home/".into(),
        whitelist: vec!["JAVA_HOME".into(), "PATH".into(), "LANG".into()],
        admin_env: "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX".into(),
        force_path: String::new(),
        nm_env: map(&[("JAVA_HOME", "/j"), ("PATH", "/bin"), ("SECRET", "s")]),
    }
}

fn position(env: &Environment, name: &str) -> usize {
    env.rest.iter().position(|(k, _)| k == name).unwrap()
}

#[test]
fn only_whitelisted_variables_of_the_nodemanager_get_through() {
    let env = environment(
        &node(),
        &ContainerFacts::default(),
        &map(&[("PATH", "/own")]),
    );
    assert_eq!(env.whitelisted, [("JAVA_HOME".to_owned(), "/j".to_owned())]);
    let all = env.nm.iter().chain(&env.rest).chain(&env.whitelisted);
    assert!(all.clone().all(|(k, _)| k != "SECRET" && k != "LANG"));
    assert!(env.rest.contains(&("PATH".to_owned(), "/own".to_owned())));
}

#[test]
fn nodemanager_variables_override_the_applications() {
    let facts = ContainerFacts {
        user: "alice".into(),
        work_dir: "/w".into(),
        ..Default::default()
    };
    let env = environment(&node(), &facts, &map(&[("USER", "root"), ("PWD", "/etc")]));
    assert!(env.nm.contains(&("USER".to_owned(), "alice".to_owned())));
    assert!(env.nm.contains(&("PWD".to_owned(), "/w".to_owned())));
    assert!(env.rest.iter().all(|(k, _)| k != "USER" && k != "PWD"));
}

#[test]
fn malloc_arena_max_is_the_nodemanagers_or_four_and_appends_to_the_applications() {
    let arena = |node: &NodeFacts, own: &[(&str, &str)]| {
        let env = environment(node, &ContainerFacts::default(), &map(own));
        env.rest[position(&env, "MALLOC_ARENA_MAX")].1.clone()
    };
    assert_eq!(arena(&node(), &[]), "4");
    let mut set = node();
    set.nm_env.insert("MALLOC_ARENA_MAX".into(), "8".into());
    assert_eq!(arena(&set, &[]), "8");
    assert_eq!(arena(&set, &[("MALLOC_ARENA_MAX", "2")]), "2:2");
}

#[test]
fn a_variable_comes_after_those_it_refers_to() {
    let facts = ContainerFacts {
        log_dir: "/l".into(),
        ..Default::default()
    };
    let own = map(&[
        ("A", "{{Z}}<CPS>$M"),
        ("M", "${Z}"),
        ("Z", "<LOG_DIR>"),
        ("B", "$B2"),
        ("B2", "$B"),
    ]);
    let env = environment(&node(), &facts, &own);
    assert!(position(&env, "Z") < position(&env, "M"));
    assert!(position(&env, "M") < position(&env, "A"));
    assert_eq!(env.rest[position(&env, "A")].1, "$Z:$M");
    assert_eq!(env.rest[position(&env, "Z")].1, "/l");
    assert!(env.rest.iter().any(|(k, _)| k == "B") && env.rest.iter().any(|(k, _)| k == "B2"));
}

#[test]
fn dependencies_follow_bash_quoting() {
    for (value, expected) in [
        ("", vec![]),
        ("A", vec![]),
        ("$A", vec!["A"]),
        ("${A}:$B_1", vec!["A", "B_1"]),
        ("${C:-$D}", vec!["C", "D"]),
        ("${#A[@]}", vec!["A"]),
        (r"\$A \\$B", vec!["B"]),
        ("'$A'", vec!["A"]),
        ("\"'$A'\"", vec![]),
        ("$$A", vec!["A"]),
        ("$1 $", vec![]),
        ("é$é", vec!["é"]),
    ] {
        assert_eq!(dependencies(value), expected, "{value:?}");
    }
}
