// `verify`: reads everything in a data folder, each environment in a process of its own, because a damaged page can end the
// process that reads it. Exit codes: 0 all is sound, 1 something is damaged, 2 it could not be found out.
import { accessSync, constants, type Dirent, existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { LayoutFault } from '../store/lmdb/databases.ts'
import { cutOff, DATA_FILE, READERS_FILE, stemOf } from '../store/lmdb/folder.ts'
import { verifyFolder } from '../store/verify.ts'
import { CliError } from './cli-error.ts'
import { colours } from './colours.ts'
import { ownCommand, READING_COMMAND } from './own-process.ts'
import { sayError } from './say.ts'

const DAMAGED = 1
const NOT_RUN = 2
const NO_PERMISSION = 'this user may not read it, or not write its lock.mdb'

/** One line of the reading process. */
interface Line {
  /** What it is about to read. */
  readonly at?: string
  readonly finding?: string
  /** Why it cannot read at all. */
  readonly refused?: string
  readonly done?: true
}

interface Verdict {
  readonly folder: string
  readonly findings: readonly string[]
  readonly refused: string | null
}

export async function verify(dataDir: string, json: boolean): Promise<void> {
  const { folders, closed } = foldersIn(dataDir)
  if (folders.length + closed.length === 0) {
    sayError(`the folder ${dataDir} holds no store`)
    process.exitCode = NOT_RUN
    return
  }
  const verdicts: Verdict[] = closed.map((folder) => ({ folder, findings: [], refused: NO_PERMISSION }))
  if (!json) for (const verdict of verdicts) tell(verdict)
  for (const folder of folders) {
    const refused = stemOf(folder) !== folder ? cutOff(folder) : isClosed(join(dataDir, folder)) ? NO_PERMISSION : null
    const verdict =
      refused === null ? { ...(await readFolder(join(dataDir, folder))), folder } : { folder, findings: [], refused }
    verdicts.push(verdict)
    if (!json) tell(verdict)
  }
  const damaged = verdicts.filter(({ findings }) => findings.length > 0)
  const refused = verdicts.filter((verdict) => verdict.refused !== null)
  if (json) console.log(JSON.stringify({ sound: damaged.length + refused.length === 0, folders: verdicts }))
  process.exitCode = damaged.length > 0 ? DAMAGED : refused.length > 0 ? NOT_RUN : 0
}

function tell({ folder, findings, refused }: Verdict): void {
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
    if (names.some(({ name }) => name === DATA_FILE || name === READERS_FILE)) found.push(relative(dataDir, folder))
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
    if (isOfPermission(fault)) return null
    throw fault
  }
}

/** What this user may not read is not damaged; and a reading that writers do not see would look so. */
function isClosed(folder: string): boolean {
  return isForbidden(join(folder, DATA_FILE), constants.R_OK) || isForbidden(join(folder, READERS_FILE), constants.W_OK)
}

function isForbidden(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return false
  } catch (fault) {
    return isOfPermission(fault)
  }
}

function isOfPermission(fault: unknown): boolean {
  const { code } = fault as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EPERM'
}

/** Reads the folder in another process, and tells of that one's end what it cannot tell itself. */
export async function readFolder(folder: string): Promise<Omit<Verdict, 'folder'>> {
  const child = Bun.spawn(ownCommand([READING_COMMAND, folder]), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [text, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const lines = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
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
export async function readFolderHere(folder: string): Promise<void> {
  const say = (line: Line): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
  try {
    for (const finding of await verifyFolder(folder, (at) => say({ at }))) say({ finding })
    say({ done: true })
  } catch (fault) {
    if (!(fault instanceof LayoutFault || fault instanceof CliError)) throw fault
    say({ refused: fault.message })
  }
}
