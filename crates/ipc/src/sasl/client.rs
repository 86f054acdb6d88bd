//! The client's side of a negotiation with a token.
//! May touch: SASL messages, the token.
//! Must not: go on with a server that cannot prove to know the token's password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;
use yarn_proto::common::RpcSaslProto;
use yarn_proto::common::rpc_sasl_proto::{SaslAuth, SaslState};

use super::digest::{Digest, Directives};
use super::{MECHANISM, METHOD_TOKEN};
use crate::token::Token;

/// What to do after a server's message.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientStep {
    /// Send this and read on.
    Send(RpcSaslProto),
    /// Both sides have proved the password; the context follows.
    Done,
}

/// One connection's negotiation.
pub struct ClientSasl {
    token: Token,
    cnonce: String,
    rspauth: Option<String>,
}

impl ClientSasl {
    /// `cnonce` must be fresh random text of base64 characters.
    pub const fn new(token: Token, cnonce: String) -> Self {
        Self {
            token,
            cnonce,
            rspauth: None,
        }
    }

    /// The first message.
    pub fn start() -> RpcSaslProto {
        RpcSaslProto {
            state: SaslState::Negotiate.into(),
            ..RpcSaslProto::default()
        }
    }

    /// Takes the server's next message; an error is a sentence about what the server did wrong.
    pub fn on_message(&mut self, message: &RpcSaslProto) -> Result<ClientStep, String> {
        match (SaslState::try_from(message.state), &self.rspauth) {
            (Ok(SaslState::Negotiate), None) => self.initiate(message),
            (Ok(SaslState::Challenge), None) => {
                let token =
                    Some(self.respond(message.token.as_deref().unwrap_or_default(), "/default")?);
                Ok(ClientStep::Send(RpcSaslProto {
                    state: SaslState::Response.into(),
                    token,
                    ..RpcSaslProto::default()
                }))
            }
            (Ok(SaslState::Success), Some(expected)) => {
                let directives = Directives::parse(message.token.as_deref().unwrap_or_default());
                let directives =
                    directives.map_err(|e| format!("bad SASL success message: {e}"))?;
                let sent = directives.get("rspauth").ok_or("server sent no rspauth")?;
                if bool::from(sent.as_bytes().ct_eq(expected.as_bytes())) {
                    Ok(ClientStep::Done)
                } else {
                    Err("server does not know the token's password: rspauth differs".into())
                }
            }
            (Ok(SaslState::Success), None) => {
                Err("server asks for no token, want authentication by TOKEN".into())
            }
            (state, _) => Err(format!("unexpected SASL state {state:?} from server")),
        }
    }

    fn initiate(&mut self, message: &RpcSaslProto) -> Result<ClientStep, String> {
        let chosen = message
            .auths
            .iter()
            .find(|auth| auth.method == METHOD_TOKEN && auth.mechanism == MECHANISM);
        let Some(auth) = chosen else {
            let methods: Vec<&str> = message
                .auths
                .iter()
                .map(|auth| auth.method.as_str())
                .collect();
            return Err(format!(
                "client cannot authenticate via: [{}], want TOKEN",
                methods.join(", ")
            ));
        };
        let token = match auth.challenge.as_deref() {
            Some(challenge) => {
                let uri = format!("{}/{}", auth.protocol(), auth.server_id());
                self.respond(challenge, &uri)?
            }
            None => Vec::new(),
        };
        let auths = vec![SaslAuth {
            challenge: None,
            ..auth.clone()
        }];
        Ok(ClientStep::Send(RpcSaslProto {
            state: SaslState::Initiate.into(),
            token: Some(token),
            auths,
            ..RpcSaslProto::default()
        }))
    }

    fn respond(&mut self, challenge: &[u8], digest_uri: &str) -> Result<Vec<u8>, String> {
        let directives =
            Directives::parse(challenge).map_err(|e| format!("bad DIGEST-MD5 challenge: {e}"))?;
        let nonce = directives
            .get("nonce")
            .ok_or("DIGEST-MD5 challenge has no nonce")?;
        let realm = directives.get("realm").unwrap_or_default();
        let qops = directives.get("qop").unwrap_or("auth");
        if !qops.split(',').any(|qop| qop.trim() == "auth") {
            return Err(format!(
                "server offers qop {qops}, want auth (hadoop.rpc.protection authentication)"
            ));
        }
        if [nonce, realm]
            .iter()
            .any(|value| value.contains(['"', '\\']))
        {
            return Err("DIGEST-MD5 challenge has a quote in nonce or realm".into());
        }
        let (username, password) = (
            STANDARD.encode(&self.token.identifier),
            STANDARD.encode(&self.token.password),
        );
        let (cnonce, nc) = (&self.cnonce, "00000001");
        let digest = Digest {
            username: &username,
            realm,
            password: &password,
            nonce,
            cnonce,
            nc,
            digest_uri,
        };
        self.rspauth = Some(digest.rspauth());
        let response = digest.response();
        Ok(format!(
            "charset=utf-8,username=\"{username}\",realm=\"{realm}\",nonce=\"{nonce}\",nc={nc},cnonce=\"{cnonce}\",\
             digest-uri=\"{digest_uri}\",maxbuf=65536,response={response},qop=auth"
        )
        .into_bytes())
    }
}
