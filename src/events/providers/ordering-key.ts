// Ordering keys within the limits of a receiver.
import { createHash } from 'node:crypto'

/** The key, or a hash of it if it has more bytes than the receiver accepts. Equal keys stay equal. */
export function boundedKey(key: string, bytesMax: number): string {
  return Buffer.byteLength(key) <= bytesMax ? key : createHash('sha256').update(key).digest('hex')
}
