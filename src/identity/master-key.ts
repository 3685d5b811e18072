// Where the master key comes from: the environment, or a file of its own beside the database, made on the first start.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorFault } from '../kernel/errors.ts'
import { MASTER_KEY_BYTES } from './secret-box.ts'

export const masterKeyVariable = 'VERDIGRAPH_MASTER_KEY'
const FILE = 'master.key'

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
  const path = join(source.dataDir, FILE)
  if (existsSync(path)) return decodeKey(readKeyFile(path), path)
  if (!source.mayCreate) {
    throw new OperatorFault(`the data folder has lost its ${FILE}: put it back, or set ${masterKeyVariable}`)
  }
  const key = randomBytes(MASTER_KEY_BYTES)
  mkdirSync(source.dataDir, { recursive: true })
  // `wx`: of two processes that start at once, one fails here and not later at a secret of the other.
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, `${key.toString('base64url')}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return key
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (failure) {
    throw new OperatorFault(`${path} cannot be read: ${(failure as Error).message}`)
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
    throw new OperatorFault(
      `${where} does not hold a master key: expected ${MASTER_KEY_BYTES} bytes in base64 or in hexadecimal`,
    )
  }
  return key
}
