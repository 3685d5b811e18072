// Loads the master key: from the environment, from a credential of the service manager, or from a file in the data folder that the first
// start creates. During a
// rotation there are two keys, and secrets are read with both (docs/decisions/0013-secrets.md).
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
import { MASTER_KEY_FILE, NEXT_MASTER_KEY_FILE } from '../kernel/folder/data-folder.ts'
import { MASTER_KEY_BYTES } from './secret-box.ts'

/** Environment variable with the master key. */
export const masterKeyVariable = 'VERDIGRAPH_MASTER_KEY'
/** Environment variable with the next master key, during a rotation. */
export const nextMasterKeyVariable = 'VERDIGRAPH_MASTER_KEY_NEXT'

/** The credentials with the same keys: files in the folder that CREDENTIALS_DIRECTORY names (systemd.exec(5), `LoadCredential=`). */
const masterKeyCredentials = {
  [masterKeyVariable]: 'verdigraph.master-key',
  [nextMasterKeyVariable]: 'verdigraph.master-key-next',
} as const

/** A master key that the process was given, as text. `where`: for messages. */
interface GivenKey {
  readonly text: string
  readonly where: string
}

/**
 * The key that the process was given: the variable, or the credential in its place. Null: neither. Throws OperationalError if the
 * credential cannot be read.
 */
export function givenMasterKey(
  variable: keyof typeof masterKeyCredentials,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): GivenKey | null {
  const text = environment[variable] ?? ''
  if (text !== '') return { text, where: variable }
  const folder = environment.CREDENTIALS_DIRECTORY ?? ''
  const path = join(folder, masterKeyCredentials[variable])
  return folder === '' || !existsSync(path) ? null : { text: readKeyFile(path), where: path }
}

/** Where to look for the master key. */
export interface MasterKeySource {
  readonly dataDir: string
  /** It takes precedence over the file. */
  readonly given: GivenKey | null
  /** False if the folder already contains secrets, which a new key could not decrypt. */
  readonly mayCreate: boolean
}

/**
 * Returns the 32 bytes of the master key; creates the file if allowed. Throws OperationalError if there is no key, or
 * if it cannot be read or decoded.
 */
export function loadMasterKey(source: MasterKeySource): Uint8Array {
  if (source.given !== null) return decodeKey(source.given.text, source.given.where)
  const path = join(source.dataDir, MASTER_KEY_FILE)
  if (existsSync(path)) return decodeKey(readKeyFile(path), path)
  if (!source.mayCreate) {
    throw new OperationalError(
      `the data folder has no ${MASTER_KEY_FILE}: restore the file or set ${masterKeyVariable}`,
    )
  }
  const key = randomBytes(MASTER_KEY_BYTES)
  mkdirSync(source.dataDir, { recursive: true, mode: 0o700 })
  // `wx`: if two processes start at once, one fails here instead of later with secrets of the other.
  writeKeyFile(path, key, 'wx')
  return key
}

/** The keys to decrypt secrets with. */
export interface MasterKeys {
  readonly current: Uint8Array
  /** Null: no rotation is in progress. */
  readonly next: Uint8Array | null
}

/**
 * Loads both keys, to decrypt secrets: an interrupted rotation may have left some under each. Throws as `loadMasterKey`
 * does.
 */
export function loadMasterKeys(source: MasterKeySource, nextGiven: GivenKey | null): MasterKeys {
  const current = loadMasterKey(source)
  return { current, next: loadNext(source, nextGiven) }
}

function loadNext({ dataDir, given }: MasterKeySource, nextGiven: GivenKey | null): Uint8Array | null {
  if (nextGiven !== null) return decodeKey(nextGiven.text, nextGiven.where)
  const path = join(dataDir, NEXT_MASTER_KEY_FILE)
  if (given !== null || !existsSync(path)) return null
  return decodeKey(readKeyFile(path), path)
}

/** Creates the next key of a key that is stored in a file. It is on disk before any secret is encrypted with it. */
export function createNextKey(dataDir: string): Uint8Array {
  const key = randomBytes(MASTER_KEY_BYTES)
  const draft = join(dataDir, `${NEXT_MASTER_KEY_FILE}.tmp`)
  writeKeyFile(draft, key, 'w')
  renameSync(draft, join(dataDir, NEXT_MASTER_KEY_FILE))
  syncFolder(dataDir)
  return key
}

/**
 * Replaces the old key file by the next one, after all secrets are encrypted with the next key. `isNextGiven`: the process was given
 * the next key, so both files are deleted.
 */
export function adoptNextKey(dataDir: string, isNextGiven: boolean): void {
  if (!isNextGiven) renameSync(join(dataDir, NEXT_MASTER_KEY_FILE), join(dataDir, MASTER_KEY_FILE))
  else for (const name of [MASTER_KEY_FILE, NEXT_MASTER_KEY_FILE]) rmSync(join(dataDir, name), { force: true })
  syncFolder(dataDir)
}

function writeKeyFile(path: string, key: Buffer, flags: 'w' | 'wx'): void {
  const file = openSync(path, flags, 0o600)
  try {
    writeFileSync(file, `${key.toString('base64url')}\n`)
    fsyncSync(file)
  } catch (failure) {
    // A partial file, left by a full disk, would later be reported as a wrong key.
    rmSync(path, { force: true })
    throw failure
  } finally {
    closeSync(file)
  }
}

/** Makes a rename durable. */
function syncFolder(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Returns the 32 bytes of a key file. Throws OperationalError if it cannot be read or decoded. */
export function readMasterKeyFile(path: string): Uint8Array {
  return decodeKey(readKeyFile(path), path)
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
      `${where} does not contain a master key: expected ${MASTER_KEY_BYTES} bytes in base64 or in hexadecimal`,
    )
  }
  return key
}
