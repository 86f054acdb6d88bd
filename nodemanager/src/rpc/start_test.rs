//! Tests: what is taken from a launch context.
//! May touch: the module under test.
//! Must not: open sockets.

use hadoop_ipc::token::Token;
use yarn_proto::yarn::{StringLocalResourceMapProto, UrlProto};

use super::*;

#[test]
fn what_lies_behind_the_credentials_is_dropped() {
    let mut credentials = Credentials::default();
    let (identifier, password) = (vec![1], vec![2]);
    credentials.add(Token {
        identifier,
        password,
        kind: "k".to_owned(),
        service: String::new(),
    });
    let clean = credentials.to_bytes();
    let mut tokens = clean.clone();
    tokens.extend([7; 48]);
    let context = ContainerLaunchContextProto {
        tokens: Some(tokens),
        ..Default::default()
    };
    assert_eq!(
        launch("alice".to_owned(), Resource::new(1, 1), context)
            .unwrap()
            .tokens,
        clean
    );
}

#[test]
fn broken_credentials_and_names_are_refused() {
    let tokens = Some(b"HDTX".to_vec());
    let context = ContainerLaunchContextProto {
        tokens,
        ..Default::default()
    };
    let text = launch("alice".to_owned(), Resource::new(1, 1), context).unwrap_err();
    assert!(text.contains("credentials"), "{text}");
    let text = launch(
        "../x".to_owned(),
        Resource::new(1, 1),
        ContainerLaunchContextProto::default(),
    )
    .unwrap_err();
    assert!(text.contains("user"), "{text}");
}

#[test]
fn an_incomplete_resource_is_refused_in_hadoops_words() {
    let entry = |value| StringLocalResourceMapProto {
        key: Some("a".to_owned()),
        value,
    };
    let mut resource = LocalResourceProto::default();
    let refusal = |r: &LocalResourceProto| {
        let local_resources = vec![entry(Some(r.clone()))];
        let context = ContainerLaunchContextProto {
            local_resources,
            ..Default::default()
        };
        launch("alice".to_owned(), Resource::new(1, 1), context).map(|l| l.resources.len())
    };
    assert_eq!(
        refusal(&resource).unwrap_err(),
        "Null resource type for local resource a"
    );
    resource.r#type = Some(LocalResourceTypeProto::File as i32);
    assert_eq!(
        refusal(&resource).unwrap_err(),
        "Null resource visibility for local resource a"
    );
    resource.visibility = Some(LocalResourceVisibilityProto::Private as i32);
    assert_eq!(
        refusal(&resource).unwrap_err(),
        "Null resource URL for local resource a"
    );
    resource.resource = Some(UrlProto::default());
    assert_eq!(refusal(&resource), Ok(1));
}
