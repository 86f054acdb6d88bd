//! `ProtocolMetaInfoPB`: which versions of a protocol a port serves.
//! May touch: the service's declared protocols.
//! Must not: reach the service.

use yarn_proto::common::{
    GetProtocolVersionsRequestProto, GetProtocolVersionsResponseProto, ProtocolVersionProto,
};

use super::{Call, RemoteException, Replier};

/// Name of the protocol on the wire.
const PROTOCOL: &str = "org.apache.hadoop.ipc.ProtocolMetaInfoPB";
/// RPC kinds in the order in which a stock server lists them; only the last one is served.
const KINDS: [&str; 3] = ["RPC_BUILTIN", "RPC_WRITABLE", "RPC_PROTOCOL_BUFFER"];

/// Answers a call that needs no service; gives back one that does.
pub(super) fn dispatch(
    protocols: &[(&'static str, u64)],
    call: Call,
    reply: Replier,
) -> Option<(Call, Replier)> {
    if protocols.is_empty() {
        return Some((call, reply));
    }
    if call.protocol == PROTOCOL {
        match answer(protocols, &call) {
            Ok(message) => reply.ok(&message),
            Err(e) => reply.err(e),
        }
        return None;
    }
    match check(protocols, &call) {
        Ok(()) => Some((call, reply)),
        Err(e) => {
            reply.err(e);
            None
        }
    }
}

fn check(protocols: &[(&'static str, u64)], call: &Call) -> Result<(), RemoteException> {
    let versions = || {
        protocols
            .iter()
            .filter(|(name, _)| *name == call.protocol)
            .map(|(_, version)| *version)
    };
    let highest = versions()
        .max()
        .ok_or_else(|| RemoteException::no_such_protocol(&call.protocol))?;
    if versions().any(|version| version == call.version) {
        return Ok(());
    }
    Err(RemoteException::version_mismatch(
        &call.protocol,
        call.version,
        highest,
    ))
}

fn answer(
    protocols: &[(&'static str, u64)],
    call: &Call,
) -> Result<GetProtocolVersionsResponseProto, RemoteException> {
    if call.method != "getProtocolVersions" {
        return Err(RemoteException::no_such_method(PROTOCOL, &call.method));
    }
    let request: GetProtocolVersionsRequestProto = call.decode()?;
    let versions: Vec<u64> = protocols
        .iter()
        .filter(|(name, _)| *name == request.protocol)
        .map(|(_, version)| *version)
        .collect();
    let protocol_versions = KINDS
        .into_iter()
        .map(|kind| ProtocolVersionProto {
            rpc_kind: kind.to_owned(),
            versions: if kind == "RPC_PROTOCOL_BUFFER" {
                versions.clone()
            } else {
                Vec::new()
            },
        })
        .collect();
    Ok(GetProtocolVersionsResponseProto { protocol_versions })
}

#[cfg(test)]
#[path = "meta_test.rs"]
mod tests;
