// The work that something costs, whatever else the machine does.

/**
 * The least milliseconds of CPU that `act` takes in some rounds: what other processes take is not in them, and a round that is
 * under `enough` ends the rounds. An elapsed time would tell how busy the machine is.
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
