//! `AmrmSecrets`: what the scheduler port asks about a token that knocks.
//! May touch: the RM's secrets.
//! Must not: tell why beyond Hadoop's own texts.

use std::sync::Arc;

use hadoop_ipc::{
    server::{InvalidToken, Secret, Secrets},
    token::{kinds, parse},
};
use yarn_proto::{convert::attempt_id, yarn::AmrmTokenIdentifierProto};

use super::Auth;

/// `AMRMTokenSecretManager` as the RPC server sees it.
pub struct AmrmSecrets(pub Arc<Auth>);

impl Secrets for AmrmSecrets {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        let token: AmrmTokenIdentifierProto =
            parse(identifier).map_err(|e| InvalidToken(e.to_string()))?;
        let attempt = token
            .app_attempt_id
            .as_ref()
            .and_then(attempt_id)
            .ok_or_else(|| InvalidToken("the AMRMToken names no attempt".to_owned()))?;
        let rings = self.0.rings();
        if !rings.attempts.contains_key(&attempt) {
            return Err(InvalidToken(format!(
                "{attempt} not found in AMRMTokenSecretManager."
            )));
        }
        let key = rings
            .amrm
            .accepts(token.key_id())
            .ok_or_else(|| InvalidToken(format!("Invalid AMRMToken from {attempt}")))?;
        Ok(Secret {
            password: key.password(identifier).to_vec(),
            user: attempt.to_string(),
        })
    }

    fn kind(&self) -> &'static str {
        kinds::AMRM
    }
}
