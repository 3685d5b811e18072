// The demo's MCP server: an agent of its own, knowledge queries, whose tokens are taken, and the lines that connect a client.
import queries from '../../data/demo/queries.json' with { type: 'json' }
import { type DemoClient, requestFailed } from './demo-client.ts'
import { demoIssuer, memberPublicKey, memberToken } from './demo-tokens.ts'

const PERSON = 'dara'
/** A working day. */
const TOKEN_S = 8 * 3600

export async function prepareMcp(requests: DemoClient, projectId: string, dataDir: string): Promise<void> {
  const scope = `project_id=${projectId}`
  const ensure = (kind: string, body: { readonly name: string }): Promise<string> =>
    requests.ensure(kind, scope, { project_id: projectId, ...body } as { name: string })

  const application_id = await ensure('applications', { name: 'demo' })
  const api_permissions = ['Authorization', 'CIQ']
  const agent = { name: 'assistant', application_id, api_permissions }
  const app_agent_id = await requests.ensure('application-agents', scope, agent)

  const taken = {
    jwt_matcher: demoIssuer,
    offline_validation: { public_jwks: [await memberPublicKey(dataDir)] },
    ikg_node_type: 'Person',
  }
  const token_introspect_id = await ensure('token-introspects', { name: 'members', ...taken } as { name: string })
  // One that was there may have been made with another key: of a start that was cut off, or of the folder of a backup.
  const pinned = await requests.put(`token-introspects/${token_introspect_id}`, taken)
  if (pinned.status !== 200) throw requestFailed("pinning the key of the demo's members", pinned)

  const policies = new Map<string, string>()
  for (const { policy, ...envelope } of queries.policies) {
    const body = { ...envelope, policy: JSON.stringify(policy) }
    policies.set(envelope.name, await ensure('authorization-policies', body))
  }
  for (const { policy, query, ...envelope } of queries.queries) {
    const body = { ...envelope, policy_id: policies.get(policy), query: JSON.stringify(query) }
    await ensure('knowledge-queries', body)
  }
  const server = { name: 'demo', app_agent_id, token_introspect_id, enabled: true, scopes_supported: ['openid'] }
  await ensure('mcp-servers', server)
}

/** Nothing where the folder has no key for its members. */
export async function mcpLines(address: string, projectId: string, dataDir: string): Promise<readonly string[]> {
  const token = await memberToken(dataDir, PERSON, TOKEN_S)
  if (token === null) return []
  const url = `${address}/mcp/v1/${projectId}`
  const header = '--header "Authorization: Bearer $TOKEN"'
  return [
    '',
    `An agent may ask for Dara, over MCP: her token (\`npx verdigraph demo-token --data ${dataDir}\` prints another), and a client.`,
    `  TOKEN=${token}`,
    `  claude mcp add --transport http fernhill ${url} ${header}`,
    'Or, without a model:',
    `  npx @modelcontextprotocol/inspector --cli ${url} --transport http ${header} --method tools/call --tool-name ciq_execute --tool-args-json '{"id":"my-cars-that-pull","input_params":{"load_kg":1800}}'`,
  ]
}
