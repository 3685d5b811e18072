// Where the commands of the group `audit` find a log and its keys: a folder, a file, or the URL of the tiles.

import { readFileSync, statSync } from 'node:fs'
import type { LogCheckpoint } from '../../audit/log/checkpoint.ts'
import { folderFiles, type LogFiles } from '../../audit/log/log-files.ts'
import { type NoteVerifier, parseVerifierKey } from '../../audit/log/signed-note.ts'
import { openCheckpoint } from '../../audit/log/verify-log.ts'
import { backoffMs } from '../../kernel/time/backoff.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { tokenVariable } from '../settings/environment-variables.ts'
import { sendRequest, unreachable } from '../target/send-request.ts'

/** How long the service may take to answer, in milliseconds. */
const ANSWER_TIME_MS = 60_000
/** How often a request is sent if the service is busy: a large log has thousands of files. */
const ATTEMPTS = 6
/** Delay before it is sent again if the service names none. It doubles. */
const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 10_000
const BUSY = [429, 503]

/** The options that the commands have in common. */
export interface LogSourceFlags {
  readonly key: readonly string[]
  readonly origin?: string
  readonly tokenFile?: string
}

/** A log that can be read file by file, or the path of a file. */
type LogSource = { readonly kind: 'files'; readonly files: LogFiles } | { readonly kind: 'file'; readonly path: string }

/** Finds the log that the argument names. Throws UsageError if it does not exist. */
export function logSource(log: string, flags: LogSourceFlags): LogSource {
  if (/^https?:\/\//.test(log)) return { kind: 'files', files: urlFiles(log, tokenFrom(flags)) }
  const found = statSync(log, { throwIfNoEntry: false })
  if (found === undefined) throw new UsageError([`${log} does not exist`])
  return found.isDirectory() ? { kind: 'files', files: folderFiles(log) } : { kind: 'file', path: log }
}

/** The keys of `--key`. Throws UsageError if there is no key, or one is malformed. */
export function keysFrom({ key }: LogSourceFlags): readonly NoteVerifier[] {
  if (key.length === 0)
    throw new UsageError(['--key: expected a public key of the log; without it, nothing can be verified'])
  return key.map((vkey) => {
    const verifier = parseVerifierKey(vkey)
    if (!verifier.ok) throw new UsageError([`--key ${vkey.slice(0, 100)}: ${verifier.error}`])
    return verifier.value
  })
}

/** A checkpoint that was kept. Throws UsageError unless it is signed by one of the keys. */
export function readCheckpoint(
  path: string,
  option: string,
  verifiers: readonly NoteVerifier[],
  origin: string | null,
): LogCheckpoint {
  const text = readText(path, option)
  const expected = openCheckpoint(text, { verifiers, origin })
  // It may be of the log that the expected one replaced after a restore.
  const opened = expected.ok ? expected : openCheckpoint(text, { verifiers, origin: null })
  if (!opened.ok) throw new UsageError([`${option} ${path}: ${opened.error}`])
  return opened.value.checkpoint
}

function readText(path: string, option: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (fault) {
    throw new UsageError([`${option} ${path}: ${(fault as Error).message}`])
  }
}

function tokenFrom({ tokenFile }: LogSourceFlags): string | null {
  if (tokenFile !== undefined) return readText(tokenFile, '--token-file').trim()
  const token = process.env[tokenVariable]
  return token === undefined || token === '' ? null : token
}

/** The files of a log that a service provides. */
function urlFiles(url: string, token: string | null): LogFiles {
  const base = url.replace(/\/+$/, '')
  return {
    read: async (path) => {
      const response = await getWhenReady(`${base}/${path}`, token)
      if (response.status === 404) return null
      if (response.ok) return new Uint8Array(await response.arrayBuffer())
      const text = (await response.text()).slice(0, 200)
      throw new CliError([`${base}/${path}: the service answered ${response.status}: ${text}`], exitCodes.usage.code)
    },
    names: async () => [],
  }
}

/** Sends a request again while the service is busy. */
async function getWhenReady(target: string, token: string | null): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await get(target, token)
    if (!BUSY.includes(response.status) || attempt === ATTEMPTS) return response
    await response.body?.cancel()
    const afterMs = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000
    const delayMs = Number.isFinite(afterMs) ? afterMs : backoffMs({ minMs: RETRY_MIN_MS }, attempt)
    await Bun.sleep(Math.min(RETRY_MAX_MS, delayMs))
  }
}

async function get(target: string, token: string | null): Promise<Response> {
  try {
    return await sendRequest(target, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      timeMs: ANSWER_TIME_MS,
    })
  } catch (failure) {
    throw new CliError([unreachable(target, failure)], exitCodes.usage.code)
  }
}
