//! Who calls, with groups as the account database has them now.
//! May touch: the account database; blocking.
//! Must not: run on a connection's task or the driver's thread (the database may be across a network).

use std::ffi::CString;

use rm_core::event::Who;

/// Groups of a local account, the primary one first; none for a user that is not here.
pub fn groups_of(user: &str) -> Vec<String> {
    let account = nix::unistd::User::from_name(user).ok().flatten();
    let (Some(account), Ok(name)) = (account, CString::new(user)) else {
        return Vec::new();
    };
    let ids = nix::unistd::getgrouplist(&name, account.gid).unwrap_or_default();
    let names = ids.into_iter().filter_map(|id| {
        let group = nix::unistd::Group::from_gid(id).ok().flatten();
        group.map(|g| g.name)
    });
    names.collect()
}

/// A user with its groups.
pub fn who(user: &str) -> Who {
    Who {
        user: user.into(),
        groups: groups_of(user),
    }
}
