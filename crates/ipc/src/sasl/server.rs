//! The server's side of a negotiation.
//! May touch: SASL messages, the port's secrets.
//! Must not: answer INITIATE of SIMPLE (clients drop a connection that does), or accept a nonce it did not give.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;
use yarn_proto::common::RpcSaslProto;
use yarn_proto::common::rpc_response_header_proto::RpcErrorCodeProto;
use yarn_proto::common::rpc_sasl_proto::{SaslAuth, SaslState};

use super::digest::{Digest, Directives};
use super::{
    DIGEST_URI, MECHANISM, METHOD_SIMPLE, METHOD_TOKEN, REALM, SaslFailure, Secret, Secrets,
};

/// What a port offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// No tokens: NEGOTIATE is answered SUCCESS and the client goes on in plain mode.
    Simple,
    /// Tokens first, SIMPLE for clients without one.
    TokenAndSimple,
    /// Tokens only.
    Token,
}

impl Offer {
    /// True if a client may come without SASL.
    pub const fn allows_simple(self) -> bool {
        !matches!(self, Self::Token)
    }

    /// The methods as Java prints the list.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Simple => "[SIMPLE]",
            Self::TokenAndSimple => "[TOKEN, SIMPLE]",
            Self::Token => "[TOKEN]",
        }
    }

    /// Text of the refusal of SIMPLE, as stock words it (two blanks).
    pub fn simple_refused(self) -> SaslFailure {
        self.refused(METHOD_SIMPLE)
    }

    fn refused(self, method: &str) -> SaslFailure {
        SaslFailure::access(format!(
            "{method} authentication is not enabled.  Available:{}",
            self.text()
        ))
    }
}

/// What to do after a client's message.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerStep {
    /// Send this; the negotiation goes on.
    Reply(RpcSaslProto),
    /// The connection is a SIMPLE one from here; send the message if there is one.
    Simple(Option<RpcSaslProto>),
    /// Send this; the client has proved to hold the token.
    Token {
        /// Holds `rspauth`.
        reply: RpcSaslProto,
        /// The identifier bytes as received.
        identifier: Vec<u8>,
        /// User name of the token.
        user: String,
    },
}

/// One connection's negotiation.
#[derive(Debug)]
pub struct ServerSasl {
    offer: Offer,
    nonce: String,
    offered: bool,
    challenged: bool,
    complete: bool,
}

impl ServerSasl {
    /// `nonce` must be fresh random text of base64 characters.
    pub const fn new(offer: Offer, nonce: String) -> Self {
        Self {
            offer,
            nonce,
            offered: false,
            challenged: false,
            complete: false,
        }
    }

    /// Takes the client's next message.
    pub fn on_message(
        &mut self,
        message: &RpcSaslProto,
        secrets: Option<&dyn Secrets>,
    ) -> Result<ServerStep, SaslFailure> {
        if self.complete {
            let code = RpcErrorCodeProto::FatalInvalidRpcHeader;
            return Err(SaslFailure {
                code,
                ..SaslFailure::sasl("Negotiation is already complete")
            });
        }
        match SaslState::try_from(message.state) {
            Ok(SaslState::Negotiate) if self.offered => {
                Err(SaslFailure::access("Client already attempted negotiation"))
            }
            Ok(SaslState::Negotiate) => Ok(self.negotiate()),
            Ok(SaslState::Initiate) => self.initiate(message, secrets),
            Ok(SaslState::Response) if self.challenged => self.digest(message, secrets),
            Ok(SaslState::Response) => Err(SaslFailure::sasl(
                "Client sent a response before it chose a mechanism",
            )),
            Ok(SaslState::Wrap) => {
                let code = RpcErrorCodeProto::FatalInvalidRpcHeader;
                Err(SaslFailure {
                    code,
                    ..SaslFailure::sasl("Server is not wrapping data")
                })
            }
            Ok(state) => Err(SaslFailure::sasl(format!(
                "Client sent unsupported state {}",
                state.as_str_name()
            ))),
            Err(_) => Err(SaslFailure::sasl(format!(
                "Client sent unsupported state {}",
                message.state
            ))),
        }
    }

    fn negotiate(&mut self) -> ServerStep {
        self.offered = true;
        if self.offer == Offer::Simple {
            self.complete = true;
            return ServerStep::Simple(Some(state(SaslState::Success)));
        }
        let mut auths = self.auths();
        if let Some(token) = auths.first_mut() {
            self.challenged = true;
            token.challenge = Some(self.challenge());
        }
        ServerStep::Reply(RpcSaslProto {
            auths,
            ..state(SaslState::Negotiate)
        })
    }

    /// The methods on offer, without the challenge, in the server's order.
    fn auths(&self) -> Vec<SaslAuth> {
        let token = SaslAuth {
            method: METHOD_TOKEN.into(),
            mechanism: MECHANISM.into(),
            protocol: Some(String::new()),
            server_id: Some(REALM.into()),
            challenge: None,
        };
        let simple = SaslAuth {
            method: METHOD_SIMPLE.into(),
            ..SaslAuth::default()
        };
        match self.offer {
            Offer::Simple => vec![simple],
            Offer::TokenAndSimple => vec![token, simple],
            Offer::Token => vec![token],
        }
    }

    fn challenge(&self) -> Vec<u8> {
        let nonce = &self.nonce;
        format!("realm=\"{REALM}\",nonce=\"{nonce}\",qop=\"auth\",charset=utf-8,algorithm=md5-sess")
            .into_bytes()
    }

    fn initiate(
        &mut self,
        message: &RpcSaslProto,
        secrets: Option<&dyn Secrets>,
    ) -> Result<ServerStep, SaslFailure> {
        let [auth] = message.auths.as_slice() else {
            return Err(SaslFailure::sasl("Client mechanism is malformed"));
        };
        if !self.auths().contains(auth) {
            // A client may guess before it asks; a wrong guess is answered with the offer, once.
            return if self.offered {
                Err(self.offer.refused(&auth.method))
            } else {
                Ok(self.negotiate())
            };
        }
        if auth.method == METHOD_SIMPLE {
            self.complete = true;
            return Ok(ServerStep::Simple(None));
        }
        if message.token.as_ref().is_some_and(Vec::is_empty) {
            self.challenged = true;
            return Ok(ServerStep::Reply(RpcSaslProto {
                token: Some(self.challenge()),
                ..state(SaslState::Challenge)
            }));
        }
        self.digest(message, secrets)
    }

    fn digest(
        &mut self,
        message: &RpcSaslProto,
        secrets: Option<&dyn Secrets>,
    ) -> Result<ServerStep, SaslFailure> {
        let Some(bytes) = &message.token else {
            return Err(SaslFailure::sasl("Client did not send a token"));
        };
        let secrets = secrets.ok_or_else(|| self.offer.refused(METHOD_TOKEN))?;
        let directives = Directives::parse(bytes).map_err(|e| {
            SaslFailure::sasl(format!("DIGEST-MD5: digest response format violation. {e}"))
        })?;
        let sent = Sent::read(&directives, &self.nonce)?;
        let identifier = STANDARD
            .decode(sent.username)
            .map_err(|_| SaslFailure::invalid_token("Can't de-serialize tokenIdentifier"))?;
        let Secret { password, user } = secrets
            .lookup(&identifier)
            .map_err(|e| SaslFailure::invalid_token(e.0))?;
        let digest = sent.digest(&STANDARD.encode(password));
        if !bool::from(digest.0.as_bytes().ct_eq(sent.response.as_bytes())) {
            return Err(violation("Mismatched response."));
        }
        self.complete = true;
        let token = Some(format!("rspauth={}", digest.1).into_bytes());
        Ok(ServerStep::Token {
            reply: RpcSaslProto {
                token,
                ..state(SaslState::Success)
            },
            identifier,
            user,
        })
    }
}

/// The directives of a client's response, checked against the challenge.
struct Sent<'a> {
    username: &'a str,
    realm: &'a str,
    nonce: &'a str,
    nc: &'a str,
    cnonce: &'a str,
    digest_uri: &'a str,
    response: &'a str,
}

impl<'a> Sent<'a> {
    fn read(directives: &'a Directives, nonce: &str) -> Result<Self, SaslFailure> {
        let need = |name: &str| {
            directives
                .get(name)
                .ok_or_else(|| violation(&format!("Missing {name}.")))
        };
        let sent = Self {
            username: need("username")?,
            realm: directives.get("realm").unwrap_or_default(),
            nonce: need("nonce")?,
            nc: need("nc")?,
            cnonce: need("cnonce")?,
            digest_uri: need("digest-uri")?,
            response: need("response")?,
        };
        if sent.nonce != nonce {
            return Err(violation("Mismatched nonce."));
        }
        if sent.realm != REALM {
            return Err(violation(&format!("Nonexistent realm: {}", sent.realm)));
        }
        if u32::from_str_radix(sent.nc, 16) != Ok(1) {
            return Err(violation(&format!(
                "Nonce count does not match: {}",
                sent.nc
            )));
        }
        if sent.digest_uri != DIGEST_URI {
            return Err(violation(&format!(
                "Mismatched URI: {}; expecting: {DIGEST_URI}",
                sent.digest_uri
            )));
        }
        match directives.get("qop").unwrap_or("auth") {
            "auth" => Ok(sent),
            other => Err(violation(&format!("Invalid QOP: {other}"))),
        }
    }

    /// `response` and `rspauth` for a password.
    fn digest(&self, password: &str) -> (String, String) {
        let Self {
            username,
            realm,
            nonce,
            nc,
            cnonce,
            digest_uri,
            ..
        } = *self;
        let digest = Digest {
            username,
            realm,
            password,
            nonce,
            cnonce,
            nc,
            digest_uri,
        };
        (digest.response(), digest.rspauth())
    }
}

fn violation(text: &str) -> SaslFailure {
    SaslFailure::sasl(format!(
        "DIGEST-MD5: digest response format violation. {text}"
    ))
}

fn state(state: SaslState) -> RpcSaslProto {
    RpcSaslProto {
        state: state.into(),
        ..RpcSaslProto::default()
    }
}
