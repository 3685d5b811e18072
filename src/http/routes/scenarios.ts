// The route that runs a scenario file against the policies of a project.
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok } from '../../kernel/result.ts'
import {
  type ScenarioRunRequest,
  type ScenarioRuns,
  scenarioRunAnswer,
  scenarioRunRequest,
} from '../../policy/scenario-run.ts'
import { errorStatuses, type Route } from '../route.ts'
import { agentOf } from './callers.ts'

const editorRequired: ServiceError = {
  kind: 'forbidden',
  message: 'scenarios need a service account with the role `all_editor`, because they show the content of policies',
}

/** Builds the route. */
export function scenarioRoutes(run: ScenarioRuns): Route[] {
  return [
    {
      method: 'POST',
      path: '/access/v1/test',
      operationId: 'runScenario',
      tag: { name: 'Decisions', description: 'Authorization decisions and searches of AuthZEN.' },
      summary: 'Run a scenario file against the policies of the project',
      description:
        'The graph of the file is built in memory; the graph of the project is neither read nor changed. The ACTIVE policies and queries of the project answer, together with those of the file and of the request. A file with `policies` and without `project` runs with its own policies only, as `verdigraph test` does. Resolvers are not called. It stores nothing.',
      auth: { kind: 'agent', permission: 'Authorization', also: 'ReadAuthZConfigs', user: 'ignored' },
      lane: { always: true, limit: 'batch', isTest: true },
      request: scenarioRunRequest,
      example: {
        scenario: [
          'project: ..',
          'graph: |',
          '  (ann:Person)-[:OWNS]->(c1:Car)',
          'decisions:',
          '  - [Person:ann, drive, Car:c1, yes]',
        ].join('\n'),
      },
      responses: { 200: scenarioRunAnswer, ...errorStatuses(400, 403, 404, 413, 415, 422, 503) },
      async handle(context, body) {
        const caller = agentOf(context)
        if (caller.account?.role !== 'all_editor') return err(editorRequired)
        const result = await run(caller, body as ScenarioRunRequest)
        return result.ok ? ok({ status: 200, body: result.value }) : result
      },
    },
  ]
}
