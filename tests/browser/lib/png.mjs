// Pictures for tests.
import zlib from 'node:zlib'

const BLUE = [70, 130, 180]
const SAND = [230, 200, 150]

/** A picture of one colour, or with another one on its right side (PNG, third edition). @param {number} width @param {number} height @param {boolean} [hasSides] */
export function png(width, height, hasSides = false) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(zlib.crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2], 8)
  const line = Buffer.concat([Buffer.from([0]), Buffer.alloc(Math.floor(width / 2) * 3, Buffer.from(BLUE)), Buffer.alloc(Math.ceil(width / 2) * 3, Buffer.from(hasSides ? SAND : BLUE))])
  const lines = zlib.deflateSync(Buffer.concat(Array.from({ length: height }, () => line)))
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', head), chunk('IDAT', lines), chunk('IEND', Buffer.alloc(0))])
}
