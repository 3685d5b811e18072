import { describe, expect, it } from 'vitest'
import type { Method, Route } from '../../../src/http/route.ts'
import { createRouter } from '../../../src/http/router.ts'
import { ok } from '../../../src/kernel/result.ts'

function route(method: Method, path: string): Route {
  return {
    method,
    path,
    operationId: `${method} ${path}`,
    tag: { name: 'test', description: '' },
    summary: '',
    auth: { kind: 'public' },
    request: null,
    responses: {},
    handle: () => ok({ status: 200 }),
  }
}

const router = createRouter([
  route('GET', '/things'),
  route('POST', '/things'),
  route('GET', '/things/{id}'),
  route('DELETE', '/things/{id}'),
  route('GET', '/things/special'),
  route('GET', '/things/{id}/parts/{part}'),
])

function found(method: string, path: string): unknown {
  const match = router.match(method, path)
  return match.kind === 'route' ? [match.route.method, match.route.path, match.pathParameters] : match
}

describe('the router', () => {
  it('finds an exact path', () => {
    expect(found('POST', '/things')).toEqual(['POST', '/things', {}])
  })

  it('finds a template and reads its parameters', () => {
    expect(found('DELETE', '/things/a-1')).toEqual(['DELETE', '/things/{id}', { id: 'a-1' }])
    expect(found('GET', '/things/a/parts/b')).toEqual(['GET', '/things/{id}/parts/{part}', { id: 'a', part: 'b' }])
  })

  it('prefers an exact path over a template', () => {
    expect(found('GET', '/things/special')).toEqual(['GET', '/things/special', {}])
  })

  it('ignores a trailing slash', () => {
    expect(found('POST', '/things/')).toEqual(['POST', '/things', {}])
    expect(found('GET', '/things/x/')).toEqual(['GET', '/things/{id}', { id: 'x' }])
  })

  it('does not accept an empty segment as a parameter', () => {
    expect(found('GET', '/things/x//')).toEqual({ kind: 'none' })
    expect(found('GET', '/things//parts/b')).toEqual({ kind: 'none' })
  })

  it('serves HEAD with the route of GET', () => {
    expect(found('HEAD', '/things')).toEqual(['GET', '/things', {}])
  })

  it('lists the methods of a path', () => {
    expect(found('PUT', '/things')).toEqual({ kind: 'method', allow: ['GET', 'HEAD', 'OPTIONS', 'POST'] })
    expect(found('POST', '/things/x')).toEqual({ kind: 'method', allow: ['DELETE', 'GET', 'HEAD', 'OPTIONS'] })
  })

  it('finds no route for another path', () => {
    expect(found('GET', '/thing')).toEqual({ kind: 'none' })
    expect(found('GET', '/')).toEqual({ kind: 'none' })
    expect(found('GET', '/THINGS')).toEqual({ kind: 'none' })
  })

  it('refuses two routes for the same requests', () => {
    expect(() => createRouter([route('GET', '/a'), route('GET', '/a')])).toThrow('two routes for GET /a')
    expect(() => createRouter([route('GET', '/a/{x}'), route('GET', '/a/{y}')])).toThrow('two routes for GET /a/{y}')
  })
})
