// A backup that is read: a file, or an object of a place. Both may be encrypted.
import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { OperationalError } from '../kernel/errors.ts'
import { decryptStream } from './encryption.ts'
import type { BackupPlace, PlacedObject } from './places/place.ts'

/** A backup that can be read, repeatedly. */
export interface BackupSource {
  /** The path or the address, for messages. */
  readonly label: string
  /** Length as it is stored, bytes. */
  readonly bytes: number
  /** The archive, decrypted if necessary. Rejects with OperationalError. */
  open(): Promise<ReadableStream<Uint8Array>>
}

const READ_BYTES = 1 << 20

/** A backup in a file. `identities`: private keys; null: the caller has none. Throws OperationalError if it is not a file. */
export function fileSource(path: string, identities: readonly string[] | null = null): BackupSource {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new OperationalError(`${path} does not exist`)
  if (found.isDirectory()) throw new OperationalError(`${path} is a folder, not a backup file`)
  return {
    label: path,
    bytes: found.size,
    open() {
      const stored = Readable.toWeb(createReadStream(path, { highWaterMark: READ_BYTES })) as ReadableStream<Uint8Array>
      return decryptStream(stored, identities, path)
    },
  }
}

/** A backup in a place. */
export function placeSource(
  place: BackupPlace,
  { name, size }: Pick<PlacedObject, 'name' | 'size'>,
  identities: readonly string[] | null,
): BackupSource {
  const label = `${place.address}/${name}`
  return { label, bytes: size, open: async () => decryptStream(await place.get(name), identities, label) }
}
