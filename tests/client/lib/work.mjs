// The work that something costs, whatever else the machine does.

/**
 * The CPU time that `act` takes, in milliseconds: the least of some rounds, which end with the first at or under `enough`. The elapsed
 * time would depend on what else runs.
 */
export function leastWork(act, { rounds = 20, enough = 0 } = {}) {
  let least = Infinity
  for (let round = 0; round < rounds && least > enough; round += 1) {
    const before = process.cpuUsage()
    act()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
