// How each credential header is read, and how each route's use of user tokens treats it.
import { expect, test } from 'vitest'
import { createAuthenticator, needsConfiguration } from '../../../src/http/authenticate.ts'
import type { Auth, HttpRequest, UserTokenUse } from '../../../src/http/route.ts'
import { FixedTokens } from '../../../src/identity/fixed-tokens.ts'
import type { AgentCaller, UserToken } from '../../../src/kernel/request/caller.ts'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { ok } from '../../../src/kernel/result.ts'

const agent: AgentCaller = {
  kind: 'agent',
  agentId: 'agent',
  applicationId: 'application',
  projectId: 'project',
  permissions: new Set(['Authorization']),
  user: null,
}

/** Accepts every user token, and returns it in its claims. */
const authenticate = createAuthenticator({
  authenticateAgent: (key) => (key === 'key' ? agent : null),
  refusedAgent: () => ({ kind: 'agent-key', reason: 'unknown' }),
  authenticateSession: () => null,
  organizationOf: () => null,
  authenticateServiceAccount: async () => null,
  refusedServiceAccount: () => ({ kind: 'service-account-token', reason: 'unknown' }),
  authenticateUser: (projectId, token, delegation) =>
    ok<UserToken>({ nodeType: 'Person', subjectId: 'ann', claims: { projectId, token }, delegation: { delegation } }),
})

async function ask(user: UserTokenUse, headers: Record<string, string>): Promise<unknown> {
  const request: HttpRequest = {
    method: 'POST',
    path: '/',
    query: '',
    headers: () => Object.entries(headers),
    header: (name) => headers[name] ?? null,
    body: () => new Uint8Array(),
  }
  const auth: Auth = { kind: 'agent', permission: 'Authorization', user }
  const answered = await authenticate(auth, request, noOrigin)
  if (!answered.ok) return answered.error
  return answered.value?.kind === 'agent' ? (answered.value.user ?? 'the agent alone') : answered.value
}

const key = { 'x-svc-clientkey': 'key' }

test('with a key in its own header, Authorization contains the token of the user', async () => {
  const user = { nodeType: 'Person', subjectId: 'ann', claims: { projectId: 'project', token: 'abc' } }
  for (const use of ['optional', 'required'] as const) {
    expect(await ask(use, { ...key, authorization: 'Bearer abc' })).toEqual({
      ...user,
      delegation: { delegation: null },
    })
    expect(await ask(use, { ...key, authorization: 'bearer  abc', 'x-svc-token': 'Bearer def' })).toEqual({
      ...user,
      delegation: { delegation: 'def' },
    })
  }
})

test('with the key in Authorization there is no user', async () => {
  expect(await ask('optional', { authorization: 'Bearer key' })).toBe('the agent alone')
  expect(await ask('ignored', { authorization: 'key' })).toBe('the agent alone')
})

test('a route without user tokens ignores them', async () => {
  expect(await ask('ignored', { ...key, authorization: 'Basic abc', 'x-svc-token': 'def' })).toBe('the agent alone')
})

test('a route that requires a user reports a missing one', async () => {
  const refusal = { kind: 'unauthenticated', message: 'end-user token is required' }
  expect(await ask('required', key)).toEqual(refusal)
  expect(await ask('required', { authorization: 'key' })).toEqual(refusal)
})

test('a delegation token without a token of the user is refused', async () => {
  const refusal = { kind: 'unauthenticated', message: 'end-user token is required' }
  expect(await ask('optional', { ...key, 'x-svc-token': 'def' })).toEqual(refusal)
  expect(await ask('optional', { authorization: 'key', 'x-svc-token': 'def' })).toEqual(refusal)
})

test('an invalid bearer token is refused, never ignored', async () => {
  const refusal = {
    kind: 'unauthenticated',
    message: 'Invalid token in Authorization header',
    invalidToken: 'expected a bearer token',
  }
  for (const authorization of ['Basic YTpi', 'Bearer', 'abc', '']) {
    expect(await ask('optional', { ...key, authorization })).toEqual(refusal)
  }
})

test('the key is checked before the token, and an agent without the permission learns nothing about the token', async () => {
  const wrong = { 'x-svc-clientkey': 'other', authorization: 'Bearer abc' }
  expect(await ask('optional', wrong)).toMatchObject({ message: 'the application agent key is unknown or expired' })
  expect(await ask('optional', { 'x-svc-clientkey': '', authorization: 'key' })).toMatchObject({
    message: 'an application agent key is required in the header X-SVC-ClientKey',
  })
})

test('only public routes, and tokens of the settings, do not depend on the configuration', () => {
  const request = (authorization: string | null): HttpRequest => ({
    method: 'GET',
    path: '/metrics',
    query: '',
    header: (name) => (name === 'authorization' ? authorization : null),
    headers: () => [],
    body: () => new Uint8Array(),
  })
  const metrics = { kind: 'service-account', fixedTokens: new FixedTokens('token-of-the-settings') } as const
  const needs = (auth: Auth, authorization: string | null): boolean => needsConfiguration(auth, request(authorization))
  expect(needs({ kind: 'public' }, null)).toBe(false)
  expect(needs(metrics, 'Bearer token-of-the-settings')).toBe(false)
  expect(needs(metrics, 'Bearer another')).toBe(true)
  expect(needs(metrics, null)).toBe(true)
  expect(needs({ kind: 'service-account' }, 'Bearer token-of-the-settings')).toBe(true)
  expect(needs({ kind: 'user' }, null)).toBe(true)
})
