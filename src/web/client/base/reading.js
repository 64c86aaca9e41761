// Who reads what: the ground under signals, computed values and effects.

/** Whoever reads now. @type {Reader | null} */
let reader = null

/** Whatever depends on signals. */
export class Reader {
  /** What was read, and which version of it. @type {Map<Source, number>} */
  sources = new Map()
  #listens

  /**
   * @param {() => void} changed Called when something that was read may have changed.
   * @param {boolean} listens Whether it is called; if not, nothing that was read holds this reader.
   */
  constructor(changed, listens) {
    this.changed = changed
    this.#listens = listens
  }

  get listens() {
    return this.#listens
  }

  set listens(listens) {
    this.#listens = listens
    for (const source of this.sources.keys()) {
      if (listens) source.add(this)
      else source.remove(this)
    }
  }

  /** @param {Source} source */
  note(source) {
    this.sources.set(source, source.version)
    if (this.#listens) source.add(this)
  }

  /**
   * @template T
   * @param {() => T} read
   * @returns {T}
   */
  track(read) {
    const before = this.sources
    this.sources = new Map()
    const outer = reader
    reader = this
    try {
      return read()
    } finally {
      reader = outer
      for (const source of before.keys()) if (!this.sources.has(source)) source.remove(this)
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
    for (const source of this.sources.keys()) source.remove(this)
    this.sources.clear()
  }
}

/** Whatever can be read. */
export class Source {
  /** @type {Set<Reader> | null} */
  #readers = null
  version = 0

  /** Makes the value of a computed one new, if it is stale. */
  refresh() {}

  /** @param {boolean} _isHeard Whether anybody listens, from now on. */
  heard(_isHeard) {}

  noteReader() {
    reader?.note(this)
  }

  /** @param {Reader} reader */
  add(reader) {
    this.#readers ??= new Set()
    this.#readers.add(reader)
    if (this.#readers.size === 1) this.heard(true)
  }

  /** @param {Reader} reader */
  remove(reader) {
    if (this.#readers?.delete(reader) && this.#readers.size === 0) this.heard(false)
  }

  tellReaders() {
    if (this.#readers) for (const each of [...this.#readers]) each.changed()
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
