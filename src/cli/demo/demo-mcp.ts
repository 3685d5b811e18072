// The MCP server of the demo: its agent, knowledge queries and accepted tokens, and the commands that connect a client.
import queries from '../../../data/demo/queries.json' with { type: 'json' }
import { ownCommand } from '../settings/own-command.ts'
import { type InProcessClient, requestFailed } from '../target/in-process-client.ts'
import { demoIssuer, memberPublicKey } from './demo-tokens.ts'

/** Creates the MCP server and everything that it needs. Idempotent. */
export async function prepareMcp(requests: InProcessClient, projectId: string, dataDir: string): Promise<void> {
  const scope = `project_id=${projectId}`
  const ensure = (kind: string, body: { readonly name: string }): Promise<string> =>
    requests.ensure(kind, scope, { project_id: projectId, ...body } as { name: string })

  const application_id = await ensure('applications', { name: 'demo' })
  const api_permissions = ['Authorization', 'CIQ']
  const agent = { name: 'assistant', application_id, api_permissions }
  const app_agent_id = await requests.ensure('application-agents', scope, agent)

  const accepted = {
    jwt_matcher: demoIssuer,
    offline_validation: { public_jwks: [await memberPublicKey(dataDir)] },
    ikg_node_type: 'Person',
  }
  const token_introspect_id = await ensure('token-introspects', { name: 'members', ...accepted } as { name: string })
  // An existing document may pin another key: from an interrupted start, or from a restored backup.
  const updated = await requests.put(`token-introspects/${token_introspect_id}`, accepted)
  if (updated.status !== 200) throw requestFailed("pinning the key of the demo's members", updated)

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

/** The lines that show how to connect. */
export function mcpLines(address: string, projectId: string, dataDir: string): readonly string[] {
  return [
    '',
    'An agent can act for Dara over MCP, with a token of Dara that is valid for eight hours:',
    `  export PROJECT=${projectId}`,
    `  export TOKEN=$(${ownCommand(['demo-token', '--data', dataDir])})`,
    `  claude mcp add --transport http fernhill "${address}/mcp/v1/$PROJECT" --header "Authorization: Bearer $TOKEN"`,
  ]
}
