//! `nvidia-smi` for simulated cards: shows the cards whose device nodes the caller may open.
//! May touch: the topology file, the device nodes under `HEDDLE_DEV_DIR`, standard output.
//! Must not: be installed where real cards are.

#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]
#![allow(clippy::print_stderr, reason = "a command-line tool talks to its user")]

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use fake_nvml::topology::{Gpu, TOPOLOGY_ENV, Topology};

const USAGE: &str = "nvidia-smi (simulated cards)
  nvidia-smi                       a table of the cards
  nvidia-smi -L                    one line a card
  nvidia-smi -q -x                 the XML log
  nvidia-smi --query-gpu=FIELD,… --format=csv[,noheader][,nounits]";

/// Exit code of the real tool when there is nothing to show.
const NO_DEVICES: u8 = 6;
/// Exit code of the real tool for bad arguments.
const BAD_ARGUMENT: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let topology = match topology() {
        Ok(topology) => topology,
        Err(text) => {
            eprintln!(
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver: {text}"
            );
            return ExitCode::from(9);
        }
    };
    let cards: Vec<&Gpu> = visible(&topology);
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let value = |name: &str| args.iter().find_map(|a| a.strip_prefix(name));
    let text = if let Some(fields) = value("--query-gpu=") {
        query(&topology, &cards, fields, value("--format=").unwrap_or(""))
    } else if has("-L") || has("--list-gpus") {
        Ok(list(&cards))
    } else if has("-x") || has("--xml-format") {
        Ok(xml(&topology, &cards))
    } else if args.is_empty() {
        Ok(table(&topology, &cards))
    } else {
        Err(USAGE.to_owned())
    };
    match text {
        Ok(_) if cards.is_empty() && !has("-x") => {
            println!("No devices were found");
            ExitCode::from(NO_DEVICES)
        }
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            println!("{text}");
            ExitCode::from(BAD_ARGUMENT)
        }
    }
}

fn topology() -> Result<Topology, String> {
    let path = std::env::var_os(TOPOLOGY_ENV).ok_or(format!("{TOPOLOGY_ENV} is not set"))?;
    Topology::read(Path::new(&path)).map_err(|e| e.to_string())
}

/// The cards that the caller can reach, in NVML's order.
fn visible(topology: &Topology) -> Vec<&Gpu> {
    let present = topology.gpus.iter().filter(|g| g.present);
    if std::env::var_os("HEDDLE_UNSAFE_NO_ISOLATION").is_some() {
        let named = std::env::var("NVIDIA_VISIBLE_DEVICES").unwrap_or_default();
        let named: Vec<&str> = named.split(',').map(str::trim).collect();
        return present
            .filter(|g| named.contains(&"all") || named.contains(&g.uuid.as_str()))
            .collect();
    }
    let dir =
        std::env::var_os("HEDDLE_DEV_DIR").map_or_else(|| PathBuf::from("/dev"), PathBuf::from);
    present
        .filter(|g| reachable(&dir.join(format!("nvidia{}", g.minor))))
        .collect()
}

/// A node that is not there or that is forbidden cannot be reached; one without a driver (ENXIO) can.
fn reachable(node: &Path) -> bool {
    match OpenOptions::new().read(true).write(true).open(node) {
        Ok(_) => true,
        Err(e) => {
            !matches!(e.raw_os_error(), Some(libc::EPERM | libc::EACCES))
                && e.kind() != io::ErrorKind::NotFound
        }
    }
}

fn used_mib(gpu: &Gpu) -> u64 {
    gpu.processes
        .iter()
        .map(|p| p.memory_mib)
        .sum::<u64>()
        .min(gpu.memory_mib)
}

fn list(cards: &[&Gpu]) -> String {
    let line =
        |(index, g): (usize, &&Gpu)| format!("GPU {index}: {} (UUID: {})\n", g.model, g.uuid);
    cards.iter().enumerate().map(line).collect()
}

/// A field's value and its unit.
fn field(
    topology: &Topology,
    index: usize,
    count: usize,
    g: &Gpu,
    name: &str,
) -> Option<(String, &'static str)> {
    let plain = |text: &str| Some((text.to_owned(), ""));
    let mib = |amount: u64| Some((amount.to_string(), "MiB"));
    match name {
        "index" => plain(&index.to_string()),
        "count" => plain(&count.to_string()),
        "uuid" | "gpu_uuid" => plain(&g.uuid),
        "name" | "gpu_name" => plain(&g.model),
        "pci.bus_id" | "gpu_bus_id" => plain(&g.pci),
        "driver_version" => plain(&topology.driver),
        "compute_cap" => plain(&g.compute_capability),
        "mig.mode.current" | "mig.mode.pending" => plain("Disabled"),
        "memory.total" => mib(g.memory_mib),
        "memory.used" => mib(used_mib(g)),
        "memory.free" => mib(g.memory_mib - used_mib(g)),
        "utilization.gpu" | "utilization.memory" => Some(("0".to_owned(), "%")),
        "temperature.gpu" => plain("35"),
        _ => None,
    }
}

fn query(
    topology: &Topology,
    cards: &[&Gpu],
    fields: &str,
    format: &str,
) -> Result<String, String> {
    let options: Vec<&str> = format.split(',').map(str::trim).collect();
    if options.first() != Some(&"csv") {
        return Err("\"--format=\" switch is missing or does not begin with csv.".to_owned());
    }
    let bare = options.contains(&"nounits");
    let names: Vec<&str> = fields.split(',').map(str::trim).collect();
    let mut lines = Vec::new();
    let mut header = Vec::new();
    for (index, g) in cards.iter().enumerate() {
        let mut values = Vec::new();
        header.clear();
        for name in &names {
            let (value, unit) = field(topology, index, cards.len(), g, name)
                .ok_or_else(|| format!("Field \"{name}\" is not a valid field to query."))?;
            header.push(if unit.is_empty() {
                (*name).to_owned()
            } else {
                format!("{name} [{unit}]")
            });
            values.push(if bare || unit.is_empty() {
                value
            } else {
                format!("{value} {unit}")
            });
        }
        lines.push(values.join(", "));
    }
    if !options.contains(&"noheader") {
        lines.insert(0, header.join(", "));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The parts of the log that Hadoop and other tools read, always numeric.
fn xml(topology: &Topology, cards: &[&Gpu]) -> String {
    let mut out = format!(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n\t<driver_version>{}</driver_version>\n\t<cuda_version>{}</cuda_version>\n\t<attached_gpus>{}</attached_gpus>\n",
        escape(&topology.driver),
        escape(&topology.cuda),
        cards.len()
    );
    for g in cards {
        let (total, used) = (g.memory_mib, used_mib(g));
        let memory = format!(
            "<total>{total} MiB</total><used>{used} MiB</used><free>{} MiB</free>",
            total - used
        );
        let _ = write!(
            out,
            "\t<gpu id=\"{}\">\n\t\t<product_name>{}</product_name>\n\t\t<uuid>{}</uuid>\n\t\t<minor_number>{}</minor_number>\n\t\t<fb_memory_usage>{memory}</fb_memory_usage>\n\t\t<bar1_memory_usage>{memory}</bar1_memory_usage>\n\t\t<utilization><gpu_util>0 %</gpu_util><memory_util>0 %</memory_util></utilization>\n\t\t<temperature><gpu_temp>35 C</gpu_temp><gpu_temp_max_threshold>92 C</gpu_temp_max_threshold><gpu_temp_slow_threshold>89 C</gpu_temp_slow_threshold></temperature>\n\t</gpu>\n",
            escape(&g.pci),
            escape(&g.model),
            escape(&g.uuid),
            g.minor
        );
    }
    out.push_str("</nvidia_smi_log>\n");
    out
}

fn table(topology: &Topology, cards: &[&Gpu]) -> String {
    let rule = format!("+{}+\n", "-".repeat(77));
    let row = |text: String| format!("| {text:<75} |\n");
    let mut out = rule.clone();
    out.push_str(&row(format!(
        "NVIDIA-SMI {}   Driver Version: {}   CUDA Version: {}",
        topology.driver, topology.driver, topology.cuda
    )));
    out.push_str(&rule);
    for (index, g) in cards.iter().enumerate() {
        let memory = format!("{}MiB / {}MiB", used_mib(g), g.memory_mib);
        out.push_str(&row(format!(
            "{index:>3}  {:<30} {}  {memory}",
            g.model, g.pci
        )));
    }
    out.push_str(&rule);
    out
}
