// A client of @hey-api/openapi-ts: compiled strictly, then run against a live server.
import { type EvaluationRequest, evaluate, type Problem, readProject, searchResources } from './hey-api'
import { createClient } from './hey-api/client'

declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
const {
  VERDIGRAPH_URL: baseUrl = '',
  AGENT_KEY: key = '',
  ADMIN_TOKEN: token = '',
  PROJECT_ID: projectId = '',
} = process.env

const agent = createClient({ baseUrl, headers: { 'X-SVC-ClientKey': key } })
const admin = createClient({ baseUrl, headers: { Authorization: `Bearer ${token}` } })

const request = (loadKg: number): EvaluationRequest => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Truck', id: 't1' },
  context: { input_params: { load_kg: loadKg } },
})

async function mayDrive(loadKg: number): Promise<boolean | undefined> {
  return (await evaluate({ client: agent, body: request(loadKg) })).data?.decision
}

const inline = await evaluate({ client: agent, body: { ...request(0), context: { input_params: { load_kg: 1800 } } } })
const found = await searchResources({ client: agent, body: { ...request(1800), resource: { type: 'Truck' } } })
// @ts-expect-error A subject has an id.
const wrong = await evaluate({ client: agent, body: { ...request(1800), subject: { type: 'Person' } } })
const problem: Problem | undefined = wrong.error
const project = await readProject({ client: admin, path: { id: projectId } })
const region: string | undefined = project.data?.region

console.log(
  JSON.stringify({
    light: await mayDrive(1800),
    heavy: await mayDrive(9000),
    inline: inline.data?.decision,
    found: found.data?.results.map(({ id }) => id),
    problem: problem?.errors,
    region,
  }),
)
