// The command `pull`: writes the stored configuration of a project as a project folder.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { envelope } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type { CurrentProject } from '../../project/current-project.ts'
import { differenceOf } from '../../project/difference.ts'
import { PROJECT_FILE, PULL_MARKER } from '../../project/file-kinds.ts'
import { fileKindOf } from '../../project/other-file-kinds.ts'
import type { ProjectFolder } from '../../project/project-folder.ts'
import { type WrittenProject, writeProject } from '../../project/write-project.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printLine } from '../output/print.ts'
import { reading } from '../policies/files-below.ts'
import type { TargetFlags } from '../target/target-place.ts'
import { printUrlSecrets, readFolder } from './apply.ts'
import { storeFiles } from './project-files.ts'
import { namedProject, refuseOtherProject, unknownProjectError } from './project-target.ts'

/** The options of `pull`. */
export interface PullFlags extends TargetFlags {
  readonly force: boolean
  readonly json: boolean
}

/** Runs `pull`. Rejects with CliError; the folder is then as before, unless the disk refuses to write. */
export async function pullProject(path: string, flags: PullFlags): Promise<void> {
  const folder = resolve(path)
  const isEmpty = reading(path, () => !existsSync(folder) || readdirSync(folder).length === 0)
  // A pull that was killed is completed, also the first one into a folder.
  const isInterrupted = existsSync(join(folder, PULL_MARKER))
  if (!isEmpty && !flags.force && !isInterrupted)
    throw new CliError([`${path} is not empty; --force updates the files of a project folder`])
  const isProject = existsSync(join(folder, PROJECT_FILE))
  if (!isEmpty && !isProject && !isInterrupted)
    throw new CliError([`${path} has no ${PROJECT_FILE}: it is no project folder`])
  const existing = isProject ? await readFolder(path, isInterrupted) : null
  const named = namedProject(flags)
  const { target } = named
  const key = named.project ?? existing?.project.name
  if (key === undefined) throw new UsageError(['--project: expected the id or name of the project to write'])
  const current = await target.read(key)
  if (existing !== null) refuseOtherProject(named, existing, current)
  if (current === null) throw await unknownProjectError(target, key)
  checkNames(current, target.place)
  const written = writeProject(current, existing, (file) => readFileSync(join(folder, file), 'utf8'))
  printUrlSecrets(await verifyWritten(written, current))
  const former = (existing?.documents ?? []).map(({ file }) => file)
  const { changed, removed } = storeFiles(folder, written.files, former)
  print(written, changed, removed, current, flags.json)
}

/** Names become paths, so an answer with other names or kinds than a project has is refused before a file is written. */
function checkNames({ project, documents }: CurrentProject, place: string): void {
  const issues = [project, ...documents].flatMap(({ kind, name }) => {
    const at = `${kind} ${writeJson(name)}`
    if (fileKindOf(kind) === undefined) return [`${at}: unknown kind`]
    const read = validate(envelope.name, name, at)
    return read.ok ? [] : read.error
  })
  if (issues.length > 0) throw new CliError(issues.map((issue) => `the answer of ${place}: ${issue}`))
}

/** Reads the files in a temporary folder, before the first is written, and returns them. A difference would be a member that files cannot have. */
async function verifyWritten({ files }: WrittenProject, current: CurrentProject): Promise<ProjectFolder> {
  const folder = resolve(mkdtempSync(join(tmpdir(), 'verdigraph-pull-')))
  try {
    storeFiles(folder, files, [])
    const read = await readFolder(folder)
    const differences = differenceOf(read, current).documents.filter(({ action }) => action !== 'unchanged')
    if (differences.length === 0) return read
    throw new CliError(
      differences.map(({ label, name, members }) => {
        const which = members.map(({ member }) => member).join(', ')
        return `${label} ${name}: a file cannot express ${which === '' ? 'this document' : which}`
      }),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function print(
  { files, secrets }: WrittenProject,
  changed: readonly string[],
  removed: readonly string[],
  { credentials }: CurrentProject,
  json: boolean,
): void {
  const count = Object.values(credentials).reduce((sum, one) => sum + one, 0)
  if (json) {
    const listed = secrets.map(({ kind, name, member, text }) => ({ kind, name, member, text }))
    printLine(
      writeJson({
        files: files.map(({ path }) => path),
        written: changed,
        removed,
        secrets: listed,
        credentials: count,
      }),
    )
    return
  }
  for (const file of changed) printLine(file)
  for (const file of removed) printLine(`${file} removed`)
  printLine(`${files.length} files, ${changed.length} written, ${removed.length} removed`)
  if (secrets.length > 0) {
    printLine('secrets are not written; set these before `apply`:')
    for (const { name, member, text } of secrets) printLine(`  ${text}  ${name} ${member}`)
  }
  if (count > 0) printLine(`not in files: ${count} ${count === 1 ? 'credential' : 'credentials'} of application agents`)
}
