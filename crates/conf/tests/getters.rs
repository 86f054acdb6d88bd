//! What Hadoop 3.5.0's typed getters made of odd values, and what ours make of them.
//! May touch: tests/data.
//! Must not: take answers from anywhere but a run of Hadoop's classes (`Getters.java` there).

#![allow(clippy::unwrap_used)] // helpers of tests

use yarn_conf::{Configuration, Problem, TimeUnit};

/// A float as Java prints it, as far as the recorded ones go.
fn java(value: f64, shown: &str) -> String {
    match shown.parse::<f64>() {
        Ok(wanted) if wanted.to_bits() == value.to_bits() => shown.to_owned(),
        Ok(wanted) if wanted.is_nan() && value.is_nan() => shown.to_owned(),
        _ => value.to_string(),
    }
}

#[test]
fn typed_getters_answer_as_hadoops() {
    let recorded = include_str!("data/getters/getters-3.5.0.txt");
    let mut wrong = Vec::new();
    for line in recorded.lines() {
        let (value, rest) = line.split_once('\t').unwrap();
        let (getter, wanted) = rest.split_once('\t').unwrap();
        let set = value.replace("\\t", "\t").replace("\\n", "\n");
        let conf = Configuration::of([("k", set.as_str())]);
        let text = |r: Result<String, Problem>| r.unwrap_or_else(|_| "refused".to_owned());
        let got = match getter {
            "int" => text(conf.i32("k", 7).map(|v| v.to_string())),
            "long" => text(conf.i64("k", 7).map(|v| v.to_string())),
            "float" => {
                let shown: f32 = wanted.parse().unwrap_or(0.5);
                match conf.f32("k", 7.0) {
                    Ok(v) if v.to_bits() == shown.to_bits() || v.is_nan() && shown.is_nan() => {
                        wanted.to_owned()
                    }
                    other => text(other.map(|v| format!("{v:?}"))),
                }
            }
            "bool" => {
                let (no, yes) = (conf.bool("k", false), conf.bool("k", true));
                text(no.and_then(|no| Ok(format!("{no}/{}", yes?))))
            }
            "ms" => text(
                conf.duration_ms("k", TimeUnit::Milliseconds, 7)
                    .map(|v| v.to_string()),
            ),
            "s" => text(
                conf.duration_ms("k", TimeUnit::Seconds, 7000)
                    .map(|v| v.to_string()),
            ),
            "bytes" => text(conf.long_bytes("k", 7).map(|v| v.to_string())),
            "storage" => text(conf.storage_size("k", 7.0).map(|v| java(v, wanted))),
            _ => "no such getter".to_owned(),
        };
        if got != wanted {
            wrong.push(format!("{value:?} {getter}: {got}, Hadoop says {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
