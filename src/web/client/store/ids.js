// Identifiers that the client makes, and that of a file.

/** A random UUID. Pages over plain http have no `randomUUID`. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6] & 0x0f) | 0x40
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The identifier of a file, which is that of its upload. @param {string} path Of the upload. */
export const fileOf = path => path.slice(path.lastIndexOf('/') + 1)
