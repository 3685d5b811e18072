// An explanation that was cut at a limit never claims that a condition is not met. At each step, a denial without its cause states that
// the explanation ended.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { describeExplanation } from '../../../src/authorizer/nearest-miss.ts'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { failingAt } from '../../support/failing-charges.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(() => void vi.restoreAllMocks())

const files = {
  'verdigraph.yaml': 'name: cars\n',
  'policies/drive.policy.yaml':
    'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels > 4 AND EXISTS { MATCH (subject)-[:KNOWS]->(:Person) }\n',
}

test('an explanation that is cut at any step says so, and nothing else that the whole one does not say', async () => {
  const project = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  await using authorizer = await openAuthorizer({ memory: true, project })
  const [source, target] = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1' },
  ]
  await authorizer.write({
    nodes: [source, { ...target, properties: [{ type: 'wheels', value: 3 }] }],
    relationships: [{ source, target, type: 'OWNS' }],
  })
  const subject = { type: 'Person', id: 'ann' }
  const resource = { type: 'Car', id: 'c1' }
  const request = { subject, action: { name: 'drive' }, resource }
  const explained = () => {
    const explanation = authorizer.explain(request)
    expect(explanation.decision).toBe(false)
    const [policy] = explanation.policies
    const said = describeExplanation(explanation)
    return { said, outcome: policy?.outcome, fault: policy?.fault, reason: explanation.context?.reason }
  }
  const whole = explained()
  expect(whole.outcome).toBe('denied')
  const limit = () => new ExecutionError('budget', 'a limit is reached', 'decisionTimeMs')
  let cut = 0
  for (let n = 0; ; n++) {
    let explanation = whole
    const isMet = await failingAt(n, limit, () => {
      explanation = explained()
    })
    const { said, outcome, fault, reason } = explanation
    const other = said.filter((line) => !whole.said.includes(line))
    if (!isMet) {
      expect(other).toEqual([])
      break
    }
    if (outcome === 'denied' && fault !== undefined) {
      cut += 1
      expect(other, `cut at step ${n}`).toEqual(
        expect.arrayContaining([expect.stringContaining('ended before it found out why: ')]),
      )
    }
    if (outcome === 'faulted') expect(reason, `cut at step ${n}`).toContain('policy_failed (budget): ')
  }
  expect(cut).toBeGreaterThan(0)
})
