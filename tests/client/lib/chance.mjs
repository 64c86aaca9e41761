// Chance that can be repeated: what happens follows from a seed.

/** Numbers from 0 up to 1, by the generator mulberry32. */
export function createChance(seed) {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    random,
    below: most => Math.floor(random() * most),
    pick: list => list[Math.floor(random() * list.length)],
    /** One of the names, each as often as its number says. */
    weighed(weights) {
      let at = random() * Object.values(weights).reduce((sum, weight) => sum + weight, 0)
      return Object.entries(weights).find(([, weight]) => (at -= weight) < 0)[0]
    },
  }
}
