// Who reads what: the ground under signals, computed values and effects.

/** Whoever reads now. @type {Reader | null} */
let reader = null

/** Whatever depends on signals. */
export class Reader {
  /** What was read, and which version of it. @type {Map<Source, number>} */
  sources = new Map()

  /** @param {() => void} changed Called when something that was read may have changed. */
  constructor(changed) {
    this.changed = changed
  }

  /**
   * @template T
   * @param {() => T} read
   * @returns {T}
   */
  track(read) {
    this.forget()
    const outer = reader
    reader = this
    try {
      return read()
    } finally {
      reader = outer
    }
  }

  /** Whether something that was read has another value now. */
  isStale() {
    for (const [source, version] of this.sources) {
      source.refresh()
      if (source.version !== version) return true
    }
    return false
  }

  forget() {
    for (const source of this.sources.keys()) source.readers.delete(this)
    this.sources.clear()
  }
}

/** Whatever can be read. */
export class Source {
  /** @type {Set<Reader>} */
  readers = new Set()
  version = 0

  /** Makes the value of a computed one new, if it is stale. */
  refresh() {}

  noteReader() {
    if (!reader) return
    this.readers.add(reader)
    reader.sources.set(this, this.version)
  }

  tellReaders() {
    for (const each of [...this.readers]) each.changed()
  }
}

/**
 * @template T
 * @param {() => T} read
 * @returns {T} What it read, without subscribing the reader.
 */
export function untracked(read) {
  const outer = reader
  reader = null
  try {
    return read()
  } finally {
    reader = outer
  }
}
