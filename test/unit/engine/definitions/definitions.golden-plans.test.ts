// Golden plans of conditions over definitions: one file for each way to run a definition, with the plans of a check and of both
// searches. `npm run golden` rewrites them; the difference is part of the review.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'

const folder = join(import.meta.dirname, 'golden-plans')

const model = `
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) }
DEFINE (u:User)-[:reads]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (u)-[:in]->(g)-[:VIEWER]->(d) }
DEFINE (u:User)-[:can_view]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_view]->(f)
}
DEFINE (u:User)-[:approves]->(d:Doc) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:LEFT]->(x), (d)-[:RIGHT]->(y) WHERE (u)-[:approves]->(x) AND (u)-[:approves]->(y)
}
DEFINE (g:Group)-[:part]->(h:Group) AS { MATCH (g)-[:PART]->(h) }
`

/** By the name of the file: conditions that run a definition in this way. */
const conditions = {
  'in-place': [
    'MATCH (subject:User)-[:in]->(resource:Group)',
    'MATCH (subject:User)-[:reads]->(resource:Doc)',
    'MATCH (subject:User), (resource:Doc) WHERE NOT (subject)-[:reads]->(resource)',
  ],
  walk: ['MATCH (subject:User)-[:can_view]->(resource:Doc)', 'MATCH (subject:Group)-[:part]->+(resource:Group)'],
  table: [
    'MATCH (subject:User)-[:approves]->(resource:Doc)',
    'MATCH (subject:User)-[:approves]->(d)-[:COPY]->(resource:Doc)',
    'MATCH (subject:User)-[:approves]->{1,2}(resource:Doc)',
    'MATCH (subject:User)((u)-[:approves]->(d)-[:AUTHOR]->(v))+(resource:User)',
  ],
}

function plansOf(text: string): string {
  const definitions = compileModel(model)
  if (!definitions.ok) throw new Error(definitions.error[0]!.message)
  const typeOf = (name: string): string => new RegExp(`\\(${name}:(\\w+)`).exec(text)![1]!
  const types = { subjectType: typeOf('subject'), resourceType: typeOf('resource') }
  const condition = compileCondition({ text, dialect: 'open', definitions: definitions.value, ...types })
  if (!condition.ok) throw new Error(condition.error[0]!.message)
  const uses = ['check', 'resources', 'subjects'] as const
  return [text, ...uses.map((use) => `${use}\n${condition.value.explain(use)}`)].join('\n\n')
}

describe('the plans of a condition over a definition', () => {
  test.each(Object.entries(conditions))('%s', (name, texts) => {
    const file = join(folder, `${name}.plan`)
    const plans = `${texts.map(plansOf).join('\n\n---\n\n')}\n`
    if (process.env.UPDATE_GOLDEN) writeFileSync(file, plans)
    expect(plans).toBe(readFileSync(file, 'utf8'))
  })
})
