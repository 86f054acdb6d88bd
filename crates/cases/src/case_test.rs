//! Case files are read strictly.
//! May touch: `case`.
//! Must not: run cases.

use super::*;

fn scenario(steps: &str) -> String {
    format!(
        "id: a\ngroup: g\nkind: scenario\nruns: [inproc]\nsource: {{class: T, methods: [m]}}\n\
         cluster: {{nodes: [{{name: h, res: 1024}}]}}\nconf: {{a.b: 1.0}}\nsteps:\n{steps}\n"
    )
}

fn error(steps: &str) -> String {
    Case::parse(&scenario(steps)).unwrap_err()
}

#[test]
fn configuration_values_stay_as_they_are_written() {
    let case = Case::parse(&scenario("  - {load: {}}\n  - load:")).unwrap();
    let Body::Scenario(body) = case.body else {
        panic!("a scenario");
    };
    assert_eq!(body.conf["a.b"], "1.0");
    assert_eq!(body.steps.len(), 2);
}

#[test]
fn what_is_not_known_is_named_with_its_line() {
    for (steps, line, text) in [
        ("  - {hearbeat: {node: h}}", 9, "hearbeat"),
        (
            "  - {load: {}}\n  - {heartbeat: {node: h, tims: 1}}",
            10,
            "tims",
        ),
        ("  - {heartbeat: {}}", 9, "node"),
        ("  - {expect: {queues: {root: {usd: 1}}}}", 9, "usd"),
        ("  - {expect: {queues: {root: {used: x}}}}", 9, "used: x"),
        ("  - {expect: {apps: {a: {live: {least: 1}}}}}", 9, "live"),
        ("  - {expect: {que: {}}}", 9, "que"),
        ("  - {submit: {app: a, app: b}}", 9, "app"),
        (
            "  - {resize: {app: a, container: 1, type: GROW, to: 1}}",
            9,
            "GROW",
        ),
    ] {
        let error = error(steps);
        assert!(error.starts_with(&format!("{line}: ")), "{steps}: {error}");
        assert!(error.contains(text), "{steps}: {error}");
    }
}

#[test]
fn a_case_without_steps_asserts_nothing() {
    assert!(
        Case::parse(&scenario("  []"))
            .unwrap_err()
            .contains("asserts nothing")
    );
}
