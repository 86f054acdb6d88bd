//! Addresses of a ResourceManager, alone or one of a pair (`HAUtil`), and what to bind to.
//! May touch: the table.
//! Must not: resolve names or ask which addresses are local.

use crate::{error::Problem, table::Configuration, values::HostPort};

/// An address of the RM: its key and the port it has by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RmService {
    /// The key, without an id.
    pub key: &'static str,
    /// Port when the key names none.
    pub port: u16,
}

/// ApplicationClientProtocol.
pub const RM_CLIENT: RmService = RmService {
    key: "yarn.resourcemanager.address",
    port: 8032,
};
/// ApplicationMasterProtocol.
pub const RM_SCHEDULER: RmService = RmService {
    key: "yarn.resourcemanager.scheduler.address",
    port: 8030,
};
/// ResourceTracker.
pub const RM_TRACKER: RmService = RmService {
    key: "yarn.resourcemanager.resource-tracker.address",
    port: 8031,
};
/// ResourceManagerAdministrationProtocol.
pub const RM_ADMIN: RmService = RmService {
    key: "yarn.resourcemanager.admin.address",
    port: 8033,
};
/// HTTP.
pub const RM_WEBAPP: RmService = RmService {
    key: "yarn.resourcemanager.webapp.address",
    port: 8088,
};

impl Configuration {
    /// The ids of a pair when `yarn.resourcemanager.ha.enabled`, else none.
    ///
    /// # Errors
    /// High availability without `yarn.resourcemanager.ha.rm-ids`.
    pub fn rm_ids(&self) -> Result<Vec<String>, Problem> {
        let key = "yarn.resourcemanager.ha.rm-ids";
        if !self.bool("yarn.resourcemanager.ha.enabled", false)? {
            return Ok(Vec::new());
        }
        let mut ids = self.trimmed_strings(key)?;
        ids.retain(|id| !id.is_empty());
        if ids.is_empty() {
            let text =
                "names no id although yarn.resourcemanager.ha.enabled is true; write e.g. rm1,rm2";
            return Err(self.problem(key, text));
        }
        Ok(ids)
    }

    /// The id of this RM: `yarn.resourcemanager.ha.id`, else that of the first client address that `is_local`.
    ///
    /// `None` without high availability. `is_local` is asked with a host as written.
    ///
    /// # Errors
    /// An id that is not in the list; none chosen and none local (`HAUtil.verifyAndSetCurrentRMHAId`).
    pub fn own_rm_id(&self, is_local: impl Fn(&str) -> bool) -> Result<Option<String>, Problem> {
        let key = "yarn.resourcemanager.ha.id";
        let ids = self.rm_ids()?;
        if ids.is_empty() {
            return Ok(None);
        }
        if let Some(id) = self.get_trimmed(key)?.filter(|id| !id.is_empty()) {
            if ids.contains(&id) {
                return Ok(Some(id));
            }
            let text = format!(
                "is not one of yarn.resourcemanager.ha.rm-ids ({})",
                ids.join(", ")
            );
            return Err(self.problem(key, text));
        }
        for id in &ids {
            if is_local(&self.rm_address(RM_CLIENT, Some(id))?.host) {
                return Ok(Some(id.clone()));
            }
        }
        let keys: Vec<String> = ids
            .iter()
            .map(|id| format!("{}.{id}", RM_CLIENT.key))
            .collect();
        let text = format!(
            "Invalid configuration! Can not find valid RM_HA_ID. None of {} are matching the local address OR yarn.resourcemanager.ha.id is not specified in HA Configuration",
            keys.join(" ")
        );
        Err(self.problem(key, text))
    }

    /// Where `service` of the RM called `id` is: `<key>.<id>`, else `hostname.<id>` with the default port, else `<key>`.
    ///
    /// # Errors
    /// An address that is none.
    pub fn rm_address(&self, service: RmService, id: Option<&str>) -> Result<HostPort, Problem> {
        let RmService { key, port } = service;
        if let Some(id) = id {
            let per_id = format!("{key}.{id}");
            if self.raw(&per_id).is_some() {
                return self.host_port(&per_id, "", port);
            }
            let hostname = format!("yarn.resourcemanager.hostname.{id}");
            if self.raw(&hostname).is_some() {
                return self
                    .host_port(&hostname, "", port)
                    .map(|a| HostPort { port, ..a });
            }
        }
        self.host_port(key, &format!("0.0.0.0:{port}"), port)
    }

    /// Where to look for `service`: one address, or one for each id of a pair in order.
    ///
    /// # Errors
    /// As [`Configuration::rm_address`] and [`Configuration::rm_ids`].
    pub fn rm_addresses(&self, service: RmService) -> Result<Vec<HostPort>, Problem> {
        let ids = self.rm_ids()?;
        if ids.is_empty() {
            return Ok(vec![self.rm_address(service, None)?]);
        }
        ids.iter()
            .map(|id| self.rm_address(service, Some(id)))
            .collect()
    }

    /// Where an RM listens: the host of `bind-host` (that of `id` first), the port of `address`.
    ///
    /// # Errors
    /// Only references that cannot be expanded.
    pub fn rm_bind(&self, address: &HostPort, id: Option<&str>) -> Result<HostPort, Problem> {
        let key = "yarn.resourcemanager.bind-host";
        if let Some(id) = id
            && let Some(bound) = self.bound(&format!("{key}.{id}"), address)?
        {
            return Ok(bound);
        }
        Ok(self.bound(key, address)?.unwrap_or_else(|| address.clone()))
    }

    /// Where a NodeManager listens: the host of `yarn.nodemanager.bind-host`, the port of `address`.
    ///
    /// # Errors
    /// Only references that cannot be expanded.
    pub fn nm_bind(&self, address: &HostPort) -> Result<HostPort, Problem> {
        let bound = self.bound("yarn.nodemanager.bind-host", address)?;
        Ok(bound.unwrap_or_else(|| address.clone()))
    }

    fn bound(&self, key: &str, address: &HostPort) -> Result<Option<HostPort>, Problem> {
        Ok(self
            .get_trimmed(key)?
            .filter(|host| !host.is_empty())
            .map(|host| HostPort {
                host,
                port: address.port,
            }))
    }
}

#[cfg(test)]
#[path = "addresses_test.rs"]
mod tests;
