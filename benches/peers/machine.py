"""What the kernel says of processes and of the whole machine."""

import os
import platform
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def raise_file_limit():
    """Raises the limit of open files, for this process and those that it starts; returns it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def cpu(process):
    """Seconds of CPU, in user mode and in the kernel, that all threads of a process have spent."""
    user, system = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / TICKS


def resident(process):
    """KiB of a process that are in memory."""
    return int(of_lines(f"/proc/{process}/status", "VmRSS").split()[0])


def of_lines(path, name):
    """The value behind a name in a file with lines such as `VmRSS: 812 kB`."""
    lines = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "unknown")


def busy():
    """Seconds of CPU that the whole machine has spent on anything, and lost to other virtual machines."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def description():
    memory = int(of_lines("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores ({of_lines('/proc/cpuinfo', 'model name')}), {memory:.0f} GiB of memory, Linux {kernel}"


def settle(process):
    """Waits, two minutes at most, until a process is idle: for two seconds it takes less than a thirtieth of a core."""
    quiet = 0
    for _ in range(240):
        before = cpu(process)
        time.sleep(0.5)
        quiet = quiet + 1 if cpu(process) - before < 0.5 / 30 else 0
        if quiet == 4:
            break


class Watch:
    """CPU and time that pass from its start on."""

    def __init__(self, server, clients):
        self.server, self.clients = server, clients
        self.begun, self.before = time.perf_counter(), self.read()

    def read(self):
        return cpu(self.server), sum(map(cpu, [*self.clients, os.getpid()])), busy()

    def spent(self):
        """Seconds, the server's CPU seconds, and the percentage of the machine that other programs took."""
        server, ours, everything = (now - before for now, before in zip(self.read(), self.before))
        seconds = time.perf_counter() - self.begun
        return seconds, server, max(0, everything - server - ours) / (seconds * os.cpu_count()) * 100
