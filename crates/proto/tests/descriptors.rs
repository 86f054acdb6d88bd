//! Our `.proto` files against the descriptors of Hadoop 3.5.0: every message, field, enum value and method.
//! May touch: `proto/` and `tests/data/` of this crate.
//! Must not: need Hadoop, Java or protoc.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};
use serde_json::Value;

/// One line a fact: what is described, and how.
type Facts = BTreeMap<String, String>;

/// Numbers from here up are ours; stock daemons skip them.
const EXTENSION_FIELDS_FROM: i32 = 20_001;

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn proto_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            proto_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "proto") {
            found.push(path);
        }
    }
}

fn ours() -> FileDescriptorSet {
    let root = crate_dir().join("proto");
    let mut files = Vec::new();
    proto_files(&root, &mut files);
    protox::compile(files, [root]).unwrap()
}

fn recorded() -> BTreeMap<String, Value> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(crate_dir().join("tests/data").join(name)).unwrap();
        serde_json::from_str::<BTreeMap<String, Value>>(&text).unwrap()
    };
    let mut files = read("hadoop-3.5.0.json");
    files.extend(read("hadoop-server.json"));
    files
}

/// Our ResourceTracker files have a package of their own, because `NORMAL` would stand twice in Hadoop's;
/// packages do not travel.
fn hadoop_name(name: &str) -> String {
    let name = name.trim_start_matches('.');
    match name.strip_prefix("hadoop.yarn.server.") {
        Some(rest) => format!("hadoop.yarn.{rest}"),
        None => name.to_owned(),
    }
}

fn facts_of_ours(set: &FileDescriptorSet) -> Facts {
    let mut facts = Facts::new();
    for file in &set.file {
        let package = hadoop_name(&format!("{}.", file.package()));
        let package = package.trim_end_matches('.');
        for message in &file.message_type {
            add_message(&mut facts, package, message);
        }
        for kind in &file.enum_type {
            add_enum(&mut facts, package, kind);
        }
        add_services(&mut facts, package, file);
    }
    facts
}

fn add_services(facts: &mut Facts, package: &str, file: &FileDescriptorProto) {
    for service in &file.service {
        for method in &service.method {
            let fact = method_fact(
                &hadoop_name(method.input_type()),
                &hadoop_name(method.output_type()),
            );
            facts.insert(
                format!("rpc {package}.{}.{}", service.name(), method.name()),
                fact,
            );
        }
    }
}

fn add_message(facts: &mut Facts, parent: &str, message: &DescriptorProto) {
    let name = format!("{parent}.{}", message.name());
    if message.name().starts_with("Heddle") {
        return; // messages of our own, carried by extension fields
    }
    let hadoops = || {
        message
            .field
            .iter()
            .filter(|f| f.number() < EXTENSION_FIELDS_FROM)
    };
    facts.insert(
        format!("message {name}"),
        format!("{} fields", hadoops().count()),
    );
    for field in hadoops() {
        let (key, fact) = our_field(&name, field);
        facts.insert(key, fact);
    }
    for nested in &message.nested_type {
        add_message(facts, &name, nested);
    }
    for kind in &message.enum_type {
        add_enum(facts, &name, kind);
    }
}

fn add_enum(facts: &mut Facts, parent: &str, kind: &EnumDescriptorProto) {
    let name = format!("{parent}.{}", kind.name());
    facts.insert(
        format!("enum {name}"),
        format!("{} values", kind.value.len()),
    );
    for value in &kind.value {
        facts.insert(
            format!("value {name}.{}", value.name()),
            value.number().to_string(),
        );
    }
}

fn our_field(message: &str, field: &FieldDescriptorProto) -> (String, String) {
    let label = match field.label() {
        Label::Optional => "optional",
        Label::Required => "required",
        Label::Repeated => "repeated",
    };
    let kind = match field.r#type() {
        Type::Bool => "bool",
        Type::Bytes => "bytes",
        Type::Double => "double",
        Type::Enum => "enum",
        Type::Fixed32 => "fixed32",
        Type::Fixed64 => "fixed64",
        Type::Float => "float",
        Type::Group => "group",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Message => "message",
        Type::Sfixed32 => "sfixed32",
        Type::Sfixed64 => "sfixed64",
        Type::Sint32 => "sint32",
        Type::Sint64 => "sint64",
        Type::String => "string",
        Type::Uint32 => "uint32",
        Type::Uint64 => "uint64",
    };
    let packed = field
        .options
        .as_ref()
        .is_some_and(prost_types::FieldOptions::packed);
    let type_name = hadoop_name(field.type_name());
    let fact = field_fact(
        label,
        kind,
        &type_name,
        field.default_value.as_deref(),
        packed,
    );
    (
        field_key(message, i64::from(field.number()), field.name()),
        fact,
    )
}

fn field_key(message: &str, number: i64, name: &str) -> String {
    format!("field {message} {number} {name}")
}

fn field_fact(
    label: &str,
    kind: &str,
    type_name: &str,
    default: Option<&str>,
    packed: bool,
) -> String {
    format!("{label} {kind} {type_name} default {default:?} packed {packed}")
}

fn method_fact(input: &str, output: &str) -> String {
    format!("({input}) returns ({output})")
}

fn facts_of_recorded(files: &BTreeMap<String, Value>) -> Facts {
    let mut facts = Facts::new();
    for file in files.values() {
        for (name, fields) in file["messages"].as_object().unwrap() {
            let fields = fields.as_array().unwrap();
            facts.insert(
                format!("message {name}"),
                format!("{} fields", fields.len()),
            );
            facts.extend(fields.iter().map(|field| recorded_field(name, field)));
        }
        for (name, values) in file["enums"].as_object().unwrap() {
            let values = values.as_object().unwrap();
            facts.insert(format!("enum {name}"), format!("{} values", values.len()));
            facts.extend(
                values
                    .iter()
                    .map(|(value, number)| (format!("value {name}.{value}"), number.to_string())),
            );
        }
        for (name, methods) in file["services"].as_object().unwrap() {
            facts.extend(methods.as_object().unwrap().iter().map(|(method, types)| {
                let of = |key: &str| types[key].as_str().unwrap();
                (
                    format!("rpc {name}.{method}"),
                    method_fact(of("input"), of("output")),
                )
            }));
        }
    }
    facts
}

fn recorded_field(message: &str, field: &Value) -> (String, String) {
    let of = |key: &str| field[key].as_str().unwrap();
    let default = match &field["default"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let packed = field["packed"].as_bool().unwrap_or(false);
    let type_name = field["typeName"].as_str().unwrap_or_default();
    let fact = field_fact(
        of("label"),
        of("type"),
        type_name,
        default.as_deref(),
        packed,
    );
    (
        field_key(message, field["number"].as_i64().unwrap(), of("name")),
        fact,
    )
}

/// One line a difference.
fn differences(ours: &Facts, recorded: &Facts) -> Vec<String> {
    let changed = ours
        .iter()
        .filter_map(|(key, fact)| match recorded.get(key) {
            Some(other) if other == fact => None,
            Some(other) => Some(format!("{key}: ours {fact}, Hadoop's {other}")),
            None => Some(format!("{key}: ours {fact}, not in Hadoop")),
        });
    let missing = recorded.iter().filter(|(key, _)| !ours.contains_key(*key));
    changed
        .chain(missing.map(|(key, fact)| format!("{key}: Hadoop's {fact}, not in ours")))
        .collect()
}

#[test]
fn every_descriptor_is_hadoops() {
    let (ours, recorded) = (facts_of_ours(&ours()), facts_of_recorded(&recorded()));
    assert!(
        recorded.len() > 1_400,
        "only {} facts recorded",
        recorded.len()
    );
    let differences = differences(&ours, &recorded);
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn every_file_is_one_of_hadoops() {
    let ours: Vec<String> = ours()
        .file
        .iter()
        .map(|file| file.name().to_owned())
        .filter(|name| name != "heddle_gpu.proto")
        .collect();
    let recorded: Vec<String> = recorded().into_keys().collect();
    let mut sorted = ours.clone();
    sorted.sort();
    assert_eq!(sorted, recorded);
}

#[test]
fn each_kind_of_slip_is_found() {
    let recorded = facts_of_recorded(&recorded());
    let slip = |change: fn(&mut DescriptorProto)| {
        let mut set = ours();
        let messages = set.file.iter_mut().flat_map(|file| &mut file.message_type);
        change(
            messages
                .into_iter()
                .find(|m| m.name() == "ContainerTokenIdentifierProto")
                .unwrap(),
        );
        differences(&facts_of_ours(&set), &recorded).len()
    };
    assert_eq!(slip(|_| {}), 0);
    assert_eq!(
        slip(|m| m.field[0].number = Some(99)),
        2,
        "a number: one fact too many, one missing"
    );
    assert_eq!(slip(|m| m.field[0].name = Some("id".into())), 2, "a name");
    assert_eq!(
        slip(|m| m.field[0].label = Some(Label::Required.into())),
        1,
        "a label"
    );
    assert_eq!(
        slip(|m| m.field[4].r#type = Some(Type::Sint64.into())),
        1,
        "a type"
    );
    assert_eq!(slip(|m| m.field[5].default_value = None), 1, "a default");
    assert_eq!(
        slip(|m| m.field.truncate(15)),
        2,
        "a missing field and the count"
    );
}
