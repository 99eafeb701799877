//! What this machine has: memory, cores, and what the process used of it.

use std::fs;

/// Returns how much memory a process may use: the cgroup's limit, else the machine's.
#[must_use]
pub fn memory() -> usize {
    let of_machine = meminfo_kib("/proc/meminfo", "MemTotal:").map_or(8 << 30, |kib| kib * 1024);
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    limits
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<usize>().ok())
        .fold(of_machine, usize::min)
}

/// Returns how many threads can run at once.
#[must_use]
pub fn cores() -> u32 {
    std::thread::available_parallelism()
        .ok()
        .and_then(|cores| u32::try_from(cores.get()).ok())
        .unwrap_or(1)
}

/// Returns how much memory this process holds, or 0 where the system does not report it.
#[must_use]
pub fn resident_bytes() -> u64 {
    resident("/proc/self/status")
}

/// Returns how much memory another process holds; 0 if it has ended, or the system does not tell.
#[must_use]
pub fn resident_bytes_of(process: u32) -> u64 {
    resident(&format!("/proc/{process}/status"))
}

fn resident(status: &str) -> u64 {
    let kib = meminfo_kib(status, "VmRSS:").unwrap_or(0);
    kib as u64 * 1024
}

/// Returns the largest memory that this process has had, where the system reports it.
#[must_use]
pub fn peak_memory() -> Option<usize> {
    meminfo_kib("/proc/self/status", "VmHWM:").map(|kib| kib * 1024)
}

/// Starts the measurement of peak memory anew, where the system can.
pub fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns the processor seconds of this process, where the system reports it.
#[must_use]
pub fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn meminfo_kib(path: &str, name: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the processor seconds of the calling thread, where the system reports it; finer than
/// [`cpu_seconds`], which counts hundredths.
#[must_use]
pub fn thread_cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = stat.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// Returns the name of the processor, where the system reports it.
#[must_use]
pub fn processor() -> String {
    let name = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
