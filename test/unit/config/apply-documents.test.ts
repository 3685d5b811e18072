// The order in which the documents of a project are applied, and what an apply leaves behind.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApplyRequest } from '../../../src/config/apply-documents.ts'
import { randomProject } from '../../generate/project-documents.ts'
import { Random, testSeed } from '../../generate/random.ts'
import {
  type ConfigurationFixture,
  errorIn,
  openConfiguration,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

let setup: ConfigurationFixture
beforeAll(async () => {
  setup = await openConfiguration()
})
afterAll(async () => {
  await setup.close()
  removeTemporaryFolders()
})

function apply(name: string, request: ApplyRequest) {
  return setup.service.projects.apply(setup.admin, name, request, false)
}

describe('the documents of a request', () => {
  test('are stored in every order, and deleted in every order', async () => {
    const seed = testSeed()
    console.info(`order: seed ${seed}`)
    const random = new Random(seed)
    for (let i = 0; i < 6; i++) {
      const request = randomProject(random)
      const reversed = { ...request, documents: [...request.documents].reverse() }
      const [one, two] = [`one-${i}`, `two-${i}`]
      const applied = valueIn(await apply(one, { ...request, create: true }))
      valueIn(await apply(two, { ...reversed, create: true }))
      expect(applied.documents.every(({ action }) => action === 'created')).toBe(true)
      const documentsIn = (name: string) =>
        valueIn(setup.service.projects.read(setup.admin, name)).documents.map(({ kind, name, secrets }) => ({
          kind,
          name,
          secrets,
        }))
      expect(documentsIn(one)).toEqual(documentsIn(two))
      const again = valueIn(await apply(one, reversed))
      expect(again.documents.filter(({ action }) => action !== 'unchanged')).toEqual([])
      const names = reversed.documents.map(({ kind, name }) => ({ kind, name }))
      for (const [project, deleted] of [
        [one, names],
        [two, [...names].reverse()],
      ] as const) {
        valueIn(await apply(project, { project: request.project, documents: [], delete: [...deleted] }))
        expect(documentsIn(project)).toEqual([])
      }
    }
  })

  test('leave no commit, revision or intent behind if one is refused or nothing changes', async () => {
    const application = { kind: 'applications', name: 'web', body: {} }
    const project = { body: { region: 'local' } }
    const { project_id } = valueIn(await apply('quiet', { project, documents: [application], create: true }))
    await setup.provisioning.whenIdle()
    let commits = 0
    setup.documents.subscribe(() => {
      commits += 1
    })
    valueIn(await apply('quiet', { project, documents: [application] }))
    const more = { kind: 'applications', name: 'more', body: {} }
    const broken = { kind: 'applications', name: 'broken', body: { colour: 'red' } }
    errorIn(await apply('quiet', { project, documents: [more, broken] }))
    expect(commits).toBe(0)
    expect(setup.documents.all('pending-effects')).toEqual([])
    expect(setup.documents.get('projects', project_id)?.revision).toBe(1)
    valueIn(await apply('quiet', { project, documents: [more] }))
    // The change, and the removal of the intent of its effect on the graph.
    expect(commits).toBe(2)
    const [node] = setup.documents.inScope('applications', project_id).filter(({ name }) => name === 'more')
    expect(setup.board.nodes.get(project_id)?.has(node?.id ?? '')).toBe(true)
  })
})
