// Where backups are kept: the port, its errors and the rule for names. Folders and buckets of S3-compatible servers implement it.
import { OperationalError } from '../../kernel/errors.ts'

/** A folder, or a prefix of an S3-compatible bucket, in which backups are kept. */
export interface BackupPlace {
  /** `file:///…` or `s3://bucket/prefix`, never with secrets. */
  readonly address: string
  /**
   * Stores an object, replacing one of the same name; it is visible only when it is complete. A body that fails stores nothing.
   * `sizeHint`: about the length of a stream, bytes; above 80 GB an S3-compatible server needs it. Rejects with PlaceError, or with
   * the error of the body.
   */
  put(name: string, body: ReadableStream<Uint8Array> | Uint8Array, sizeHint?: number): Promise<void>
  /** The content of an object, read in parts while it is consumed. Rejects with PlaceError; the stream fails with it. */
  get(name: string): Promise<ReadableStream<Uint8Array>>
  /** Complete objects whose names begin with `prefix`, in no particular order. Names that `isPlaceName` refuses are left out. */
  list(prefix: string): AsyncIterable<PlacedObject>
  /** Removes an object. Does nothing if it does not exist. */
  remove(name: string): Promise<void>
  /** Removes what interrupted uploads have left, if `isAbandoned` is true for their name and start. Returns how many. */
  removeIncomplete(isAbandoned: (name: string, startedMs: number) => boolean): Promise<number>
}

/** A complete object of a place. */
export interface PlacedObject {
  readonly name: string
  readonly size: number
  readonly modifiedMs: number
}

/**
 * A place did not do what it was asked. `absent`: the object, bucket or folder does not exist; `refused`: credentials or rights;
 * `unreachable`: no answer, also after repetitions; `failed`: anything else.
 */
export class PlaceError extends OperationalError {
  override readonly name: string = 'PlaceError'
  readonly reason: 'absent' | 'refused' | 'unreachable' | 'failed'
  constructor(reason: PlaceError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

const NAME_LENGTH_MAX = 512
/** No segment begins with a dot: those are hidden files and temporary ones, or leave the folder. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/

/** True for a name that an object of a place may have: segments of letters, digits, `.`, `_` and `-`, separated by `/`. */
export function isPlaceName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && NAME.test(name)
}

/** Throws a plain Error if the name of an object is not allowed: names are made by this program. */
export function requirePlaceName(name: string): void {
  if (!isPlaceName(name)) throw new Error(`\`${name}\` is not a name of an object in a place of backups`)
}
