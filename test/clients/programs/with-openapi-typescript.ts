// A client with the types of openapi-typescript: compiled strictly, then run against a live server.
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'

declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
const {
  VERDIGRAPH_URL: baseUrl = '',
  AGENT_KEY: key = '',
  ADMIN_TOKEN: token = '',
  PROJECT_ID: projectId = '',
} = process.env

type Schemas = components['schemas']

const agent = createClient<paths>({ baseUrl, headers: { 'X-SVC-ClientKey': key } })
const admin = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })

const subject: Schemas['Subject'] = { type: 'Person', id: 'ann' }
const resource: Schemas['Resource'] = { type: 'Truck', id: 't1' }

async function mayDrive(loadKg: number): Promise<boolean | undefined> {
  const body: Schemas['EvaluationRequest'] = {
    subject,
    action: { name: 'drive' },
    resource,
    context: { input_params: { load_kg: loadKg } },
  }
  const { data } = await agent.POST('/access/v1/evaluation', { body })
  return data?.decision
}

// The literal of a call that is not assigned to a named type first.
const inline = await agent.POST('/access/v1/evaluation', {
  body: { subject, action: { name: 'drive' }, resource, context: { input_params: { load_kg: 1800 } } },
})
const found = await agent.POST('/access/v1/search/resource', {
  body: {
    subject,
    action: { name: 'drive' },
    resource: { type: 'Truck' },
    context: { input_params: { load_kg: 1800 } },
  },
})
const wrong = await agent.POST('/access/v1/evaluation', {
  // @ts-expect-error A subject has an id.
  body: { subject: { type: 'Person' }, action: { name: 'drive' }, resource },
})
const problem: Schemas['Problem'] | undefined = wrong.error

const project = await admin.GET('/configs/v1/projects/{id}', { params: { path: { id: projectId } } })
const region: string | undefined = project.data?.region

// @ts-expect-error The other spelling of a member is not in the description.
const sink: Schemas['QueueService'] = { queue_or_topic_name: 'audit' }
void sink

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
