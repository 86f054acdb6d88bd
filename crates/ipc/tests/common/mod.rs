//! A served port for the loopback tests.
//! May touch: sockets on ports from the OS.
//! Must not: assert anything.
#![allow(dead_code)] // each test binary uses its part

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hadoop_ipc::client::{Auth, CallError, Client, ClientOptions};
use hadoop_ipc::server::{
    AuthPolicy, Call, Caller, InvalidToken, RemoteException, Replier, Secret, Secrets, Server,
    ServerOptions, Service,
};
use hadoop_ipc::token::{Identifier, MasterKey, Token, mint, parse};
use tokio::sync::mpsc;
use yarn_proto::common::GetDelegationTokenRequestProto;
use yarn_proto::yarn::{AmrmTokenIdentifierProto, ApplicationAttemptIdProto, ApplicationIdProto};

pub const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";

/// Any message with one text field.
pub type Text = GetDelegationTokenRequestProto;

pub fn text(renewer: impl Into<String>) -> Text {
    Text {
        renewer: renewer.into(),
    }
}

pub fn key() -> MasterKey {
    MasterKey {
        id: 7,
        bytes: b"01234567".to_vec(),
    }
}

pub fn token(key: &MasterKey) -> Token {
    let application_id = Some(ApplicationIdProto {
        id: Some(2),
        cluster_timestamp: Some(1_796_070_485_750),
    });
    let app_attempt_id = Some(ApplicationAttemptIdProto {
        application_id,
        attempt_id: Some(1),
    });
    mint(
        key,
        &AmrmTokenIdentifierProto {
            app_attempt_id,
            key_id: Some(key.id),
        },
        "",
    )
}

pub struct Amrm;

impl Secrets for Amrm {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        let read: AmrmTokenIdentifierProto =
            parse(identifier).map_err(|e| InvalidToken(e.to_string()))?;
        if read.key_id() != key().id {
            return Err(InvalidToken(format!("no such key {}", read.key_id())));
        }
        Ok(Secret {
            password: key().password(identifier).to_vec(),
            user: read.user(),
        })
    }

    fn kind(&self) -> &'static str {
        AmrmTokenIdentifierProto::KIND
    }
}

/// Answers `whoami` and `echo`, hands `hold` to the test, drops `drop`.
pub struct TestService {
    held: mpsc::UnboundedSender<(String, Replier)>,
    pub open: Mutex<(usize, usize)>,
}

impl Service for TestService {
    fn call(&self, caller: &Arc<Caller>, call: Call, reply: Replier) {
        match call.method.as_str() {
            "whoami" => reply.ok(&text(format!(
                "{} {:?} {}",
                caller.user,
                caller.identifier.as_ref().map(Vec::len),
                caller.token
            ))),
            "echo" => match call.decode::<Text>() {
                Ok(message) => reply.ok(&message),
                Err(e) => reply.err(e),
            },
            "hold" => {
                let mut open = self.open.lock().unwrap();
                open.0 += 1;
                open.1 = open.1.max(open.0);
                self.held
                    .send((call.decode::<Text>().unwrap().renewer, reply))
                    .unwrap();
            }
            "large" => reply.ok(&text("x".repeat(1 << 20))),
            "drop" => drop(reply),
            "fail" => reply.err(RemoteException::yarn(
                "ApplicationNotFoundException",
                "no app",
            )),
            other => reply.err(RemoteException::no_such_method(&call.protocol, other)),
        }
    }

    fn protocols(&self) -> &[(&'static str, u64)] {
        &[(PROTOCOL, 1)]
    }
}

pub struct Fixture {
    pub server: Server,
    pub addr: SocketAddr,
    pub held: mpsc::UnboundedReceiver<(String, Replier)>,
    pub service: Arc<TestService>,
}

pub fn serve_with(auth: AuthPolicy, change: impl FnOnce(&mut ServerOptions)) -> Fixture {
    let (sender, held) = mpsc::unbounded_channel();
    let service = Arc::new(TestService {
        held: sender,
        open: Mutex::default(),
    });
    let mut options = ServerOptions::new(([127, 0, 0, 1], 0).into(), auth);
    change(&mut options);
    let server = Server::bind(options, Arc::clone(&service) as Arc<dyn Service>).unwrap();
    Fixture {
        addr: server.local_addr(),
        server,
        held,
        service,
    }
}

pub fn serve(auth: AuthPolicy) -> Fixture {
    serve_with(auth, |_| {})
}

pub fn tokens_only() -> AuthPolicy {
    AuthPolicy::TokenOnly(Arc::new(Amrm))
}

pub fn tokens_and_simple() -> AuthPolicy {
    AuthPolicy::TokenAndSimple(Arc::new(Amrm))
}

pub async fn connect(addr: SocketAddr, auth: Auth) -> Result<Client, CallError> {
    Client::connect(addr, PROTOCOL, auth, ClientOptions::default()).await
}

pub fn alice() -> Auth {
    Auth::Simple {
        user: "alice".into(),
    }
}

pub async fn ask(client: &Client, method: &str, message: &str) -> Result<String, CallError> {
    client
        .call::<Text, Text>(method, &text(message))
        .await
        .map(|answer| answer.renewer)
}

pub fn remote(e: CallError) -> (String, String, bool) {
    match e {
        CallError::Remote {
            class,
            message,
            fatal,
        } => (class, message, fatal),
        other => panic!("{other:?}"),
    }
}
