// Creates a project with an application, an agent, a key and a token introspection, and prints the shell variables that name
// them. Environment: URL (of the service), ADMIN (an admin token).
import { generateKeyPairSync, randomUUID } from 'node:crypto'

const { URL: url, ADMIN: admin } = process.env
const name = `playground-${randomUUID().slice(0, 8)}`

async function request(method, path, body) {
  const response = await fetch(`${url}/configs/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  return await response.json()
}
const create = (kind, body) => request('POST', kind, { name, ...body })

const organization = await request('GET', 'organizations/current')
const project = await create('projects', { organization_id: organization.id, region: 'local' })
while ((await request('GET', `projects/${project.id}`)).ikg_status === 'PENDING') {
  await new Promise((resolve) => setTimeout(resolve, 20))
}
const application = await create('applications', { project_id: project.id })
const agent = await create('application-agents', {
  application_id: application.id,
  api_permissions: ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs', 'ReadDataSchema'],
})
const credential = await create('application-agent-credentials', { name: undefined, application_agent_id: agent.id })
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
await create('token-introspects', {
  project_id: project.id,
  jwt_matcher: { issuer: 'https://people.example.org', audience: 'playground' },
  offline_validation: { public_jwks: [JSON.stringify(publicKey.export({ format: 'jwk' }))] },
  ikg_node_type: 'Person',
})

const variables = {
  ORGANIZATION: organization.id,
  PROJECT: project.id,
  APPLICATION: application.id,
  AGENT: agent.id,
  KEY: credential.api_key,
  ISSUER_KEY: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
}
for (const [variable, value] of Object.entries(variables)) console.log(`export ${variable}='${value}'`)
