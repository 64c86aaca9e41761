// The table of bars: what was measured, beside what it may be.

const WIDTHS = [62, 12, 12, 12]

/** The value below which that share of the samples lies. */
export function percentile(samples, share) {
  const sorted = [...samples].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]
}

const shown = (value, unit) => {
  const rounded = Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Number.isInteger(value) ? 0 : 1)
  return `${rounded}${unit ? ` ${unit}` : ''}`
}

const line = cells => cells.map((cell, n) => n === 0 ? cell.padEnd(WIDTHS[0]) : n < WIDTHS.length ? cell.padStart(WIDTHS[n]) : `  ${cell}`).join('')

/** Prints rows as they are measured. `failed()` says whether one is past twice its bar. */
export function table() {
  let isPastTwice = false
  return {
    head: () => console.log(line(['what', 'median', 'p95', 'bar', 'within'])),

    /**
     * @param {string} what
     * @param {number[]} samples
     * @param {{ bar: number, unit?: string, of?: number, chromium?: boolean, note?: string }} how `of` is the share of samples that
     *   the bar is for, one half if none is given; `chromium` marks what no other browser tells.
     */
    row(what, samples, { bar, unit = '', of = 0.5, chromium = false, note = '' }) {
      const value = percentile(samples, of)
      const verdict = value <= bar ? 'yes' : value <= 2 * bar ? 'NO' : 'NO, past twice'
      if (value > 2 * bar) isPastTwice = true
      const name = of === 0.5 ? '' : of === 1 ? ' (most)' : ` (p${of * 100})`
      const remarks = [name && `${name.trim()} is ${shown(value, unit)}`, chromium && 'Chromium alone tells', note].filter(Boolean).join('; ')
      console.log(line([what + name, shown(percentile(samples, 0.5), unit), shown(percentile(samples, 0.95), unit), shown(bar, unit), verdict + (remarks && ` (${remarks})`)]))
    },

    note: text => console.log(`  ${text}`),
    missing: (what, why) => console.log(line([what, '', '', '', `not measured: ${why}`])),
    failed: () => isPastTwice,
  }
}
