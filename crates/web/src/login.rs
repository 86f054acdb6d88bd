//! Who asks: as the cookie says that this server gave, else `user.name` of the query, else the
//! static user (Hadoop's `PseudoAuthenticationHandler` in front of its `StaticUserFilter`).
//! May touch: HTTP requests and answers, the clock, a secret of this process.
//! Must not: prove who somebody is: simple authentication takes everybody at his word.

use std::{
    future::{Ready, ready},
    time::{SystemTime, UNIX_EPOCH},
};

use actix_web::{
    Error, FromRequest, HttpMessage, HttpRequest,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE},
    middleware::Next,
    web::Data,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use subtle::ConstantTimeEq;
use yarn_conf::{Configuration, Problem};
use yarn_types::Lookup;

use crate::Pairs;

/// `AuthenticatedURL.AUTH_COOKIE`.
const COOKIE_NAME: &str = "hadoop.auth";
/// Longest name of a user in a cookie, bytes; no account has a longer one.
const USER_BYTES_MAX: usize = 255;

/// What tells callers apart; one for a server.
pub struct Login {
    key: [u8; 32],
    kind: &'static str,
    static_user: String,
    valid_s: i64,
}

/// The name that a request goes by. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User(pub String);

impl Login {
    /// Reads `hadoop.http.staticuser.user` and `hadoop.http.authentication.token.validity`
    /// (seconds). `kind` is the type of authentication that the cookies name; their key is new.
    ///
    /// # Errors
    /// A value that is no number.
    pub fn new(conf: &Configuration, kind: &'static str) -> Result<Self, Problem> {
        let named = Lookup::get(conf, "hadoop.http.staticuser.user");
        let named = named.map(|user| user.trim().to_owned());
        Ok(Self {
            key: rand::random(),
            kind,
            static_user: named
                .filter(|user| !user.is_empty())
                .unwrap_or_else(|| "dr.who".to_owned()),
            valid_s: conf.i64("hadoop.http.authentication.token.validity", 36_000)?,
        })
    }

    fn signature(&self, text: &str) -> String {
        let mac = match Hmac::<Sha1>::new_from_slice(&self.key) {
            Ok(mac) => mac.chain_update(text.as_bytes()).finalize(),
            // HMAC takes a key of any length.
            Err(_) => return String::new(),
        };
        STANDARD.encode(mac.into_bytes())
    }

    /// Hadoop's `AuthenticationToken` with its `Signer`.
    fn cookie(&self, user: &str, now_ms: i64) -> Option<HeaderValue> {
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '&' | '"' | ';' | ',' | '\\');
        if user.len() > USER_BYTES_MAX || !user.chars().all(plain) {
            return None;
        }
        let until_ms = now_ms.saturating_add(self.valid_s.saturating_mul(1000));
        let token = format!("u={user}&p={user}&t={}&e={until_ms}", self.kind);
        let signature = self.signature(&token);
        let cookie = format!("{COOKIE_NAME}=\"{token}&s={signature}\"; Path=/; HttpOnly");
        HeaderValue::from_str(&cookie).ok()
    }

    /// The user of a cookie of this server that is still valid.
    fn known(&self, headers: &HeaderMap, now_ms: i64) -> Option<String> {
        let lines = headers.get_all(COOKIE);
        let cookies = lines.filter_map(|line| line.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';'));
        cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            let value = value.trim_matches('"');
            let (token, signature) = value.rsplit_once("&s=")?;
            let own = self.signature(token);
            let ours = own.as_bytes().ct_eq(signature.as_bytes());
            if name != COOKIE_NAME || !bool::from(ours) {
                return None;
            }
            let part = |key: &str| token.split('&').find_map(|part| part.strip_prefix(key));
            let until_ms: i64 = part("e=")?.parse().ok()?;
            (now_ms < until_ms).then(|| part("u=").map(str::to_owned))?
        })
    }

    /// Who asks, and the cookie to give.
    fn identify(&self, request: &HttpRequest, now_ms: i64) -> (User, Option<HeaderValue>) {
        if let Some(user) = self.known(request.headers(), now_ms) {
            return (User(user), None);
        }
        let pairs = Pairs::from_query(request.query_string());
        let pairs = pairs.map(Pairs::into_inner).unwrap_or_default();
        let named = pairs.into_iter().find(|(key, _)| key == "user.name");
        match named.map(|(_, user)| user).filter(|user| !user.is_empty()) {
            Some(user) => {
                let cookie = self.cookie(&user, now_ms);
                (User(user), cookie)
            }
            None => (User(self.static_user.clone()), None),
        }
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Notes who asks, for [`User`], and gives the cookie to those who said it.
///
/// # Errors
/// Those of what answers the request.
pub async fn login(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let found = request.app_data::<Data<Login>>();
    let found = found.map(|login| login.identify(request.request(), now_ms()));
    let Some((user, cookie)) = found else {
        return next.call(request).await;
    };
    request.extensions_mut().insert(user);
    let mut answer = next.call(request).await?;
    if let Some(cookie) = cookie {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer)
}

impl FromRequest for User {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let user = request.extensions().get::<Self>().cloned();
        let missing = || actix_web::error::ErrorInternalServerError("nobody noted who asks");
        ready(user.ok_or_else(missing))
    }
}

#[cfg(test)]
#[path = "login_test.rs"]
mod tests;
