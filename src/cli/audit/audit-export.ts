// The commands `audit export` and `audit keys`: read an audit log and its public keys from a running service.
import { once } from 'node:events'
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { AuditTreesAnswer } from '../../audit/read/read-operations.ts'
import type { Settings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printLine } from '../output/print.ts'
import { projectIdAt } from '../target/named-project.ts'
import { ServiceClient } from '../target/service-client.ts'

/** The options of `audit keys`. */
export interface LogKeysFlags {
  readonly project: string
  readonly url?: string
  readonly generation?: string
}

/** The options of `audit export`. */
export interface ExportLogFlags extends LogKeysFlags {
  readonly out: string
  readonly type?: string
  readonly actor?: string
  readonly resource?: string
  readonly from?: string
  readonly to?: string
}

const FILTERS = ['generation', 'type', 'actor', 'resource', 'from', 'to'] as const
/** The beginning of the last line of an export. */
const END = Buffer.from('{"end":')
const TAIL_BYTES = 64

/** Runs `audit export`. Rejects with CliError; there is no file then. */
export async function exportAuditLog(settings: Settings, flags: ExportLogFlags): Promise<void> {
  const { out, project } = flags
  if (existsSync(out)) throw new UsageError([`--out: ${out} exists already`])
  const client = new ServiceClient(settings, flags.url ?? null)
  const query = new URLSearchParams({ project_id: await projectIdAt(client, project) })
  for (const name of FILTERS) if (flags[name] !== undefined) query.set(name, flags[name])
  const { body } = await client.open(`/audit/v1/export?${query}`)
  const partial = `${out}.partial`
  try {
    const { bytes, isComplete } = await write(body ?? new ReadableStream(), partial)
    if (!isComplete)
      throw new CliError([`the export ended after ${bytes} bytes, before its last line; the service may have stopped`])
    renameSync(partial, out)
    printLine(`${out}: ${bytes} bytes`)
  } catch (failure) {
    rmSync(partial, { force: true })
    throw failure instanceof CliError ? failure : new CliError([`the export failed: ${String(failure)}`])
  }
}

async function write(
  body: ReadableStream<Uint8Array>,
  path: string,
): Promise<{ readonly bytes: number; readonly isComplete: boolean }> {
  const file = createWriteStream(path, { flags: 'w', mode: 0o600 })
  let bytes = 0
  let tail = Buffer.alloc(0)
  for await (const chunk of body) {
    bytes += chunk.length
    tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES)
    if (!file.write(chunk)) await once(file, 'drain')
  }
  file.end()
  await finished(file)
  const lines = tail.subarray(0, -1)
  return {
    bytes,
    isComplete: lines
      .subarray(lines.lastIndexOf(10) + 1)
      .subarray(0, END.length)
      .equals(END),
  }
}

/** Runs `audit keys`. Rejects with CliError. */
export async function printLogKeys(settings: Settings, { project, url, generation }: LogKeysFlags): Promise<void> {
  const client = new ServiceClient(settings, url ?? null)
  const { generations } = (await client.get(
    `/audit/v1/tlog?${new URLSearchParams({ project_id: await projectIdAt(client, project) })}`,
  )) as AuditTreesAnswer
  const found =
    generation === undefined ? generations.at(-1) : generations.find((each) => each.generation === generation)
  if (found === undefined)
    throw new CliError([
      generation === undefined
        ? 'the audit log has no entries yet'
        : `--generation: the log has ${generations.map((each) => each.generation).join(', ')}`,
    ])
  for (const key of found.verifier_keys) printLine(key)
}
