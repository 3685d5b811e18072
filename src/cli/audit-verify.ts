// The command `audit verify`: verifies a log, an export or a checkpoint with nothing but public keys. Exit code 1 means that it is
// not sound and nothing else.
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type ExportVerdict, NotAnExportError, verifyExport } from '../audit/log/export-lines.ts'
import type { LogFiles } from '../audit/log/log-files.ts'
import { equalBytes } from '../audit/log/merkle.ts'
import { CHECKPOINT_FILE } from '../audit/log/tile-folder.ts'
import {
  type LogFault,
  type LogVerdict,
  openCheckpoint,
  type VerifyOptions,
  verifyLog,
} from '../audit/log/verify-log.ts'
import { keysFrom, type LogSourceFlags, logSource, readCheckpoint } from './audit-log-source.ts'
import { CliError, UsageError } from './cli-error.ts'
import { colours } from './colours.ts'
import { exitCodes } from './exit-codes.ts'

/** The options of `audit verify`. */
export interface VerifyLogFlags extends LogSourceFlags {
  readonly against?: string
  readonly json: boolean
}

/** A verdict about a log, an export or a checkpoint. */
interface AuditVerdict extends Pick<LogVerdict, 'checkpoint' | 'signedBy' | 'faults'> {
  /** What was verified, for the text output. */
  readonly extent: readonly string[]
  /** Members of the JSON output. */
  readonly members: object
}

/** Runs `audit verify` and sets the exit code of the process. Rejects with CliError if the log cannot be read. */
export async function verifyAuditLog(log: string, flags: VerifyLogFlags): Promise<void> {
  const verifiers = keysFrom(flags)
  const origin = flags.origin ?? null
  const against = flags.against === undefined ? null : readCheckpoint(flags.against, '--against', verifiers, origin)
  const options: VerifyOptions = { verifiers, origin, against }
  const source = logSource(log, flags)
  const verdict = await readable(log, () =>
    source.kind === 'files' ? verdictOfLog(log, source.files, options) : verdictOfFile(source.path, options),
  )
  const found = verdict.checkpoint
  if (found !== null && against !== null && against.origin !== found.origin) {
    throw new UsageError([`--against is a checkpoint of the log ${against.origin}; ${log} is the log ${found.origin}`])
  }
  if (flags.json) console.log(JSON.stringify(jsonOf(verdict, against)))
  else for (const line of linesOf(verdict, against)) console.log(line)
  process.exitCode = verdict.faults.length === 0 ? exitCodes.success.code : exitCodes.failure.code
}

/** Another failure must not have the exit code of a log that is not sound. */
async function readable<T>(log: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (fault) {
    if (fault instanceof CliError) throw fault
    const { code, syscall, message, stack } = fault as NodeJS.ErrnoException
    const isSystemError = code !== undefined && syscall !== undefined
    throw new CliError(
      [isSystemError ? `${log} cannot be read: ${message}` : (stack ?? String(fault))],
      exitCodes.usage.code,
    )
  }
}

async function verdictOfLog(log: string, files: LogFiles, options: VerifyOptions): Promise<AuditVerdict> {
  if ((await files.read(CHECKPOINT_FILE)) === null && (await files.read('tile/0/000')) === null)
    if ((await files.names('tile')).length === 0)
      throw new UsageError([`${log} has no audit log: expected a ${CHECKPOINT_FILE} and tiles`])
  const verdict = await verifyLog(files, options)
  const { entries, bodies, firstEntry } = verdict
  const extent = [`${entries} entries and ${bodies} payloads read`]
  if (firstEntry > 0)
    extent.push(`the entries before ${firstEntry} were removed by retention; their hashes are verified`)
  return { ...verdict, extent, members: { entries, bodies, firstEntry } }
}

async function verdictOfFile(path: string, options: VerifyOptions): Promise<AuditVerdict> {
  if (!(await startsAsExport(path))) return verdictOfCheckpoint(readFileSync(path, 'utf8'), options)
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  try {
    return ofExport(await verifyExport(lines, options), options)
  } catch (fault) {
    if (fault instanceof NotAnExportError) throw new UsageError([`${path}: ${fault.message}`])
    throw fault
  }
}

async function startsAsExport(path: string): Promise<boolean> {
  return (await Bun.file(path).slice(0, 1).text()) === '{'
}

function ofExport(verdict: ExportVerdict, { against }: VerifyOptions): AuditVerdict {
  const { entries, bodies, batches, from, to, isSelection, isCompared } = verdict
  if (against !== null && !isCompared && verdict.faults.length === 0) {
    throw new UsageError([
      `--against: this export cannot be compared with a checkpoint of ${against.size} entries; export all entries from the first one, or verify the folder`,
    ])
  }
  const range = `${entries} entries, ${bodies} payloads and ${batches} batches read, of the range ${from} to ${to}`
  const extent = isSelection
    ? [range, 'a filter chose the entries: the file cannot show that it has all of them']
    : [range]
  return { ...verdict, extent, members: { entries, bodies, batches, from, to, isSelection } }
}

function verdictOfCheckpoint(note: string, options: VerifyOptions): AuditVerdict {
  const opened = openCheckpoint(note, options)
  const extent = ['a checkpoint alone: no entry was read']
  if (!opened.ok) {
    const fault: LogFault = { kind: 'unsigned', index: null, message: opened.error }
    return { checkpoint: null, signedBy: [], faults: [fault], extent, members: {} }
  }
  const { checkpoint } = opened.value
  return { ...opened.value, faults: comparedFaults(checkpoint, options.against), extent, members: {} }
}

function comparedFaults(
  checkpoint: NonNullable<VerifyOptions['against']>,
  against: VerifyOptions['against'],
): LogFault[] {
  if (against === null) return []
  if (against.size > checkpoint.size) {
    const message = `the other checkpoint has ${against.size} entries, this one has ${checkpoint.size}`
    return [{ kind: 'removed', index: checkpoint.size, message }]
  }
  if (against.size < checkpoint.size)
    throw new UsageError([
      '--against: two checkpoints of different sizes can be compared only with the folder of the log',
    ])
  if (equalBytes(against.root, checkpoint.root)) return []
  return [{ kind: 'forked', index: null, message: `two signed logs of ${against.size} entries differ` }]
}

function jsonOf({ checkpoint, signedBy, faults, members }: AuditVerdict, against: VerifyOptions['against']): object {
  const [first] = faults
  return {
    sound: first === undefined,
    origin: checkpoint?.origin ?? null,
    size: checkpoint?.size ?? null,
    root: checkpoint === null ? null : Buffer.from(checkpoint.root).toString('base64'),
    signedBy,
    ...members,
    against: against?.size ?? null,
    kind: first?.kind ?? null,
    firstBadIndex: first?.index ?? null,
    faults,
  }
}

function linesOf(verdict: AuditVerdict, against: VerifyOptions['against']): readonly string[] {
  const { checkpoint, signedBy, faults, extent } = verdict
  const log = checkpoint === null ? 'the log' : `${checkpoint.origin}, ${checkpoint.size} entries`
  const facts = [
    ...(checkpoint === null ? [] : [`root ${Buffer.from(checkpoint.root).toString('base64')}`]),
    ...signedBy.map((name) => `signed by ${name}`),
    ...extent,
    ...(against !== null && faults.length === 0 ? [`continues the checkpoint of ${against.size} entries`] : []),
  ]
  const state = faults.length === 0 ? colours.green('sound') : colours.red('not sound')
  return [`${state}: ${log}`, ...facts.map((fact) => `  ${fact}`), ...faults.map(faultLine)]
}

function faultLine({ kind, index, message }: LogFault): string {
  return `${colours.red(kind)}${index === null ? '' : ` at entry ${index}`}: ${message}`
}
