// Where the master key comes from: the environment, or a file of its own beside the database, made on the first start.
// While it is replaced there are two, and whoever reads secrets knows both.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../kernel/errors.ts'
import { MASTER_KEY_BYTES } from './secret-box.ts'

export const masterKeyVariable = 'VERDIGRAPH_MASTER_KEY'
/** The key that is to take its place; the same in the environment. */
export const nextMasterKeyVariable = 'VERDIGRAPH_MASTER_KEY_NEXT'
const KEY_FILE = 'master.key'
const NEXT_KEY_FILE = 'master.key.next'

export interface MasterKeySource {
  readonly dataDir: string
  /** The value of `masterKeyVariable`; it goes before the file. */
  readonly fromEnvironment: string | undefined
  /** False when the folder holds secrets already: a new key could not open them. */
  readonly mayCreate: boolean
}

/** Throws OperatorFault. */
export function loadMasterKey(source: MasterKeySource): Uint8Array {
  if (source.fromEnvironment !== undefined && source.fromEnvironment !== '') {
    return decodeKey(source.fromEnvironment, masterKeyVariable)
  }
  const path = join(source.dataDir, KEY_FILE)
  if (existsSync(path)) return decodeKey(readKeyFile(path), path)
  if (!source.mayCreate) {
    throw new OperationalError(`the data folder has lost its ${KEY_FILE}: put it back, or set ${masterKeyVariable}`)
  }
  const key = randomBytes(MASTER_KEY_BYTES)
  mkdirSync(source.dataDir, { recursive: true, mode: 0o700 })
  // `wx`: of two processes that start at once, one fails here and not later at a secret of the other.
  writeKeyFile(path, key, 'wx')
  return key
}

export interface MasterKeys {
  readonly current: Uint8Array
  /** Null: the key is not being replaced. */
  readonly next: Uint8Array | null
}

/** For whoever opens secrets: a rotation that was cut off may have left some under the one key and some under the other. */
export function loadMasterKeys(source: MasterKeySource, nextFromEnvironment: string | undefined): MasterKeys {
  const current = loadMasterKey(source)
  return { current, next: loadNext(source, nextFromEnvironment) }
}

function loadNext({ dataDir, fromEnvironment }: MasterKeySource, nextFromEnvironment = ''): Uint8Array | null {
  if (nextFromEnvironment !== '') return decodeKey(nextFromEnvironment, nextMasterKeyVariable)
  const path = join(dataDir, NEXT_KEY_FILE)
  if ((fromEnvironment ?? '') !== '' || !existsSync(path)) return null
  return decodeKey(readKeyFile(path), path)
}

/** Makes the next key of a key that lies in a file. It is on disk before anything is sealed with it. */
export function createNextKey(dataDir: string): Uint8Array {
  const key = randomBytes(MASTER_KEY_BYTES)
  const draft = join(dataDir, `${NEXT_KEY_FILE}.tmp`)
  writeKeyFile(draft, key, 'w')
  renameSync(draft, join(dataDir, NEXT_KEY_FILE))
  syncFolder(dataDir)
  return key
}

/** When everything is sealed with it: the next key takes the place of the old one, which is then nowhere any more. */
export function adoptNextKey(dataDir: string, nextFromEnvironment = ''): void {
  if (nextFromEnvironment === '') renameSync(join(dataDir, NEXT_KEY_FILE), join(dataDir, KEY_FILE))
  else for (const name of [KEY_FILE, NEXT_KEY_FILE]) rmSync(join(dataDir, name), { force: true })
  syncFolder(dataDir)
}

function writeKeyFile(path: string, key: Buffer, flags: 'w' | 'wx'): void {
  const file = openSync(path, flags, 0o600)
  try {
    writeFileSync(file, `${key.toString('base64url')}\n`)
    fsyncSync(file)
  } catch (failure) {
    // On a full disk: what is left of it would be taken for a key that is wrong.
    rmSync(path, { force: true })
    throw failure
  } finally {
    closeSync(file)
  }
}

/** A rename is not on disk before its folder is. */
function syncFolder(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (failure) {
    throw new OperationalError(`${path} cannot be read: ${(failure as Error).message}`)
  }
}

function decodeKey(text: string, where: string): Uint8Array {
  const trimmed = text.trim()
  const key = /^[0-9a-fA-F]{64}$/.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, 'base64')
      : null
  if (key?.length !== MASTER_KEY_BYTES) {
    throw new OperationalError(
      `${where} does not hold a master key: expected ${MASTER_KEY_BYTES} bytes in base64 or in hexadecimal`,
    )
  }
  return key
}
