//! POST `/nodes/{node}/resource`: what a node offers by an administrator's word.
//! May touch: the admin event.
//! Must not: decide what becomes of the containers (the core does).

use std::time::Instant;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Bytes, Data, Path},
};
use rm_core::{
    Event,
    event::{AdminRequest, NodeOption},
};
use serde::Deserialize;
use tokio::sync::oneshot;
use yarn_types::{Resource, ResourceTypes};
use yarn_web::{Format, User};

use super::{State, body, busy, dto, labels::is_admin, rest::node_id};
use crate::driver::Refusal;

/// `ResourceOptionInfo`.
#[derive(Deserialize)]
struct Offer {
    resource: Option<Amounts>,
    /// Milliseconds until containers beyond it end; 0 at once, negative never.
    #[serde(rename = "overCommitTimeout", default)]
    overcommit_timeout_ms: i32,
}

/// `ResourceInfo`, as it is read.
#[derive(Deserialize)]
struct Amounts {
    #[serde(default)]
    memory: i64,
    #[serde(rename = "vCores", default)]
    vcores: i64,
    #[serde(rename = "resourceInformations", default)]
    more: Informations,
}

#[derive(Default, Deserialize)]
struct Informations {
    #[serde(rename = "resourceInformation", default)]
    all: Vec<Information>,
}

#[derive(Deserialize)]
struct Information {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: i64,
}

impl Amounts {
    /// The vector, or which type is wrong.
    fn vector(&self, types: &ResourceTypes) -> Result<Resource, String> {
        let mut total = Resource::new(self.memory, self.vcores);
        for more in &self.more.all {
            let Some(lane) = types.lane(&more.name) else {
                return Err(format!("unknown resource type {}", more.name));
            };
            // These two stand above.
            if lane >= 2 {
                let value = more.value.saturating_mul(types.scale(lane));
                total = total.with(lane, value);
            }
        }
        let negative = types.iter().zip(total.0).find(|(_, value)| *value < 0);
        match negative {
            Some((t, value)) => Err(format!("{} is {value}, want 0 or more", t.name)),
            None => Ok(total),
        }
    }
}

/// POST `/nodes/{node}/resource`: the amounts that it offers from now on.
pub(super) async fn change(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let node = match node_id(&path) {
        Ok(node) => node,
        Err(text) => return format.illegal_argument(text),
    };
    let offer: Offer = match body::read(&request, &bytes) {
        Ok(offer) => offer,
        Err(why) => return why.answer(format),
    };
    let user = &user.0;
    if !is_admin(&state, user).await {
        let text = format!("User {user} not authorized for post to .../nodes/{node}/resource");
        return format.forbidden(text);
    }
    let types = &state.context.types;
    let total = match offer.resource.map(|amounts| amounts.vector(types)) {
        Some(Ok(total)) => total,
        Some(Err(text)) => return format.bad_request(&text),
        None => return format.bad_request("resource is missing, want memory and vCores"),
    };
    let id = node.clone();
    match state.ask(move |rm| rm.node(&id).is_some()).await {
        None => return busy(format),
        Some(false) => return format.not_found(&format!("nodeId, {path}, is not found")),
        Some(true) => {}
    }
    let option = NodeOption {
        node,
        total,
        overcommit_timeout_ms: offer.overcommit_timeout_ms,
    };
    let request = AdminRequest::UpdateNodeResource(vec![option]);
    let (tell, told) = oneshot::channel();
    state.context.driver.call(
        Instant::now(),
        |call| Event::Admin { call, request },
        move |answer| {
            // Nobody waits any more when the caller went away.
            let _ = tell.send(answer);
        },
    );
    match told.await {
        Ok(Ok(_)) => {
            tracing::info!(user, node = %path, "asked to change what a node offers");
            format.ok("resourceInfo", &dto::ResourceInfo::of(total, types))
        }
        Ok(Err(Refusal::Reject(r))) => format.bad_request(&r.message),
        Ok(Err(Refusal::Busy)) | Err(_) => busy(format),
    }
}

#[cfg(test)]
#[path = "offer_test.rs"]
mod tests;
