// A stored project written as a folder gives the same project when the folder is applied, and the same files when that is written.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApplyRequest } from '../../../src/config/apply-documents.ts'
import { namedKinds } from '../../../src/config/project-documents.ts'
import type { CurrentProject } from '../../../src/project/current-project.ts'
import { differenceOf } from '../../../src/project/difference.ts'
import { loadProject } from '../../../src/project/load-project.ts'
import { fileKinds } from '../../../src/project/other-file-kinds.ts'
import type { ProjectFolder } from '../../../src/project/project-folder.ts'
import { currentProjectOf } from '../../../src/project/read-project.ts'
import { bodyWithSecrets } from '../../../src/project/resolve-secrets.ts'
import { type WrittenProject, writeProject } from '../../../src/project/write-project.ts'
import { randomProject } from '../../generate/project-documents.ts'
import { Random, testSeed } from '../../generate/random.ts'
import {
  type ConfigurationFixture,
  openConfiguration,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const CASES = 60

let one: ConfigurationFixture
let two: ConfigurationFixture

beforeAll(async () => {
  one = await openConfiguration()
  two = await openConfiguration()
})
afterAll(async () => {
  await one.close()
  await two.close()
  removeTemporaryFolders()
})

async function apply({ service, admin }: ConfigurationFixture, name: string, request: ApplyRequest) {
  return valueIn(await service.projects.apply(admin, name, request, false))
}

function current({ service, admin }: ConfigurationFixture, name: string): CurrentProject {
  return currentProjectOf(valueIn(service.projects.read(admin, name)))
}

function noTexts(): never {
  throw new Error('a new folder has no texts')
}

function store({ files }: WrittenProject): string {
  const folder = temporaryFolder()
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** As the command `apply` does; each secret has its reference as value. */
function requestOf(folder: ProjectFolder, more: object = {}): ApplyRequest {
  const bodyOf = (document: ProjectFolder['project']) =>
    bodyWithSecrets(document, (reference) => `of ${reference.slice(2, -1)}`, [])
  return {
    project: { body: bodyOf(folder.project) },
    documents: folder.documents.map((document) => ({
      kind: document.kind,
      name: document.name,
      body: bodyOf(document),
      references: [...document.references],
    })),
    ...more,
  }
}

const changesIn = ({ documents }: ReturnType<typeof differenceOf>): object[] =>
  documents
    .filter(({ action }) => action !== 'unchanged')
    .map(({ action, name, members }) => ({ action, name, members }))

describe('a project as files', () => {
  test('has a kind of file for each kind of document with a name', () => {
    const kinds = namedKinds(one.service.kinds).map(({ path }) => path)
    expect(fileKinds.map(({ kind }) => kind).sort()).toEqual([...kinds].sort())
  })

  test('is the same after it was written, applied elsewhere, and written again', async () => {
    const seed = testSeed()
    console.info(`round trip: seed ${seed}`)
    const random = new Random(seed)
    for (let i = 0; i < CASES; i++) {
      const name = `project-${i}`
      await apply(one, name, { ...randomProject(random), create: true })
      const stored = current(one, name)
      const written = writeProject(stored, null, noTexts)
      const folder = await loadProject(store(written))
      expect(changesIn(differenceOf(folder, stored)), `case ${i}`).toEqual([])
      await apply(two, name, requestOf(folder, { create: true }))
      const copied = current(two, name)
      expect(changesIn(differenceOf(folder, copied)), `case ${i}`).toEqual([])
      expect(writeProject(copied, null, noTexts), `case ${i}`).toEqual(written)
      const again = await apply(two, name, requestOf(folder))
      expect(
        again.documents.filter(({ action }) => action !== 'unchanged'),
        `case ${i}`,
      ).toEqual([])
      expect(current(two, name), `case ${i}`).toEqual(copied)
    }
  })

  test('follows the stored project from any state to any other', async () => {
    const seed = testSeed() + 1
    console.info(`moving: seed ${seed}`)
    const random = new Random(seed)
    await apply(one, 'moving', { ...fixed(randomProject(random)), create: true })
    for (let i = 0; i < 20; i++) {
      const target = `target-${i}`
      await apply(two, target, { ...fixed(randomProject(random)), create: true })
      const folder = await loadProject(store(writeProject(current(two, target), null, noTexts)))
      const difference = differenceOf(folder, current(one, 'moving'))
      const kinds = new Map(difference.documents.map((document) => [`${document.kind} ${document.name}`, document]))
      const isFixed = (path: string) => ['application', 'node_filter'].some((member) => path.startsWith(member))
      // What cannot be changed is deleted and created, in two steps.
      const immutable = [...kinds.values()].filter(
        ({ action, members }) => action === 'update' && members.some(({ member }) => isFixed(member)),
      )
      const gone = difference.documents.filter(({ action }) => action === 'delete' || action === 'unmanaged')
      const deletions = [...immutable, ...gone].map(({ kind, name }) => ({ kind, name }))
      await apply(one, 'moving', { project: requestOf(folder).project, documents: [], delete: deletions })
      await apply(one, 'moving', requestOf(folder))
      expect(changesIn(differenceOf(folder, current(one, 'moving'))), `step ${i}`).toEqual([])
    }
  })
})

/** Members of a project that cannot be changed are those of the first. */
function fixed(request: ApplyRequest): ApplyRequest {
  const { ikg_size: _size, ...body } = request.project.body
  return { ...request, project: { body: { ...body, region: 'local' } } }
}
