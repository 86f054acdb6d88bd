//! The exported functions, with NVML's signatures and return codes (NVIDIA NVML API reference).
//! May touch: `cards` and the caller's out-parameters.
//! Must not: hold state of its own.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_ulonglong},
    ptr,
};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlProcessInfo_t, nvmlReturn_t,
    nvmlUtilization_t,
};

use yarn_types::gpu::LinkKind;

use crate::{
    cards::{Cards, cards},
    topology::Gpu,
};

const SUCCESS: nvmlReturn_t = 0;
const INVALID_ARGUMENT: nvmlReturn_t = 2;
const NOT_SUPPORTED: nvmlReturn_t = 3;
const NOT_FOUND: nvmlReturn_t = 6;
const INSUFFICIENT_SIZE: nvmlReturn_t = 7;
const DRIVER_NOT_LOADED: nvmlReturn_t = 9;
const GPU_IS_LOST: nvmlReturn_t = 15;
const RESET_REQUIRED: nvmlReturn_t = 16;
const UNKNOWN: nvmlReturn_t = 999;
/// `NVML_VALUE_NOT_AVAILABLE` of the instance ids of a process outside MIG.
const NO_INSTANCE: c_uint = c_uint::MAX;
const MIB: u64 = 1024 * 1024;

/// A handle is the position of the card in the file, plus one so that it is never null.
fn handle(position: usize) -> nvmlDevice_t {
    ptr::without_provenance_mut(position + 1)
}

fn position(device: nvmlDevice_t) -> Option<usize> {
    device.addr().checked_sub(1)
}

/// The code that every read of the card gives while it is not healthy.
fn health_code(gpu: &Gpu) -> nvmlReturn_t {
    match gpu.health.as_str() {
        "ok" | "ecc" => SUCCESS,
        "lost" => GPU_IS_LOST,
        "reset-required" => RESET_REQUIRED,
        _ => UNKNOWN,
    }
}

/// Runs `read` on a present, readable card.
fn with_card(
    device: nvmlDevice_t,
    read: impl FnOnce(&Cards, &Gpu) -> nvmlReturn_t,
) -> nvmlReturn_t {
    let cards = cards();
    let Some(gpu) = position(device).and_then(|p| cards.at(p)) else {
        return GPU_IS_LOST;
    };
    match health_code(gpu) {
        SUCCESS => read(&cards, gpu),
        code => code,
    }
}

/// Writes through an out-parameter.
fn put<T>(out: *mut T, value: T) -> nvmlReturn_t {
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: NVML's contract is that a non-null out-parameter points to a writable T.
    unsafe { out.write(value) };
    SUCCESS
}

/// Writes a C string of at most `length` bytes with its end.
fn put_text(out: *mut c_char, length: usize, text: &str) -> nvmlReturn_t {
    let bytes = text.as_bytes();
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    if bytes.len() >= length {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: the caller gave `length` writable bytes, and text and its end fit.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
        out.add(bytes.len()).write(0);
    }
    SUCCESS
}

fn text_of<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: NVML's contract is that text parameters are C strings.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn length(n: c_uint) -> usize {
    usize::try_from(n).unwrap_or(0)
}

fn count(n: usize) -> c_uint {
    c_uint::try_from(n).unwrap_or(c_uint::MAX)
}

/// `nvmlInit_v2`: without a topology file there is no driver.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    if cards().topology().is_some() {
        SUCCESS
    } else {
        DRIVER_NOT_LOADED
    }
}

/// `nvmlInitWithFlags`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    nvmlInit_v2()
}

/// `nvmlShutdown`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    SUCCESS
}

/// `nvmlErrorString`.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let text: &'static CStr = match result {
        SUCCESS => c"The operation was successful",
        INVALID_ARGUMENT => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        NOT_FOUND => c"Not Found",
        INSUFFICIENT_SIZE => c"Insufficient Size",
        DRIVER_NOT_LOADED => c"Driver Not Loaded",
        GPU_IS_LOST => c"GPU is lost",
        RESET_REQUIRED => c"GPU requires reset",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

/// `nvmlSystemGetDriverVersion`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(
    version: *mut c_char,
    size: c_uint,
) -> nvmlReturn_t {
    match cards().topology() {
        Some(t) => put_text(version, length(size), &t.driver),
        None => DRIVER_NOT_LOADED,
    }
}

/// `nvmlSystemGetCudaDriverVersion_v2`: 1000 × major + 10 × minor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    let cards = cards();
    let Some(t) = cards.topology() else {
        return DRIVER_NOT_LOADED;
    };
    let (major, minor) = t.cuda.split_once('.').unwrap_or((&t.cuda, "0"));
    let number = |text: &str| text.parse::<c_int>().unwrap_or(0);
    put(version, number(major) * 1000 + number(minor) * 10)
}

/// `nvmlDeviceGetCount_v2`: the present cards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(devices: *mut c_uint) -> nvmlReturn_t {
    put(devices, count(cards().present().count()))
}

/// `nvmlDeviceGetHandleByIndex_v2`: one read of the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(
    index: c_uint,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let mut cards = cards();
    let Some(position) = cards.present().nth(length(index)).map(|(p, _)| p) else {
        return INVALID_ARGUMENT;
    };
    if cards.fails(position) {
        return UNKNOWN;
    }
    put(device, handle(position))
}

/// `nvmlDeviceGetHandleByUUID`: one read of the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    find(device, text_of(uuid), |gpu, text| gpu.uuid == text)
}

/// `nvmlDeviceGetHandleByPciBusId_v2`: one read of the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus_id: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    find(device, text_of(bus_id), |gpu, text| {
        gpu.pci.eq_ignore_ascii_case(text)
    })
}

fn find(
    device: *mut nvmlDevice_t,
    text: Option<&str>,
    test: impl Fn(&Gpu, &str) -> bool,
) -> nvmlReturn_t {
    let Some(text) = text else {
        return INVALID_ARGUMENT;
    };
    let mut cards = cards();
    let Some(position) = cards.present().find(|(_, g)| test(g, text)).map(|(p, _)| p) else {
        return NOT_FOUND;
    };
    if cards.fails(position) {
        return UNKNOWN;
    }
    put(device, handle(position))
}

/// `nvmlDeviceGetUUID`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(
    device: nvmlDevice_t,
    uuid: *mut c_char,
    size: c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| put_text(uuid, length(size), &gpu.uuid))
}

/// `nvmlDeviceGetName`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(
    device: nvmlDevice_t,
    name: *mut c_char,
    size: c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| put_text(name, length(size), &gpu.model))
}

/// `nvmlDeviceGetMinorNumber`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinorNumber(
    device: nvmlDevice_t,
    minor: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| put(minor, gpu.minor))
}

/// `nvmlDeviceGetIndex`: position among the present cards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(
    device: nvmlDevice_t,
    index: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |cards, gpu| {
        put(
            index,
            count(
                cards
                    .present()
                    .take_while(|(_, g)| g.minor != gpu.minor)
                    .count(),
            ),
        )
    })
}

/// `nvmlDeviceGetPciInfo_v3`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(
    device: nvmlDevice_t,
    pci: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| put(pci, pci_info(gpu)))
}

fn pci_info(gpu: &Gpu) -> nvmlPciInfo_t {
    let mut parts = gpu.pci.split([':', '.']);
    let mut part = || {
        parts
            .next()
            .and_then(|p| c_uint::from_str_radix(p, 16).ok())
            .unwrap_or(0)
    };
    let mut info = nvmlPciInfo_t {
        busIdLegacy: [0; 16],
        domain: part(),
        bus: part(),
        device: part(),
        pciDeviceId: 0,
        pciSubSystemId: 0,
        busId: [0; 32],
    };
    let legacy = gpu
        .pci
        .get(gpu.pci.len().saturating_sub(12)..)
        .unwrap_or(&gpu.pci);
    copy_text(&mut info.busIdLegacy, legacy);
    copy_text(&mut info.busId, &gpu.pci);
    info
}

fn copy_text(out: &mut [c_char], text: &str) {
    let room = out.len() - 1;
    for (slot, byte) in out.iter_mut().take(room).zip(text.bytes()) {
        *slot = byte.cast_signed();
    }
}

/// `nvmlDeviceGetMemoryInfo_v2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    memory: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| {
        if memory.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: the caller passes a structure whose version it has filled in.
        let version = unsafe { (*memory).version };
        let total = gpu.memory_mib.saturating_mul(MIB);
        let held = gpu
            .processes
            .iter()
            .map(|p| p.memory_mib.saturating_mul(MIB))
            .fold(0, u64::saturating_add);
        let used = held.min(total);
        put(
            memory,
            nvmlMemory_v2_t {
                version,
                total,
                reserved: 0,
                free: total - used,
                used,
            },
        )
    })
}

/// `nvmlDeviceGetNumaNodeId`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNumaNodeId(
    device: nvmlDevice_t,
    node: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| match c_uint::try_from(gpu.numa) {
        Ok(numa) => put(node, numa),
        Err(_) => NOT_SUPPORTED,
    })
}

/// `nvmlDeviceGetCudaComputeCapability`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| {
        let (a, b) = gpu.compute_capability.split_once('.').unwrap_or(("0", "0"));
        match put(major, a.parse().unwrap_or(0)) {
            SUCCESS => put(minor, b.parse().unwrap_or(0)),
            code => code,
        }
    })
}

/// `nvmlDeviceGetMigMode`: MIG is off on every simulated card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, _| match put(current, 0) {
        SUCCESS => put(pending, 0),
        code => code,
    })
}

/// `nvmlDeviceGetTotalEccErrors`: one uncorrected error on a card whose health is `ecc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: nvmlDevice_t,
    error_type: c_uint,
    _counter: c_uint,
    errors: *mut c_ulonglong,
) -> nvmlReturn_t {
    // 1 is NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    with_card(device, |_, gpu| {
        put(errors, u64::from(error_type == 1 && gpu.health == "ecc"))
    })
}

/// `nvmlDeviceGetUtilizationRates`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    rates: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    with_card(device, |_, _| {
        put(rates, nvmlUtilization_t { gpu: 0, memory: 0 })
    })
}

/// `nvmlDeviceGetTemperature`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    _sensor: c_uint,
    celsius: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, _| put(celsius, 35))
}

/// `nvmlDeviceGetComputeRunningProcesses_v3`: two steps, first the count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    info_count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| {
        if info_count.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: checked for null; the caller gives room for that many records.
        let room = length(unsafe { info_count.read() });
        put(info_count, count(gpu.processes.len()));
        if gpu.processes.is_empty() {
            return SUCCESS;
        }
        if infos.is_null() || room < gpu.processes.len() {
            return INSUFFICIENT_SIZE;
        }
        for (n, process) in gpu.processes.iter().enumerate() {
            let info = nvmlProcessInfo_t {
                pid: process.pid,
                usedGpuMemory: process.memory_mib.saturating_mul(MIB),
                gpuInstanceId: NO_INSTANCE,
                computeInstanceId: NO_INSTANCE,
            };
            // SAFETY: n is below the room that the caller gave.
            unsafe { infos.add(n).write(info) };
        }
        SUCCESS
    })
}

/// `nvmlDeviceGetTopologyCommonAncestor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    level: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device1, |_, gpu| {
        if device1 == device2 {
            return put(level, 0);
        }
        let Some(peer) = position(device2) else {
            return INVALID_ARGUMENT;
        };
        // NVLink says nothing of PCIe: such cards sit on the switches of one NUMA node
        let worth = |kind: LinkKind| match kind {
            LinkKind::Pix => Some(10),
            LinkKind::Pxb => Some(20),
            LinkKind::Phb => Some(30),
            LinkKind::Node => Some(40),
            LinkKind::Sys => Some(50),
            LinkKind::NvLink(_) => None,
        };
        let kinds = gpu
            .links
            .iter()
            .filter(|l| l.peer == peer)
            .filter_map(|l| worth(l.kind));
        put(level, kinds.min().unwrap_or(50))
    })
}

/// The peer of each NVLink of a card, in order.
fn nvlinks(gpu: &Gpu) -> impl Iterator<Item = usize> + '_ {
    gpu.links.iter().flat_map(|l| match l.kind {
        LinkKind::NvLink(n) => vec![l.peer; length(n.min(64))],
        _ => Vec::new(),
    })
}

/// `nvmlDeviceGetNvLinkState`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(
    device: nvmlDevice_t,
    link: c_uint,
    active: *mut c_uint,
) -> nvmlReturn_t {
    with_card(device, |_, gpu| match nvlinks(gpu).nth(length(link)) {
        Some(_) => put(active, 1),
        None => INVALID_ARGUMENT,
    })
}

/// `nvmlDeviceGetNvLinkRemotePciInfo_v2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    device: nvmlDevice_t,
    link: c_uint,
    pci: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    with_card(device, |cards, gpu| {
        match nvlinks(gpu)
            .nth(length(link))
            .and_then(|peer| cards.at(peer))
        {
            Some(peer) => put(pci, pci_info(peer)),
            None => INVALID_ARGUMENT,
        }
    })
}
