//! What the kernel says of processes and of the whole machine.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};

/// The unit of CPU times in /proc, the same on all machines that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Raises the limit of open files, for this process and those that it starts.
pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    _ = setrlimit(Resource::Nofile, limit);
}

/// How many files a process may open.
pub fn file_limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize)
}

pub fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("a process has a number");
    _ = kill_process(process, signal);
}

pub fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

/// Its cores, memory and kernel, for those who compare figures.
pub fn description() -> String {
    let first = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let value =
            text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':').map(|(_, value)| value.trim().to_owned()));
        value.unwrap_or_else(|| "unknown".into())
    };
    let memory: f64 = first("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (processor, gibibytes) = (first("/proc/cpuinfo", "model name"), memory / 1024.0 / 1024.0);
    let kernel = kernel.split('.').take(2).collect::<Vec<_>>().join(".");
    format!("{} cores ({processor}), {gibibytes:.0} GiB of memory, Linux {kernel}", cores())
}

/// Seconds of CPU, in user mode and in the kernel, that a process has spent; 0 for one that is gone.
pub fn cpu(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(") ") else { return 0.0 };
    rest.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS_PER_SECOND
}

/// Seconds of CPU that the whole machine has spent on anything, and lost to other virtual machines.
fn busy() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let ticks: Vec<f64> = stat.lines().next().unwrap().split_whitespace().skip(1).map(|ticks| ticks.parse().unwrap()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    (ticks[..3].iter().sum::<f64>() + ticks[5..8].iter().sum::<f64>()) / TICKS_PER_SECOND
}

/// A line of /proc/PID/status in KiB, as `VmRSS`.
pub fn status(process: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes that a process has caused to be written to the disk.
pub fn written(process: u32) -> f64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).map_or(0.0, |bytes| bytes.parse().unwrap())
}

/// CPU and time that pass from its start to its end.
pub struct Watch {
    server: u32,
    /// Clients and the bench itself, which are not foreign.
    ours: Vec<u32>,
    begun: Instant,
    before: (f64, f64, f64),
}

#[derive(Clone, Copy)]
pub struct Spent {
    pub seconds: f64,
    /// CPU seconds of the server.
    pub server: f64,
    /// The share of all cores that other programs took.
    pub foreign: f64,
}

impl Watch {
    pub fn new(server: u32, clients: &[u32]) -> Watch {
        let mut ours = clients.to_vec();
        ours.push(std::process::id());
        let mut watch = Watch { server, ours, begun: Instant::now(), before: (0.0, 0.0, 0.0) };
        watch.before = watch.read();
        watch
    }

    fn read(&self) -> (f64, f64, f64) {
        (cpu(self.server), self.ours.iter().map(|process| cpu(*process)).sum(), busy())
    }

    pub fn spent(&self) -> Spent {
        let (server, ours, busy) = self.read();
        let seconds = self.begun.elapsed().as_secs_f64();
        let server = server - self.before.0;
        let foreign = busy - self.before.2 - server - (ours - self.before.1);
        Spent { seconds, server, foreign: (foreign / (seconds * cores())).max(0.0) }
    }
}

/// Waits until a process has nothing left to do: for two seconds it takes less than a thirtieth of a core. The search index
/// is filled a second after the posts.
pub fn settle(process: u32) {
    const LOOK: Duration = Duration::from_millis(500);
    let mut quiet = 0;
    for _ in 0..240 {
        let before = cpu(process);
        std::thread::sleep(LOOK);
        quiet = if cpu(process) - before <= LOOK.as_secs_f64() / 30.0 { quiet + 1 } else { 0 };
        if quiet == 4 {
            return;
        }
    }
}
