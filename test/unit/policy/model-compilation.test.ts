// The compilation of a project's model on an event loop: in steps between which other work runs, and never within a request.
import { expect, test, vi } from 'vitest'
import { DocumentSnapshot } from '../../../src/config/document-snapshot.ts'
import type { ConfigSource, StoredDocument } from '../../../src/config/kind.ts'
import { LaneRequiredError } from '../../../src/kernel/request/lane-required.ts'
import { compiledModel, compilingStoredModel, isModelCompiled } from '../../../src/model/stored-model.ts'
import { BackgroundCompiler } from '../../../src/policy/background-compiler.ts'
import { MAX_INLINE_CHARS } from '../../../src/policy/compile-budget.ts'
import { PolicyIndex } from '../../../src/policy/policy-index.ts'

const DEFINITIONS = 20
const POLICIES = 2_000

const modelText = (property: string): string =>
  [
    `(:User {clearance INTEGER}), (:Group), (:Doc {${property} INTEGER}), (:User)-[:MEMBER]->(:Group), (:User)-[:OWNER]->(:Doc), (:Group)-[:VIEWER]->(:Doc)`,
    ...Array.from(
      { length: DEFINITIONS },
      (_, i) =>
        `DEFINE (u:User)-[:can_read${i}]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (u)-[:MEMBER]->(:Group)-[:VIEWER]->(d) }`,
    ),
  ].join('\n')

function document(kind: string, id: string, fields: object): StoredDocument {
  const scope = { organization_id: 'org', project_id: 'project', parent_id: 'project' }
  return { kind, id, name: id, revision: 1, ...scope, fields } as unknown as StoredDocument
}

const model = (property: string): StoredDocument => document('models', 'model', { model: modelText(property) })
const policies = Array.from({ length: POLICIES }, (_, i) =>
  document('authorization-policies', `p${i}`, {
    status: 'ACTIVE',
    tags: [],
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'User' },
      actions: [`read${i}`],
      resource: { type: 'Doc' },
      condition: { cypher: `MATCH (subject:User)-[:can_read${i % DEFINITIONS}]->(resource:Doc)` },
    }),
  }),
)

function sourceOf(stored: StoredDocument): ConfigSource {
  const snapshot = DocumentSnapshot.of([...policies, stored])
  return Object.assign(Object.create(snapshot) as ConfigSource, { subscribe: () => undefined })
}

test('a model is compiled in steps, at least one for each definition, and once', () => {
  const { fields } = model('level')
  const steps = compilingStoredModel(fields)
  let count = 0
  for (;;) {
    const step = steps.next()
    if (step.done === true) {
      expect(step.value.ok).toBe(true)
      expect(compiledModel(fields)).toBe(step.value)
      break
    }
    count += 1
    expect(isModelCompiled(fields)).toBe(false)
  }
  expect(count).toBeGreaterThanOrEqual(2 * DEFINITIONS)
  // One that was compiled in between stays: policies are compiled for one object of a model.
  const other = model('rank').fields
  const late = compilingStoredModel(other)
  late.next()
  const first = compiledModel(other)
  let last = late.next()
  while (last.done !== true) last = late.next()
  expect(last.value).toBe(first)
})

test('with 2,000 policies, no request compiles a changed model; it is compiled in the background, then policies one by one', async () => {
  const stored = model('size')
  const deferred: (readonly [number, object])[] = []
  const compiler = new BackgroundCompiler()
  const index = new PolicyIndex(sourceOf(stored), () => undefined, {
    maxInlineChars: MAX_INLINE_CHARS,
    onDeferred: (characters, one, compile) => {
      deferred.push([characters, one])
      compiler.add(characters, one, compile)
    },
  })
  try {
    for (const action of ['read0', 'read1', 'read2'])
      expect(() => index.find('project', 'User', action, 'Doc')).toThrow(LaneRequiredError)
    const { fields } = stored
    // The model alone, and none of the policies.
    expect(new Set(deferred.map(([, one]) => one))).toEqual(new Set([fields]))
    expect(isModelCompiled(fields)).toBe(false)
    await vi.waitUntil(() => isModelCompiled(fields), { timeout: 60_000 })
    const [found] = index.find('project', 'User', 'read1', 'Doc').grants
    expect(found?.name).toBe('p1')
  } finally {
    compiler.close()
  }
})
