//! The bpf(2) calls that device isolation needs: load, attach, detach, query, describe.
//! May touch: the kernel's eBPF programs and their attachment to cgroups; `unsafe` is here.
//! Must not: make links (they vanish with their descriptor, a container outlives its NodeManager).
#![allow(unsafe_code)] // bpf(2) has no safe wrapper

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::program::Insn;

const PROG_LOAD: libc::c_long = 5;
const PROG_ATTACH: libc::c_long = 8;
const PROG_DETACH: libc::c_long = 9;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const PROG_QUERY: libc::c_long = 16;

const PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const ATTACH_TYPE_CGROUP_DEVICE: u32 = 6;
const F_ALLOW_MULTI: u32 = 2;
const F_REPLACE: u32 = 4;
const F_QUERY_EFFECTIVE: u32 = 1;

/// Bytes of a program's name, the closing zero included (`BPF_OBJ_NAME_LEN`).
pub const NAME_LEN: usize = 16;
/// The kernel attaches at most 64 programs of a type to one cgroup (`BPF_CGROUP_MAX_PROGS`);
/// along a path there can be more.
const PROGRAMS_MAX: usize = 1024;
/// Bytes of verifier log asked for when a program is refused.
const LOG_LEN: usize = 1 << 20;

/// What the kernel says about a loaded program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Number of the program since boot.
    pub id: u32,
    /// The kernel's digest over its instructions, in hexadecimal.
    pub tag: String,
    /// Name given at load.
    pub name: String,
}

#[repr(C)]
#[derive(Default)]
struct LoadAttr {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; NAME_LEN],
    prog_ifindex: u32,
    expected_attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct AttachAttr {
    target_fd: u32,
    attach_bpf_fd: u32,
    attach_type: u32,
    attach_flags: u32,
    replace_bpf_fd: u32,
}

#[repr(C)]
#[derive(Default)]
struct QueryAttr {
    target_fd: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    prog_ids: u64,
    prog_cnt: u32,
    _pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct IdAttr {
    prog_id: u32,
    next_id: u32,
    open_flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct InfoAttr {
    bpf_fd: u32,
    info_len: u32,
    info: u64,
}

/// The head of `struct bpf_prog_info`; the kernel fills as much as is asked for.
#[repr(C)]
#[derive(Default)]
struct InfoHead {
    prog_type: u32,
    id: u32,
    tag: [u8; 8],
    jited_len: u32,
    xlated_len: u32,
    jited_insns: u64,
    xlated_insns: u64,
    load_time: u64,
    created_by_uid: u32,
    nr_map_ids: u32,
    map_ids: u64,
    name: [u8; NAME_LEN],
}

/// One bpf(2) call.
///
/// # Safety
/// Every address inside `attr` must point to memory that lives through the call and is as long
/// as the length beside it says.
unsafe fn bpf<T>(cmd: libc::c_long, attr: &mut T) -> io::Result<i32> {
    let size = size_of::<T>();
    // SAFETY: `attr` is a live, writable value of `size` bytes; its addresses are the caller's.
    let rc = unsafe { libc::syscall(libc::SYS_bpf, cmd, std::ptr::from_mut(attr), size) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(rc).map_err(io::Error::other)
}

fn raw(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

fn len_u32(len: usize) -> io::Result<u32> {
    u32::try_from(len).map_err(io::Error::other)
}

fn address<T>(of: *const T) -> u64 {
    of.expose_provenance() as u64
}

/// Takes over a descriptor that the kernel has just returned.
fn owned(fd: i32) -> OwnedFd {
    // SAFETY: `fd` was returned by a successful call that made it, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Loads `code` under `name` (cut to 15 bytes). Without a log at first: a valid program can fail
/// with a log that is too short.
///
/// # Errors
/// The kernel's answer with the end of the verifier's log, if it wrote one.
pub fn load(code: &[Insn], name: &str) -> io::Result<OwnedFd> {
    let mut attr = LoadAttr {
        prog_type: PROG_TYPE_CGROUP_DEVICE,
        insn_cnt: len_u32(code.len())?,
        insns: address(code.as_ptr()),
        license: address(c"Apache-2.0".as_ptr()),
        expected_attach_type: ATTACH_TYPE_CGROUP_DEVICE,
        ..LoadAttr::default()
    };
    for (to, from) in attr
        .prog_name
        .iter_mut()
        .take(NAME_LEN - 1)
        .zip(name.bytes())
    {
        *to = from;
    }
    // SAFETY: `code` and the licence outlive the call; no log buffer is named.
    match unsafe { bpf(PROG_LOAD, &mut attr) } {
        Ok(fd) => return Ok(owned(fd)),
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => return Err(e),
        Err(_) => {}
    }
    let mut log = vec![0u8; LOG_LEN];
    attr.log_level = 1;
    attr.log_size = len_u32(log.len())?;
    attr.log_buf = address(log.as_mut_ptr());
    // SAFETY: as above, and `log` is `log_size` bytes that outlive the call.
    match unsafe { bpf(PROG_LOAD, &mut attr) } {
        Ok(fd) => Ok(owned(fd)),
        Err(e) => {
            let text = String::from_utf8_lossy(&log);
            let text = text.trim_end_matches('\0').trim_end();
            let last = text.lines().next_back().unwrap_or_default();
            Err(io::Error::new(e.kind(), format!("{e}: {last}")))
        }
    }
}

/// Attaches `program` to a cgroup beside others, or puts it in the place of `replaced` in one
/// step.
///
/// # Errors
/// The kernel's answer; EPERM also means that a program is attached exclusively.
pub fn attach(
    cgroup: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
    replaced: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attr = AttachAttr {
        target_fd: raw(cgroup),
        attach_bpf_fd: raw(program),
        attach_type: ATTACH_TYPE_CGROUP_DEVICE,
        attach_flags: F_ALLOW_MULTI,
        replace_bpf_fd: 0,
    };
    if let Some(old) = replaced {
        attr.attach_flags |= F_REPLACE;
        attr.replace_bpf_fd = raw(old);
    }
    // SAFETY: the attribute holds numbers only.
    unsafe { bpf(PROG_ATTACH, &mut attr) }.map(drop)
}

/// Takes `program` off a cgroup.
///
/// # Errors
/// The kernel's answer; ENOENT when it was not attached.
pub fn detach(cgroup: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = AttachAttr {
        target_fd: raw(cgroup),
        attach_bpf_fd: raw(program),
        attach_type: ATTACH_TYPE_CGROUP_DEVICE,
        ..AttachAttr::default()
    };
    // SAFETY: the attribute holds numbers only.
    unsafe { bpf(PROG_DETACH, &mut attr) }.map(drop)
}

/// Ids of the device programs attached to a cgroup itself, or with `effective` of all that
/// decide there, ancestors' included.
///
/// # Errors
/// The kernel's answer.
pub fn query(cgroup: BorrowedFd<'_>, effective: bool) -> io::Result<Vec<u32>> {
    let mut ids = vec![0u32; PROGRAMS_MAX];
    let mut attr = QueryAttr {
        target_fd: raw(cgroup),
        attach_type: ATTACH_TYPE_CGROUP_DEVICE,
        query_flags: if effective { F_QUERY_EFFECTIVE } else { 0 },
        prog_ids: address(ids.as_mut_ptr()),
        prog_cnt: len_u32(ids.len())?,
        ..QueryAttr::default()
    };
    // SAFETY: `ids` holds `prog_cnt` numbers and outlives the call.
    unsafe { bpf(PROG_QUERY, &mut attr) }?;
    ids.truncate(attr.prog_cnt as usize);
    Ok(ids)
}

/// A descriptor of the loaded program `id`.
///
/// # Errors
/// The kernel's answer; ENOENT when it is gone.
pub fn program_fd(id: u32) -> io::Result<OwnedFd> {
    let mut attr = IdAttr {
        prog_id: id,
        ..IdAttr::default()
    };
    // SAFETY: the attribute holds numbers only.
    unsafe { bpf(PROG_GET_FD_BY_ID, &mut attr) }.map(owned)
}

/// Id, digest and name of a loaded program.
///
/// # Errors
/// The kernel's answer.
pub fn info(program: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    let mut head = InfoHead::default();
    let mut attr = InfoAttr {
        bpf_fd: raw(program),
        info_len: len_u32(size_of::<InfoHead>())?,
        info: address(std::ptr::from_mut(&mut head).cast_const()),
    };
    // SAFETY: `head` is `info_len` writable bytes that outlive the call; lengths of dumps in it
    // are zero, so the kernel follows no address inside.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut attr) }?;
    let name = head.name.split(|b| *b == 0).next().unwrap_or_default();
    Ok(ProgramInfo {
        id: head.id,
        tag: format!("{:016x}", u64::from_be_bytes(head.tag)),
        name: String::from_utf8_lossy(name).into_owned(),
    })
}
