// Members of parameters and claims of tokens in a tested request: a misspelt one fails the test, and an ordinary claim does not.
import { expect, test } from 'vitest'
import { readScenarioText } from '../../../src/scenarios/load-scenario.ts'
import { runScenario } from '../../../src/scenarios/run.ts'

/** The answer to a question that is expected to be denied. */
async function answerOf(condition: string, members: string): Promise<string | undefined> {
  const text = `
version: 3.0-kbac
graph: "(ann:Person {identity: true})-[:OWNS]->(c1:Car {wheels: 4})"
policies:
  - subject: Person
    action: lift
    resource: Car
    cypher: MATCH (subject)-[:OWNS]->(resource) WHERE ${condition}
decisions:
  - {subject: Person:ann, action: lift, resource: Car:c1, ${members}, expect: no}
`
  const { checks } = await runScenario(readScenarioText('members', text, null))
  return checks[0]?.actual
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
