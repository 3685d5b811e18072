// The command `audit witness`: keeps the last checkpoint of each log in a file, and cosigns a later one only if it is proven to
// continue that one.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { decodeBase64, type LogCheckpoint } from '../../audit/log/checkpoint.ts'
import type { LogFiles } from '../../audit/log/log-files.ts'
import {
  isKeyName,
  type NoteVerifier,
  parseNote,
  signNote,
  witnessSigner,
  witnessVerifierKey,
} from '../../audit/log/signed-note.ts'
import { CHECKPOINT_FILE } from '../../audit/log/tile-folder.ts'
import { TileTree } from '../../audit/log/tile-tree.ts'
import { openCheckpoint, TileMissingError, tileReader } from '../../audit/log/verify-log.ts'
import { parseWitnessRequest, provesContinuation, type WitnessRequest } from '../../audit/log/witness.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { lockFile } from '../../store/process/file-lock.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printDocument, printLine } from '../output/print.ts'
import { keysFrom, type LogSourceFlags, logSource } from './audit-log-source.ts'

/** How long another process may hold the state, in milliseconds. */
const LOCK_TIME_MS = 10_000

/** The options of `audit witness`. */
export interface WitnessFlags extends LogSourceFlags {
  readonly state: string
  /** The name of the new key. */
  readonly init?: string
}

/** The content of the state file. */
interface WitnessState {
  readonly name: string
  /** PKCS 8, DER, base64. */
  readonly privateKey: string
  /** By origin; the root is base64. */
  readonly logs: Readonly<Record<string, { readonly size: number; readonly root: string }>>
}

/** Runs `audit witness`. Rejects with CliError if it refuses to cosign. */
export async function witness(log: string | undefined, flags: WitnessFlags): Promise<void> {
  if (flags.init !== undefined) return createState(flags.state, flags.init)
  if (log === undefined) throw new UsageError(['expected a log, or --init'])
  const verifiers = keysFrom(flags)
  const source = logSource(log === '-' ? '/dev/stdin' : log, flags)
  if (!existsSync(flags.state)) throw new UsageError([`${flags.state} does not exist; create it with --init`])
  const lock = lockFile(`${flags.state}.lock`, 'exclusive', LOCK_TIME_MS)
  if (lock === null) throw new CliError([`${flags.state} is used by another process`])
  try {
    const state = readState(flags.state)
    const request =
      source.kind === 'files'
        ? await requestFor(source.files, state, verifiers, flags)
        : readRequest(readFileSync(source.path, 'utf8'), source.path)
    printDocument(await cosign(request, state, verifiers, flags))
  } finally {
    lock.release()
  }
}

function createState(path: string, name: string): void {
  if (!isKeyName(name))
    throw new UsageError([`--init: expected a name without spaces and plus signs, found \`${name}\``])
  if (existsSync(path)) throw new UsageError([`${path} exists already`])
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const encoded = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
  writeState(path, { name, privateKey: encoded, logs: {} })
  printLine(witnessVerifierKey(name, publicKey))
}

/** Stores the checkpoint before it returns the cosigned note. */
async function cosign(
  { oldSize, proof, note }: WitnessRequest,
  state: WitnessState,
  verifiers: readonly NoteVerifier[],
  flags: WitnessFlags,
): Promise<string> {
  const checkpoint = openedCheckpoint(note, verifiers, flags)
  const last = lastOf(state, checkpoint.origin)
  if (oldSize !== (last?.size ?? 0)) {
    throw new CliError([`the request continues ${oldSize} entries; this witness has cosigned ${last?.size ?? 0}`])
  }
  const proven = provesContinuation(last, checkpoint, proof)
  if (!proven.ok) throw new CliError([`refused: ${proven.error}`])
  const { size } = checkpoint
  const root = Buffer.from(checkpoint.root).toString('base64')
  writeState(flags.state, { ...state, logs: { ...state.logs, [checkpoint.origin]: { size, root } } })
  const { text } = partsOf(note)
  const signer = witnessSigner(state.name, keyOf(state), Math.floor(systemClock.now() / 1000))
  return note + (await signNote(text, [signer])).slice(text.length + 1)
}

/** Reads the checkpoint of a log, and proves from its tiles that it continues the last one. */
async function requestFor(
  files: LogFiles,
  state: WitnessState,
  verifiers: readonly NoteVerifier[],
  flags: WitnessFlags,
): Promise<WitnessRequest> {
  const bytes = await files.read(CHECKPOINT_FILE)
  if (bytes === null) throw new CliError(['the log has no checkpoint'])
  const note = Buffer.from(bytes).toString()
  const checkpoint = openedCheckpoint(note, verifiers, flags)
  const oldSize = lastOf(state, checkpoint.origin)?.size ?? 0
  if (oldSize > checkpoint.size) return { oldSize, proof: [], note }
  try {
    const proof = await new TileTree(tileReader(files)).consistencyProof(oldSize, checkpoint.size)
    return { oldSize, proof, note }
  } catch (fault) {
    if (fault instanceof TileMissingError) throw new CliError([`refused: the log is incomplete: ${fault.message}`])
    throw fault
  }
}

function readRequest(text: string, path: string): WitnessRequest {
  const request = parseWitnessRequest(text)
  if (!request.ok) throw new UsageError([`${path}: ${request.error}`])
  return request.value
}

function openedCheckpoint(note: string, verifiers: readonly NoteVerifier[], { origin }: WitnessFlags): LogCheckpoint {
  const opened = openCheckpoint(note, { verifiers, origin: origin ?? null })
  if (!opened.ok) throw new CliError([`refused: ${opened.error}`])
  return opened.value.checkpoint
}

function partsOf(note: string): { readonly text: string } {
  const parsed = parseNote(note)
  if (!parsed.ok) throw new CliError([`refused: ${parsed.error}`])
  return parsed.value
}

function lastOf({ logs }: WitnessState, origin: string): Pick<LogCheckpoint, 'size' | 'root'> | null {
  const last = Object.hasOwn(logs, origin) ? logs[origin] : undefined
  return last === undefined ? null : { size: last.size, root: Buffer.from(last.root, 'base64') }
}

function keyOf({ privateKey }: WitnessState): KeyObject {
  return createPrivateKey({ key: Buffer.from(privateKey, 'base64'), format: 'der', type: 'pkcs8' })
}

/** Throws UsageError: without its state, a witness would cosign a fork. */
function readState(path: string): WitnessState {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as WitnessState
    const isValid =
      isKeyName(state.name) &&
      createPublicKey(keyOf(state)).asymmetricKeyType === 'ed25519' &&
      Object.values(state.logs).every(
        ({ size, root }) => Number.isSafeInteger(size) && decodeBase64(root)?.length === 32,
      )
    if (isValid) return state
  } catch {
    // Reported below.
  }
  throw new UsageError([`${path} is not the state of a witness, or is damaged`])
}

/** Replaces the file in one step; durable when it returns. */
function writeState(path: string, state: WitnessState): void {
  const temporary = `${path}.new`
  const file = openSync(temporary, 'w', 0o600)
  writeSync(file, `${JSON.stringify(state, null, 2)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(temporary, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
