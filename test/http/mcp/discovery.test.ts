// Clients that know only the address: they discover the issuer from the endpoint's metadata, get a token for that
// address, and another one if a policy requires more scopes.
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ClientCredentialsProvider as OldCredentials } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { json, startIssuer, type TestIssuer } from '../../support/token-issuer.ts'

const AUDIENCE = 'agents'
const who = { name: 'stranger', version: '1' }
const credentials = { clientId: 'stranger', clientSecret: 'secret-of-the-stranger' }

let issuer: TestIssuer
let setup: McpService
/** The requests to the issuer. */
const asked: { resource: string | null; scope: string | null }[] = []
/** The scopes of the first token, independent of the request. Null: the requested ones. */
let firstScope: string | null = null

beforeAll(async () => {
  issuer = await startIssuer()
  const { url } = issuer
  const document = {
    issuer: url,
    jwks_uri: `${url}/jwks`,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    code_challenge_methods_supported: ['S256'],
  }
  issuer.instead.set('/.well-known/openid-configuration', json(document))
  issuer.instead.set('/token', async (request, response) => {
    const body = new URLSearchParams((await Array.fromAsync(request)).join(''))
    const given = { resource: body.get('resource'), scope: body.get('scope') }
    const scope = (asked.push(given) === 1 ? firstScope : null) ?? given.scope ?? ''
    const nowS = Math.floor(Date.now() / 1000)
    const claims = { iss: url, aud: AUDIENCE, sub: 'ann', iat: nowS, exp: nowS + 600, scope }
    const access_token = await issuer.sign(claims)
    json({ access_token, token_type: 'Bearer', expires_in: 600, scope })(request, response)
  })
  setup = await startMcpService({
    settings: { upstreamAllow: '127.0.0.1' },
    provider: { issuer: url, audience: AUDIENCE },
  })
})
beforeEach(() => {
  asked.length = 0
  firstScope = null
})
afterAll(async () => {
  await setup.stop()
  await issuer.stop()
})

describe('a client without a token', () => {
  it('of the first line finds the issuer, and gets a token for this address', async () => {
    const client = new OldClient(who)
    const authProvider = new OldCredentials({ ...credentials, expectedIssuer: issuer.url })
    await client.connect(new OldTransport(new URL(setup.url), { authProvider }) as never)
    expect((await client.listTools()).tools).toHaveLength(7)
    expect(asked.map(({ resource }) => resource)).toEqual([setup.url])
    await client.close()
  })

  it.each(['auto', { pin: '2026-07-28' }, undefined] as const)('of the second line does, in mode %j', async (mode) => {
    const client = new Client(who, mode === undefined ? {} : { versionNegotiation: { mode } })
    const authProvider = new ClientCredentialsProvider({ ...credentials, expectedIssuer: issuer.url })
    await client.connect(new StreamableHTTPClientTransport(new URL(setup.url), { authProvider }))
    expect((await client.listTools()).tools).toHaveLength(7)
    expect(asked).toEqual([{ resource: setup.url, scope: 'graph:read graph:write' }])
    await client.close()
  })
  it('gets one with more scopes if a policy requires more, and repeats its call', async () => {
    const document = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
        filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
        token_filter: {
          ...{ operator: '=', attribute: '$token.scope', value: 'graph:read graph:write' },
          advice: { error: 'insufficient_scope', error_description: 'writing is asked for' },
        },
      },
      allowed_reads: { nodes: ['car.external_id'] },
    }
    const policy = { name: 'writers', status: 'ACTIVE', policy: JSON.stringify(document) }
    const policy_id = await setup.create('authorization-policies', policy)
    const query = JSON.stringify({ nodes: ['car.external_id'] })
    await setup.create('knowledge-queries', { name: 'as-writer', status: 'ACTIVE', policy_id, query })
    firstScope = 'graph:read'
    const client = new Client(who, { versionNegotiation: { mode: 'auto' } })
    const authProvider = new ClientCredentialsProvider({ ...credentials, expectedIssuer: issuer.url })
    await client.connect(new StreamableHTTPClientTransport(new URL(setup.url), { authProvider }))
    const { structuredContent } = await client.callTool({ name: 'ciq_execute', arguments: { id: 'as-writer' } })
    expect((structuredContent as { data: unknown[] }).data).toHaveLength(2)
    expect(asked.map(({ scope }) => scope)).toEqual(['graph:read graph:write', 'graph:read graph:write'])
    await client.close()
  })
})
