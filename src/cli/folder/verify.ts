// The command `verify`: reads everything in a data folder. Each environment is read in its own process, because a
// damaged page can crash its reader. Exit code 1 means damage and nothing else
// (docs/decisions/0020-integrity-checks.md).
import { accessSync, constants, type Dirent, existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { auditLogFindings } from '../../audit/seal/check-log-files.ts'
import {
  AUDIT_FOLDER,
  AUDIT_INDEX_FOLDER,
  AUDIT_LOGS_FOLDER,
  CONFIGURATION_FOLDER,
  DATA_FILE,
  LMDB_LOCK_FILE,
} from '../../kernel/folder/data-folder.ts'
import { type VerifyProgress, verifyFolder } from '../../store/integrity/verify-folder.ts'
import { baseName, interruptedMigrationMessage } from '../../store/lmdb/environment-folder.ts'
import { LayoutError } from '../../store/lmdb/layout.ts'
import { CliError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { selfCommand, VERIFY_FOLDER_COMMAND } from '../settings/self-command.ts'
import { lostLogFindings } from './lost-audit-logs.ts'

const NO_PERMISSION = 'no permission to read it or to write its lock.mdb'

/** One line of the child's output. */
interface VerifyMessage {
  /** The part that is being read. */
  readonly at?: string
  /** With `at`: the share of the environment that has been read, 0 to 1. */
  readonly share?: number
  readonly finding?: string
  /** An element that an earlier version stored, which is not damage. */
  readonly notice?: string
  /** Why the environment cannot be read. */
  readonly refused?: string
  readonly done?: true
}

interface FolderVerdict {
  readonly folder: string
  readonly findings: readonly string[]
  /** Elements that an earlier version stored, and this version would refuse or store in another way; losses that were acknowledged. */
  readonly notices?: readonly string[]
  readonly refused: string | null
}

/**
 * Runs `verify` and sets the exit code of the process. Rejects with CliError if it cannot find or read the environments; its
 * exit code is not that of damage.
 */
export async function verify(dataDir: string, json: boolean): Promise<void> {
  try {
    process.exitCode = await verifyFolders(dataDir, json)
  } catch (fault) {
    if (fault instanceof CliError) throw fault
    const { code, syscall, message, stack } = fault as NodeJS.ErrnoException
    const isSystemError = code !== undefined && syscall !== undefined
    throw new CliError([isSystemError ? message : (stack ?? String(fault))], exitCodes.usage.code)
  }
}

/** Returns the exit code. */
async function verifyFolders(dataDir: string, json: boolean): Promise<number> {
  const { folders, closed } = foldersIn(dataDir)
  if (folders.length + closed.length === 0) {
    throw new CliError([`the folder ${dataDir} contains no store`], exitCodes.usage.code)
  }
  const progress = progressLine(`opening ${dataDir}`)
  const total = folders.reduce((sum, folder) => sum + bytesIn(join(dataDir, folder)), 0)
  let done = 0
  const verdicts: FolderVerdict[] = closed.map((folder) => ({ folder, findings: [], refused: NO_PERMISSION }))
  if (!json) for (const verdict of verdicts) printVerdict(verdict)
  for (const folder of folders) {
    progress.show(done, total, `${folder}: opening`)
    const refused =
      baseName(folder) !== folder
        ? interruptedMigrationMessage(folder)
        : isUnreadable(join(dataDir, folder))
          ? NO_PERMISSION
          : null
    const verdict =
      refused === null
        ? {
            ...(await verifyInChildProcess(join(dataDir, folder), (at, share) =>
              progress.show(done + share * bytesIn(join(dataDir, folder)), total, `${folder}: ${at}`),
            )),
            folder,
          }
        : { folder, findings: [], refused }
    done += bytesIn(join(dataDir, folder))
    verdicts.push(verdict)
    progress.clear()
    if (!json) printVerdict(verdict)
  }
  const hasIndex = folders.includes(join(AUDIT_FOLDER, AUDIT_INDEX_FOLDER))
  const isReadable = verdicts.some(
    ({ folder, findings, refused }) => folder === CONFIGURATION_FOLDER && refused === null && findings.length === 0,
  )
  const audit = await verifyAuditFiles(dataDir, hasIndex, isReadable)
  if (hasIndex || audit.findings.length > 0 || audit.notices !== undefined) {
    verdicts.push(audit)
    progress.clear()
    if (!json) printVerdict(audit)
  }
  progress.end()
  const damaged = verdicts.filter(({ findings }) => findings.length > 0)
  const refused = verdicts.filter((verdict) => verdict.refused !== null)
  if (json) printJson({ sound: damaged.length + refused.length === 0, folders: verdicts })
  if (damaged.length > 0) return exitCodes.failure.code
  return refused.length > 0 ? exitCodes.usage.code : exitCodes.success.code
}

/**
 * Compares the right edge of the tree of each audit log with its state in the index, and the index with the newest states that the
 * configuration knows. `audit verify` reads all entries. A damaged index or configuration is reported elsewhere.
 */
async function verifyAuditFiles(dataDir: string, hasIndex: boolean, hasConfiguration: boolean): Promise<FolderVerdict> {
  const folder = join(AUDIT_FOLDER, AUDIT_LOGS_FOLDER)
  try {
    const lost = hasConfiguration ? await lostLogFindings(dataDir) : null
    const findings = hasIndex ? await auditLogFindings(join(dataDir, AUDIT_FOLDER), lost?.missing) : []
    const notices = lost !== null && lost.acknowledged.length > 0 ? { notices: lost.acknowledged } : {}
    return { folder, findings: [...(lost?.findings ?? []), ...findings], ...notices, refused: null }
  } catch (failure) {
    return { folder, findings: [], refused: failure instanceof Error ? failure.message : String(failure) }
  }
}

/** The length of the data file; 0 if it cannot be read, which is reported elsewhere. */
function bytesIn(folder: string): number {
  try {
    return statSync(join(folder, DATA_FILE)).size
  } catch {
    return 0
  }
}

function printVerdict({ folder, findings, notices = [], refused }: FolderVerdict): void {
  if (refused !== null) printLine(`${colours.red('not read')} ${folder}: ${refused}`)
  else if (findings.length === 0) printLine(`${colours.green('sound')}    ${folder}`)
  for (const finding of findings) printLine(`${colours.red('damaged')}  ${folder}: ${finding}`)
  for (const notice of notices) printLine(`${colours.yellow('notice')}   ${folder}: ${notice}`)
}

/** Paths of environments below the data folder, the configuration first, and paths that this user cannot read. */
function foldersIn(dataDir: string): { folders: string[]; closed: string[] } {
  const environments: string[] = []
  const unreadable: string[] = []
  // It has many folders and no environment.
  const logs = join(dataDir, AUDIT_FOLDER, AUDIT_LOGS_FOLDER)
  const visit = (folder: string): void => {
    const names = entriesOf(folder)
    if (names === null) {
      unreadable.push(relative(dataDir, folder) || dataDir)
      return
    }
    // A folder with a lock file and without data file has lost its data.
    if (names.some(({ name }) => name === DATA_FILE || name === LMDB_LOCK_FILE))
      environments.push(relative(dataDir, folder))
    for (const entry of names)
      if (entry.isDirectory() && join(folder, entry.name) !== logs) visit(join(folder, entry.name))
  }
  if (existsSync(dataDir)) visit(dataDir)
  const folders = environments.sort(
    (a, b) => Number(b === CONFIGURATION_FOLDER) - Number(a === CONFIGURATION_FOLDER) || (a < b ? -1 : 1),
  )
  return { folders, closed: unreadable }
}

/** Null: no permission. */
function entriesOf(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (fault) {
    if (isPermissionError(fault)) return null
    throw fault
  }
}

/**
 * Without permissions, a sound environment would look damaged: a reader must also register in the lock file, or writers
 * overwrite its pages.
 */
function isUnreadable(folder: string): boolean {
  return (
    isForbidden(join(folder, DATA_FILE), constants.R_OK) || isForbidden(join(folder, LMDB_LOCK_FILE), constants.W_OK)
  )
}

function isForbidden(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return false
  } catch (fault) {
    return isPermissionError(fault)
  }
}

function isPermissionError(fault: unknown): boolean {
  const { code } = fault as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EPERM'
}

/**
 * Verifies one environment in a child process. An unexpected end of the child is reported as damage at the place that
 * it was reading.
 */
async function verifyInChildProcess(
  folder: string,
  progress: VerifyProgress = () => {},
): Promise<Omit<FolderVerdict, 'folder'>> {
  const child = Bun.spawn(selfCommand([VERIFY_FOLDER_COMMAND, folder]), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const lines: VerifyMessage[] = []
  const read = async (): Promise<void> => {
    for await (const line of linesIn(child.stdout)) {
      // A child that ends suddenly may leave a part of a line.
      if (!line.endsWith('}')) continue
      const message = JSON.parse(line) as VerifyMessage
      lines.push(message)
      if (message.at !== undefined) progress(message.at, message.share ?? 0)
    }
  }
  const [errors] = await Promise.all([child.stderr.text(), read(), child.exited])
  const findings = lines.flatMap(({ finding }) => (finding === undefined ? [] : [finding]))
  const refused = lines.find((line) => line.refused !== undefined)?.refused ?? null
  const notices = lines.flatMap(({ notice }) => (notice === undefined ? [] : [notice]))
  if (lines.some(({ done }) => done) || refused !== null)
    return { findings, ...(notices.length > 0 ? { notices } : {}), refused }
  const last = lines.findLast(({ at }) => at !== undefined)?.at ?? 'the file'
  const how = child.signalCode === null ? `with code ${child.exitCode}` : `by ${child.signalCode}`
  // It ended before it read anything, which is no sign of damage.
  if (lines.length === 0)
    return { findings, refused: `the verifying process ended ${how}: ${errors.trim().slice(0, 500)}` }
  return { findings: [...findings, `the process ended ${how} while reading ${last}`], refused: null }
}

async function* linesIn(stream: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Runs the hidden command of the child process: verifies the environment and prints JSON lines. */
export async function runVerifyFolder(folder: string): Promise<void> {
  const send = (line: VerifyMessage): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
  try {
    const findings = await verifyFolder(
      folder,
      (at, share) => send({ at, share }),
      (notice) => send({ notice }),
    )
    for (const finding of findings) send({ finding })
    send({ done: true })
  } catch (fault) {
    if (!(fault instanceof LayoutError || fault instanceof CliError)) throw fault
    send({ refused: fault.message })
  }
}
