// `verify`: reads everything in a data folder, each environment in a process of its own, because a damaged page can end the
// process that reads it. Exit codes: 0 all is sound, 1 something is damaged, 2 it could not be found out.

import { accessSync, constants, type Dirent, existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { verifyFolder } from '../store/integrity/verify-folder.ts'
import { baseName, DATA_FILE, interruptedMigrationMessage, LOCK_FILE } from '../store/lmdb/environment-folder.ts'
import { LayoutError } from '../store/lmdb/layout.ts'
import { CliError } from './cli-error.ts'
import { colours } from './colours.ts'
import { printError } from './print.ts'
import { selfCommand, VERIFY_FOLDER_COMMAND } from './self-command.ts'

const DAMAGED = 1
const NOT_RUN = 2
const NO_PERMISSION = 'this user may not read it, or not write its lock.mdb'

/** One line of the reading process. */
interface VerifyMessage {
  /** What it is about to read. */
  readonly at?: string
  readonly finding?: string
  /** Why it cannot read at all. */
  readonly refused?: string
  readonly done?: true
}

interface FolderVerdict {
  readonly folder: string
  readonly findings: readonly string[]
  readonly refused: string | null
}

export async function verify(dataDir: string, json: boolean): Promise<void> {
  const { folders, closed } = foldersIn(dataDir)
  if (folders.length + closed.length === 0) {
    printError(`the folder ${dataDir} holds no store`)
    process.exitCode = NOT_RUN
    return
  }
  const verdicts: FolderVerdict[] = closed.map((folder) => ({ folder, findings: [], refused: NO_PERMISSION }))
  if (!json) for (const verdict of verdicts) printVerdict(verdict)
  for (const folder of folders) {
    const refused =
      baseName(folder) !== folder
        ? interruptedMigrationMessage(folder)
        : isUnreadable(join(dataDir, folder))
          ? NO_PERMISSION
          : null
    const verdict =
      refused === null
        ? { ...(await verifyInChildProcess(join(dataDir, folder))), folder }
        : { folder, findings: [], refused }
    verdicts.push(verdict)
    if (!json) printVerdict(verdict)
  }
  const damaged = verdicts.filter(({ findings }) => findings.length > 0)
  const refused = verdicts.filter((verdict) => verdict.refused !== null)
  if (json) console.log(JSON.stringify({ sound: damaged.length + refused.length === 0, folders: verdicts }))
  process.exitCode = damaged.length > 0 ? DAMAGED : refused.length > 0 ? NOT_RUN : 0
}

function printVerdict({ folder, findings, refused }: FolderVerdict): void {
  if (refused !== null) console.log(`${colours.red('not read')} ${folder}: ${refused}`)
  else if (findings.length === 0) console.log(`${colours.green('sound')}    ${folder}`)
  for (const finding of findings) console.log(`${colours.red('damaged')}  ${folder}: ${finding}`)
}

/** Paths below the data folder, the configuration first; and those that this user may not look into. */
function foldersIn(dataDir: string): { folders: string[]; closed: string[] } {
  const found: string[] = []
  const closed: string[] = []
  const look = (folder: string): void => {
    const names = entriesOf(folder)
    if (names === null) {
      closed.push(relative(dataDir, folder) || dataDir)
      return
    }
    // A folder without its data file, and with what stands beside it, has lost it.
    if (names.some(({ name }) => name === DATA_FILE || name === LOCK_FILE)) found.push(relative(dataDir, folder))
    for (const entry of names) if (entry.isDirectory()) look(join(folder, entry.name))
  }
  if (existsSync(dataDir)) look(dataDir)
  const folders = found.sort((a, b) => Number(b === 'config') - Number(a === 'config') || (a < b ? -1 : 1))
  return { folders, closed }
}

/** Null: this user may not. */
function entriesOf(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (fault) {
    if (isPermissionError(fault)) return null
    throw fault
  }
}

/** What this user may not read is not damaged; and a reading that writers do not see would look so. */
function isUnreadable(folder: string): boolean {
  return isForbidden(join(folder, DATA_FILE), constants.R_OK) || isForbidden(join(folder, LOCK_FILE), constants.W_OK)
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

/** Reads the folder in another process, and tells of that one's end what it cannot tell itself. */
export async function verifyInChildProcess(folder: string): Promise<Omit<FolderVerdict, 'folder'>> {
  const child = Bun.spawn(selfCommand([VERIFY_FOLDER_COMMAND, folder]), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [text, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const lines = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as VerifyMessage)
  const findings = lines.flatMap(({ finding }) => (finding === undefined ? [] : [finding]))
  const refused = lines.find((line) => line.refused !== undefined)?.refused ?? null
  if (lines.some(({ done }) => done) || refused !== null) return { findings, refused }
  const last = lines.findLast(({ at }) => at !== undefined)?.at ?? 'the file'
  const how = child.signalCode === null ? `with code ${child.exitCode}` : `by ${child.signalCode}`
  // Ended before it began: no trace of damage.
  if (lines.length === 0)
    return { findings, refused: `the reading process ended ${how}: ${errors.trim().slice(0, 500)}` }
  return { findings: [...findings, `the process that read ${last} was ended ${how}`], refused: null }
}

/** What the other process does. */
export async function runVerifyFolder(folder: string): Promise<void> {
  const say = (line: VerifyMessage): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
  try {
    for (const finding of await verifyFolder(folder, (at) => say({ at }))) say({ finding })
    say({ done: true })
  } catch (fault) {
    if (!(fault instanceof LayoutError || fault instanceof CliError)) throw fault
    say({ refused: fault.message })
  }
}
