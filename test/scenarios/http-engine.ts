// The whole service over HTTP: each scenario is a project, captured, configured and queried as a client would.

import { captureBodies, exactJson } from '../support/convert-graph.ts'
import { startService, type TestService } from '../support/service.ts'
import type { OpenScenario, ScenarioEngine, ScenarioQuestion } from './engines.ts'
import type { RefusedPolicy, Scenario, ScenarioPolicy } from './read-scenario.ts'

/**
 * A missing or unusable parameter is the caller's error, so it is not a grant
 * (docs/decisions/0008-policy-filters-and-parameters.md).
 */
const UNPROCESSABLE = 422

export const httpEngine: ScenarioEngine = {
  name: 'the service over HTTP',
  refuses: true,
  open: async (scenario) => {
    const service = await startService({}, { sync: false, log: () => {} })
    try {
      await capture(service, scenario)
      for (const policy of scenario.policies) await configure(service, policy)
    } catch (fault) {
      await service.stop()
      throw fault
    }
    return new ServedWorld(service)
  },
}

async function capture(service: TestService, scenario: Scenario): Promise<void> {
  const { nodes, relationships } = captureBodies(scenario.graph)
  for (const raw of nodes) await post(service, '/capture/v1/nodes', raw)
  for (const raw of relationships) await post(service, '/capture/v1/relationships', raw)
}

async function configure(service: TestService, policy: ScenarioPolicy) {
  const { name, cypher, version, effect, subject, actions, resource } = policy
  if (version !== '2.0-kbac' && version !== '3.0-kbac') throw new Error(`${version} is no version of a decision policy`)
  await service.addPolicy({ name, cypher, version, effect, subject, actions, resource })
}

/** The body of a call that must succeed; null if a parameter was missing. */
async function post(service: TestService, path: string, raw: string): Promise<Record<string, unknown> | null> {
  const answer = await service.send(path, { raw, headers: { 'x-svc-clientkey': service.key } })
  if (answer.status === 200) return answer.body
  if (answer.status === UNPROCESSABLE && answer.text.includes('missing or wrong input params')) return null
  throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
}

class ServedWorld implements OpenScenario {
  private readonly service: TestService
  private refusals = 0
  constructor(service: TestService) {
    this.service = service
  }

  /** Claims come only from a verified token; callers cannot send them as parameters. */
  carries(parameters: ScenarioQuestion['parameters']): boolean {
    return !parameters.has('token')
  }

  async evaluate(
    { subjectType, action, resourceType, parameters }: ScenarioQuestion,
    subjectId: string,
    resourceId: string,
  ) {
    const answer = await this.ask('evaluation', {
      subject: { type: subjectType, id: subjectId },
      action: { name: action },
      resource: { type: resourceType, id: resourceId },
      context: { input_params: parameters },
    })
    return answer?.decision === true
  }

  resources({ subjectType, action, resourceType, parameters }: ScenarioQuestion, subjectId: string): Promise<string[]> {
    return this.search('search/resource', {
      subject: { type: subjectType, id: subjectId },
      action: { name: action },
      resource: { type: resourceType },
      context: { input_params: parameters },
    })
  }

  subjects({ subjectType, action, resourceType, parameters }: ScenarioQuestion, resourceId: string): Promise<string[]> {
    return this.search('search/subject', {
      subject: { type: subjectType },
      action: { name: action },
      resource: { type: resourceType, id: resourceId },
      context: { input_params: parameters },
    })
  }

  async refusal({ cypher, version, subject, resource }: RefusedPolicy): Promise<string | null> {
    this.refusals += 1
    const answer = await this.service.configure('POST', 'authorization-policies', {
      project_id: this.service.projectId,
      name: `refused-${this.refusals}`,
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: version },
        subject: { type: subject },
        actions: ['act'],
        resource: { type: resource },
        condition: { cypher },
      }),
    })
    return answer.status === UNPROCESSABLE ? JSON.stringify(answer.body, null, 1).replaceAll('\\"', '"') : null
  }

  close(): Promise<void> {
    return this.service.stop()
  }

  private async search(path: string, body: object): Promise<string[]> {
    const answer = await this.ask(path, body)
    if (answer === null) return []
    const { results } = answer as { results: { id: string }[] }
    return results.map(({ id }) => id)
  }

  private ask(path: string, body: object): Promise<Record<string, unknown> | null> {
    return post(this.service, `/access/v1/${path}`, exactJson(body))
  }
}
