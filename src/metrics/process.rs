//! Figures of the process, by the names that all programs have for them. They are from `/proc`, and absent without it.

use std::fs;

use prometheus_client::{
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

use crate::time::Time;

/// Registers the figures of this process, which began at the given time.
pub fn register(registry: &mut Registry, started: Time) {
    let mut gauge = |name: &str, help: &str, value: u64| registry.register(name, help, ConstGauge::new(value as i64));
    gauge("start_time_seconds", "When the server started", started.unix_seconds() as u64);
    if let Some(resident) = resident() {
        gauge("resident_memory_bytes", "Memory that the server has", resident);
    }
    // Reading the folder opens it.
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        gauge("open_fds", "Open files, sockets among them", open.count().saturating_sub(1) as u64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        gauge("max_fds", "The limit of open files", most);
    }
    if let Some(seconds) = cpu_seconds() {
        registry.register("cpu_seconds", "Processor time that the server has used", ConstCounter::new(seconds));
    }
}

/// The second field of `statm` is the resident pages (proc_pid_statm(5)).
fn resident() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<u64>().ok()? * page_size() as u64)
}

/// Fields 14 and 15 of `stat` are the clock ticks in user and system mode; the name in field 2 may contain spaces, and ends with
/// the last parenthesis (proc_pid_stat(5)).
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse().unwrap_or(0)).sum();
    Some(ticks as f64 / clock_ticks_per_second() as f64)
}
