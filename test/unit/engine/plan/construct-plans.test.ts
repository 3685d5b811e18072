// The whole plan of each construct of Cypher 25 and GQL, after all rules. `npm run golden` rewrites the file; the difference
// is part of the review. The second part states what estimates of costs must lead to.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import { assumedCounts, type GraphCounts } from '../../../../src/engine/plan/expand-order.ts'
import { compileRowsQuery } from '../../../../src/engine/rows-query.ts'

const file = join(import.meta.dirname, 'construct-plans.plan')
const SEPARATOR = '\n\n---\n\n'

function rowsPlan(text: string, counts: GraphCounts = assumedCounts): string {
  const compiled = compileRowsQuery(text)
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value.explain(counts)
}

function conditionPlans(text: string): string {
  const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return (['check', 'resources', 'subjects'] as const)
    .map((use) => `${use}\n${compiled.value.explain(use).replaceAll(/^/gm, '  ')}`)
    .join('\n')
}

/** `# title`, then `query: …` or `condition: …`, then the plan. */
function render(part: string): string {
  const [title, line] = part.split('\n')
  const at = line!.indexOf(': ')
  const text = line!.slice(at + 2)
  const plan = line!.startsWith('condition') ? conditionPlans(text) : rowsPlan(text)
  return `${title}\n${line}\n\n${plan}`
}

describe('plans of constructs', () => {
  test('are unchanged', () => {
    const text = readFileSync(file, 'utf8').trimEnd()
    const now = text.split(SEPARATOR).map(render).join(SEPARATOR)
    if (process.env.UPDATE_GOLDEN) writeFileSync(file, `${now}\n`)
    else expect(now).toBe(text)
  })
})

describe('estimates of quantified patterns', () => {
  const counts: GraphCounts = {
    nodes: (label) => ({ Rare: 3, Common: 100_000 })[label ?? ''] ?? 200_000,
    relationships: () => 500_000,
  }
  const scans = (text: string): readonly string[] =>
    [...rowsPlan(text, counts).matchAll(/(?:Scan|Seek) \((\w+)/g)].map(([, node]) => node!)

  test.each([
    ['a relationship', 'MATCH (a:Common)-[r:R]->+(b:Rare) RETURN size(r) AS n'],
    ['several hops', 'MATCH (a:Common) ((x)-[:R]->(y)-[:S]->(z))+ (b:Rare) RETURN size(x) AS n'],
    ['a predicate on each hop', 'MATCH (a:Common) ((x)-[:R]->(y) WHERE x.open)+ (b:Rare) RETURN size(x) AS n'],
    ['a selector', 'MATCH p = ALL SHORTEST (a:Common)-[:R]->+(b:Rare) RETURN length(p) AS n'],
    ['a search of ends', 'MATCH (a:Common)-[:R]->{0,5}(b:Rare) RETURN DISTINCT a.name AS name'],
  ])('%s is expanded from its selective end', (_, text) => {
    expect(scans(text)).toEqual(['b'])
  })

  test('a selector between two nodes that are found by key is searched from both ends', () => {
    const text =
      "MATCH p = SHORTEST 1 (a:Common {external_id: 'x'})-[:R]->+(b:Common {external_id: 'y'}) RETURN length(p) AS n"
    expect(scans(text).toSorted()).toEqual(['a', 'b'])
  })

  test('a single hop is taken before a repetition from the same node', () => {
    const plan = rowsPlan('MATCH (a:Rare)-[:R]->+(b), (a)-[:S]->(c) RETURN count(b.x) AS n', counts)
    const [hop, repetition] = [plan.indexOf('(a)-[:S]->(c)'), plan.indexOf('(a)-[:R*1..]->(b)')]
    // The lower operator is the last line.
    expect(repetition).toBeGreaterThanOrEqual(0)
    expect(hop).toBeGreaterThan(repetition)
  })
})
