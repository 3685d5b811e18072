// Project folders with a folder for a file, a file for a folder, loops of symbolic links, and paths that this user may not read: the
// commands and the library name the path and what is expected there.
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { ProjectFolderError } from '../../../src/project/file-diagnostic.ts'
import { bin, runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const NOT_READ = 'symbolic links and special files are not read'
const LOOP = 'its symbolic links form a loop'
const FILE_WANTED = 'expected a file, found a folder'
const FOLDER_WANTED = 'expected a folder, found a file'
const NO_PERMISSION = 'this user has no permission to read it'

/** `root` may read everything, so the commands run as another user. */
const isRoot = process.getuid?.() === 0
const prefix = isRoot ? ['setpriv', '--reuid=65534', '--clear-groups'] : []
const reaches =
  !isRoot ||
  (Bun.which('setpriv') !== null &&
    [bin, tmpdir()].every((path) => Bun.spawnSync([...prefix, 'test', '-x', path]).exitCode === 0))
if (!reaches) console.log('skipped: only root can read this checkout')

let parent: string
let data: string

beforeAll(async () => {
  parent = temporaryFolder()
  chmodSync(parent, 0o755)
  data = join(parent, 'data')
  await runCommand(['init', '--data', data])
})
afterAll(removeTemporaryFolders)

/** A project folder that `change` makes unreadable. */
function folderWith(name: string, change: (at: (path: string) => string) => void): string {
  const folder = join(parent, name)
  mkdirSync(join(folder, 'policies'), { recursive: true })
  mkdirSync(join(folder, 'scenarios'))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: cars\n')
  const policy = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'
  writeFileSync(join(folder, 'policies/drive.policy.yaml'), policy)
  writeFileSync(
    join(folder, 'scenarios/owners.scenario.yaml'),
    'graph: |\n  (ann:Person)-[:OWNS]->(c1:Car)\ndecisions:\n  - [Person:ann, drive, Car:c1, {}, yes]\n',
  )
  change((path) => join(folder, path))
  return folder
}

const replaced = (path: string, by: (path: string) => void): void => {
  rmSync(path, { recursive: true })
  by(path)
}
const closed = (path: string): void => chmodSync(path, 0o000)

/** The path below the folder that the message names, and its text. */
type NamedFault = readonly [path: string, message: string]

const folders: Readonly<
  Record<string, readonly [change: (at: (path: string) => string) => void, expected: NamedFault]>
> = {
  'a folder for verdigraph.yaml': [
    (at) => replaced(at('verdigraph.yaml'), (path) => mkdirSync(path)),
    ['verdigraph.yaml', FILE_WANTED],
  ],
  'a file for policies': [
    (at) => replaced(at('policies'), (path) => writeFileSync(path, 'x')),
    ['policies', FOLDER_WANTED],
  ],
  'a link to itself for verdigraph.yaml': [
    (at) => replaced(at('verdigraph.yaml'), (path) => symlinkSync('verdigraph.yaml', path)),
    ['verdigraph.yaml', NOT_READ],
  ],
  'a link to the folder that it is in': [
    (at) => symlinkSync('../policies', at('policies/self')),
    ['policies/self', NOT_READ],
  ],
  'a link to itself for the folder': [
    (at) => replaced(at('.'), (path) => symlinkSync('a-link-to-itself-for-the-folder', path.replace(/\/$/, ''))),
    ['', LOOP],
  ],
  'a file for the folder': [(at) => replaced(at('.'), (path) => writeFileSync(path, 'x')), ['', FOLDER_WANTED]],
  'a closed verdigraph.yaml': [(at) => closed(at('verdigraph.yaml')), ['verdigraph.yaml', NO_PERMISSION]],
  'a closed policy': [(at) => closed(at('policies/drive.policy.yaml')), ['policies/drive.policy.yaml', NO_PERMISSION]],
  'a closed folder of policies': [(at) => closed(at('policies')), ['policies', NO_PERMISSION]],
  'a closed folder of another name': [
    (at) => {
      mkdirSync(at('other'))
      closed(at('other'))
    },
    ['other', NO_PERMISSION],
  ],
  'a closed folder': [(at) => closed(at('.')), ['', NO_PERMISSION]],
}

test.skipIf(!reaches).each(Object.entries(folders))('%s', async (name, [change, [path, message]]) => {
  const folder = folderWith(name.replaceAll(' ', '-'), change)
  const commands = [
    ['apply', folder, '--create', '--data', data],
    // It reads the folder as `apply` does.
    ...(message === NOT_READ ? [['plan', folder, '--create', '--data', data]] : []),
    ['test', folder],
    ['lint', folder],
  ]
  const finished = await Promise.all(commands.map((args) => runCommand(args, {}, prefix)))
  for (const [i, { exitCode, stdout, stderr }] of finished.entries()) {
    const command = commands[i]?.[0] ?? ''
    const printed = `${command}: ${stdout}${stderr}`
    // For `lint` an error of a file is a finding.
    expect(command === 'lint' ? [1, 2] : [2], printed).toContain(exitCode)
    expect(printed).not.toMatch(/\bE[A-Z]{3,}:/)
    expect(printed).toContain(path === '' ? folder : path)
    const isFile = name === 'a file for the folder' && command !== 'apply'
    expect(printed).toContain(isFile ? 'expected a file that ends with' : message)
  }
  // The library runs as the user of this process.
  if (isRoot && message === NO_PERMISSION) return
  const error = await openAuthorizer({ memory: true, project: folder }).then(
    () => null,
    (failure: unknown) => failure,
  )
  expect(error).toBeInstanceOf(ProjectFolderError)
  expect(String(error)).toContain(message)
  expect(String(error)).toContain(path === '' ? folder : path)
})

test.skipIf(!reaches)('a scenario file that cannot be read is one that is not run', async () => {
  const folder = folderWith('scenario', (at) => {
    writeFileSync(at('scenarios/closed.scenario.yaml'), '')
    closed(at('scenarios/closed.scenario.yaml'))
  })
  const { exitCode, stdout } = await runCommand(['test', folder], {}, prefix)
  expect([exitCode, stdout]).toEqual([2, expect.stringContaining(`closed.scenario.yaml:1:1: ${NO_PERMISSION}`)])
  expect(stdout).toContain('1 passed')
})
