// The command `audit verify`: verifies a log, an export or a checkpoint with nothing but public keys. Exit code 1 means that it is
// not sound and nothing else.
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { LogCheckpoint } from '../../audit/log/checkpoint.ts'
import { type ExportVerdict, NotAnExportError, verifyExport } from '../../audit/log/export-lines.ts'
import type { LogFiles } from '../../audit/log/log-files.ts'
import { equalBytes } from '../../audit/log/merkle.ts'
import { CHECKPOINT_FILE } from '../../audit/log/tile-folder.ts'
import {
  type LogFault,
  type LogVerdict,
  openCheckpoint,
  type VerifyOptions,
  verifyLog,
} from '../../audit/log/verify-log.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine } from '../output/print.ts'
import { keysFrom, type LogSourceFlags, logSource, readCheckpoint } from './audit-log-source.ts'

/** The options of `audit verify`. */
export interface VerifyLogFlags extends LogSourceFlags {
  readonly against?: string
  readonly json: boolean
}

/** A verdict about a log, an export or a checkpoint. */
interface AuditVerdict extends Pick<LogVerdict, 'checkpoint' | 'signedBy' | 'isCompared' | 'faults'> {
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
  const { checkpoint, isCompared, faults } = verdict
  if (against !== null && checkpoint !== null && !isCompared && faults.length === 0)
    throw new UsageError([`--against: ${whyNotCompared(against, checkpoint)}`])
  if (flags.json) printJson(jsonOf(verdict, against))
  else for (const line of linesOf(verdict, against)) printLine(line)
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
  await expectLog(log, files)
  const verdict = await verifyLog(files, options)
  const { entries, bodies, firstEntry, previous } = verdict
  const extent = [`${entries} entries and ${bodies} payloads read`]
  if (firstEntry > 0)
    extent.push(`the entries before ${firstEntry} were removed by retention; their hashes are verified`)
  if (previous !== null) {
    const reason = previous.isDamaged ? 'because its files were changed or removed' : 'after a restore'
    extent.push(`replaced the log ${previous.origin} at ${previous.size} entries, ${reason}`)
  }
  const replaced = previous === null ? null : { origin: previous.origin, size: previous.size }
  return { ...verdict, extent, members: { entries, bodies, firstEntry, previous: replaced } }
}

/** Throws UsageError if nothing of a log is there. The folder of a project has one log for each history. */
async function expectLog(log: string, files: LogFiles): Promise<void> {
  if ((await files.read(CHECKPOINT_FILE)) !== null || (await files.read('tile/0/000')) !== null) return
  const names = await files.names('.')
  if (names.includes('tile')) return
  const logs: string[] = []
  for (const name of names) if ((await files.read(`${name}/${CHECKPOINT_FILE}`)) !== null) logs.push(name)
  const below = logs.length === 0 ? '' : `; there are logs below: ${logs.join(', ')}`
  throw new UsageError([`${log} is not the folder of an audit log: it has no ${CHECKPOINT_FILE} and no tiles${below}`])
}

async function verdictOfFile(path: string, options: VerifyOptions): Promise<AuditVerdict> {
  if (!(await startsAsExport(path))) return verdictOfCheckpoint(readFileSync(path, 'utf8'), options)
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  try {
    return ofExport(await verifyExport(lines, options))
  } catch (fault) {
    if (fault instanceof NotAnExportError) throw new UsageError([`${path}: ${fault.message}`])
    throw fault
  }
}

async function startsAsExport(path: string): Promise<boolean> {
  return (await Bun.file(path).slice(0, 1).text()) === '{'
}

function ofExport(verdict: ExportVerdict): AuditVerdict {
  const { entries, bodies, batches, from, to, isSelection } = verdict
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
    return { checkpoint: null, signedBy: [], isCompared: false, faults: [fault], extent, members: {} }
  }
  const { checkpoint } = opened.value
  const { against } = options
  const isCompared = against !== null && against.origin === checkpoint.origin && against.size >= checkpoint.size
  const faults = isCompared ? comparedFaults(checkpoint, against) : []
  return { ...opened.value, isCompared, faults, extent, members: {} }
}

function comparedFaults(checkpoint: LogCheckpoint, against: LogCheckpoint): LogFault[] {
  if (against.size > checkpoint.size) {
    const message = `the other checkpoint has ${against.size} entries, this one has ${checkpoint.size}`
    return [{ kind: 'removed', index: checkpoint.size, message }]
  }
  if (equalBytes(against.root, checkpoint.root)) return []
  return [{ kind: 'forked', index: null, message: `two signed logs of ${against.size} entries differ` }]
}

function whyNotCompared(against: LogCheckpoint, { origin, size }: LogCheckpoint): string {
  if (against.origin !== origin)
    return `it is a checkpoint of the log ${against.origin}, and this is the log ${origin}; verify the folder of that log with it`
  return `a checkpoint of ${against.size} entries cannot be compared with this file of ${size}; verify the folder of the log, or an export of all its entries`
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
