// The library and the command line give the reason of a denial: a policy failed, or no policy names the action.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { decisionLines, explanationLines } from '../../../src/cli/ask/ask.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const files = {
  'verdigraph.yaml': 'name: cars\n',
  'policies/hidden.policy.yaml':
    'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject:Person), (resource:Car) WHERE resource.owner IN $parents\n',
}

test('the reason of a denial is in decisions, batches and explanations of an authorizer, and in lines for a person', async () => {
  const project = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  await using authorizer = await openAuthorizer({ memory: true, project })
  await authorizer.write({
    nodes: [
      { type: 'Person', external_id: 'ann' },
      { type: 'Car', external_id: 'c1', properties: [{ type: 'owner', value: 'bob' }] },
    ],
  })
  const asked = (name: string) => ({
    subject: { type: 'Person', id: 'ann' },
    action: { name },
    resource: { type: 'Car', id: 'c1' },
    context: { input_params: { parents: 'secret' } },
  })
  for (const [action, reason] of [
    ['drive', /^policy_failed \(type\): /],
    ['drvie', /^no_policy: /],
  ] as const) {
    const denied = { decision: false, context: { reason: expect.stringMatching(reason) } }
    const decision = authorizer.evaluate(asked(action))
    expect(decision).toEqual(denied)
    expect(authorizer.evaluations({ evaluations: [asked(action)] })).toEqual({ evaluations: [denied] })
    const explanation = authorizer.explain(asked(action))
    expect(explanation).toMatchObject(denied)
    const lines = decisionLines(asked(action), decision)
    expect(lines.slice(1)).toEqual([`  ${decision.context?.reason}`])
    expect(lines.join()).not.toMatch(/secret|hidden/)
    if (action === 'drive') expect(explanationLines(asked(action), explanation).join('\n')).toContain('policy_failed')
  }
})
