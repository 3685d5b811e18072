// Members of parameters and claims of tokens in a tested request: a misspelt one fails the test, and an ordinary claim does not.
import { describe, expect, test } from 'vitest'
import { readScenarioText } from '../../../src/scenarios/load-scenario.ts'
import { runScenario } from '../../../src/scenarios/run.ts'

/** The answer to a question that is expected to be denied, by a policy with this text after the pattern. */
async function answerAfter(
  pattern: string,
  members: string,
  { expect = 'no', filter = null as object | null } = {},
): Promise<string | undefined> {
  const text = `
version: 3.0-kbac
graph: "(ann:Person {identity: true})-[:OWNS]->(c1:Car {wheels: 4})"
policies:
  - subject: Person
    action: lift
    resource: Car
    cypher: ${JSON.stringify(`MATCH (subject)-[:OWNS]->(resource) ${pattern}`)}
    ${filter === null ? '' : `filter: ${JSON.stringify(filter)}`}
decisions:
  - {subject: Person:ann, action: lift, resource: Car:c1, ${members}, expect: ${expect}}
`
  const { checks } = await runScenario(readScenarioText('members', text, null))
  return checks[0]?.actual
}

function answerOf(condition: string, members: string): Promise<string | undefined> {
  return answerAfter(`WHERE ${condition}`, members)
}

const misspelt = 'no policy reads `tool.sizee`; did you mean `size`?'

test.each([
  ['$tool.size > 9', 'params: {tool: {size: 1}}', 'no'],
  ['$tool.size > 9', 'params: {tool: {sizee: 1}}', misspelt],
  ['$tool["size"] > 9', 'params: {tool: {size: 1}}', 'no'],
  ['$tool["size"] > 9', 'params: {tool: {sizee: 1}}', misspelt],
  ["$tool[ 'size' ] > 9", 'params: {tool: {sizee: 1}}', misspelt],
  ['$tool["of"].size > 9', 'params: {tool: {of: {sizee: 1}}}', 'no policy reads `tool.of.sizee`; did you mean `size`?'],
  // Any member can be read.
  ['$tool[subject.external_id] > 9', 'params: {tool: {sizee: 1}}', 'no'],
  ['$tool["a" + "b"] > 9', 'params: {tool: {aab: 1}}', 'no'],
  // Names that issuers use, although one letter from a claim that is read.
  ['$token.acr = "high"', 'token: {claims: {amr: [pwd]}}', 'no'],
  ['$token.tid = 1', 'token: {claims: {sid: s, sub: ann}}', 'no'],
  ['$token.email = 1', 'token: {claims: {emial: s}}', 'no policy reads `claims.emial`; did you mean `email`?'],
])('%s, asked with %s: %s', async (condition, members, answer) => {
  expect(await answerOf(condition, members)).toBe(answer)
})

const near = (member: string, read: string) => `no policy reads \`${member}\`; did you mean \`${read}\`?`
const absent = (member: string) => `the policy policy-1 reads \`$${member}\`, which is not given`

describe('members of items of lists', () => {
  test.each([
    ['$tools[0].size > 9', 'params: {tools: [{sizee: 1}]}', near('tools[0].sizee', 'size')],
    ['$tools[-1].size > 9', 'params: {tools: [{}, {sizee: 1}]}', near('tools[1].sizee', 'size')],
    ['$tools[0].size > 9', 'params: {tools: [{size: 1}, {}]}', 'no'],
    [
      'any(tool IN $tools WHERE tool.size > 9)',
      'params: {tools: [{size: 1}, {sizee: 1}]}',
      near('tools[1].sizee', 'size'),
    ],
    ['any(tool IN $tools WHERE tool.size > 9)', 'params: {tools: [{size: 1}, {}]}', absent('tools[1].size')],
    ['any(tool IN $box.tools WHERE tool.size > 9)', 'params: {box: {tools: [{of: 1}]}}', absent('box.tools[0].size')],
    ['[tool IN $tools | tool.size] = [9]', 'params: {tools: [{sizee: 1}]}', near('tools[0].sizee', 'size')],
    [
      '[tool IN $tools WHERE tool.size > 1][0].name = 1',
      'params: {tools: [{size: 1, nmae: 1}]}',
      near('tools[0].nmae', 'name'),
    ],
    [
      'reduce(sum = 0, tool IN $tools | sum + tool.size) > 9',
      'params: {tools: [{sizee: 1}]}',
      near('tools[0].sizee', 'size'),
    ],
    ['head($tools).size > 9', 'params: {tools: [{sizee: 1}]}', near('tools[0].sizee', 'size')],
    ['$rows[0][1].size > 9', 'params: {rows: [[{}, {sizee: 1}]]}', near('rows[0][1].sizee', 'size')],
  ])('%s, asked with %s: %s', async (condition, members, answer) => {
    expect(await answerOf(condition, members)).toBe(answer)
  })
})

describe('members behind a name', () => {
  test.each([
    ['WITH *, $tool AS t WHERE t.size > 9', 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    ['WITH *, $tool AS t WHERE t.size > 9', 'params: {tool: {}}', absent('tool.size')],
    ['LET t = $tool.of LET u = t FILTER u.size > 9', 'params: {tool: {of: {sizee: 1}}}', near('tool.of.sizee', 'size')],
    ['UNWIND $tools AS t WITH * WHERE t.size > 9', 'params: {tools: [{sizee: 1}]}', near('tools[0].sizee', 'size')],
    ['WITH *, {of: $tool} AS t WHERE t.of.size > 9', 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    [
      'WITH *, $tool AS t WITH *, t {.size} AS u WHERE u.size > 9',
      'params: {tool: {sizee: 1}}',
      near('tool.sizee', 'size'),
    ],
    [
      'WITH *, $tool AS t WHERE EXISTS { (subject)--(c {wheels: t.size}) }',
      'params: {tool: {sizee: 1}}',
      near('tool.sizee', 'size'),
    ],
    [
      'CALL { WITH subject RETURN $tool AS t } WITH * WHERE t.size > 9',
      'params: {tool: {sizee: 1}}',
      near('tool.sizee', 'size'),
    ],
    // The second name is that of another value.
    ['WITH *, $tool AS t WITH subject, resource, t.of AS t WHERE t.size > 9', 'params: {tool: {of: {size: 1}}}', 'no'],
  ])('%s, asked with %s: %s', async (text, members, answer) => {
    expect(await answerAfter(text, members)).toBe(answer)
  })
})

describe('names of members', () => {
  test.each([
    ["'size' IN keys($tool)", 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    ["'size' IN keys($tool)", 'params: {tool: {}}', 'no'],
    ["any(name IN keys($tool) WHERE name = 'size')", 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    ["any(name IN ['size'] WHERE $tool[name] > 9)", 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    // Other members are read as a whole, and the misspelt one is near to one that is read by its name.
    ['size(keys($tool)) > 9 OR $tool.size > 9', 'params: {tool: {sizee: 1}}', near('tool.sizee', 'size')],
    ['size(keys($tool)) > 9', 'params: {tool: {sizee: 1}}', 'no'],
  ])('%s, asked with %s: %s', async (condition, members, answer) => {
    expect(await answerOf(condition, members)).toBe(answer)
  })
})

describe('a text that names a parameter', () => {
  test.each([
    ['WHERE $tool.size > 9 // not $tool.width', 'params: {tool: {size: 1, wdith: 1}}', null],
    ['WHERE $tool.size > 9 /* $tool.width */', 'params: {tool: {size: 1}}', null],
    ["WHERE $tool.size > 9 AND resource.name <> '$tool.width'", 'params: {tool: {size: 1}}', null],
    ['WHERE $tool.size > 9', 'params: {tool: {size: 1}}', { tool: 'send $tool.width' }],
  ])('%s, asked with %s, reads nothing else', async (text, members, advice) => {
    const filter = advice && { operator: '>', attribute: '$tool.size', value: 9, advice }
    expect(await answerAfter(text, members, { filter })).toBe('no')
  })

  test('in a filter reads its members', async () => {
    const filter = { operator: '=', attribute: '$tool.size', value: '$tool.width' }
    expect(await answerAfter('', 'params: {tool: {size: 1, widht: 1}}', { filter })).toBe(near('tool.widht', 'width'))
  })
})

describe('a policy that reads a token', () => {
  const error = 'the policy policy-1 reads `$token`, and the request has no token'

  test.each([
    ['params: {}', 'no', error],
    ['token: null', 'no', 'no'],
    ['token: {claims: {email: b}}', 'no', 'no'],
    ['params: {}', 'unknown-action', 'expected an unknown action, and the request has none'],
  ])('asked with %s, expected %s: %s', async (members, expected, answer) => {
    expect(await answerAfter('WHERE $token.email = 1', members, { expect: expected })).toBe(answer)
  })

  test('grants without it', async () => {
    expect(await answerAfter('WHERE coalesce($token.email, 1) = 1', 'params: {}', { expect: 'yes' })).toBe('yes')
  })

  test('by a filter', async () => {
    const filter = { operator: '=', attribute: '$token.email', value: 1 }
    expect(await answerAfter('', 'params: {}', { filter })).toBe(error)
  })
})
