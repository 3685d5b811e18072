// Finds the route of a method and a path: a fixed path by a map lookup, a path with `{parameters}` segment by segment.
// A trailing slash is ignored; a GET route also serves HEAD.
import { parameterOf } from './request-target.ts'
import type { Method, Route } from './route.ts'

/** The parameters of a fixed path. */
export const noParameters: Readonly<Record<string, string>> = Object.freeze({})

/** The result of routing a request. */
export type RouteMatch =
  | { readonly kind: 'route'; readonly route: Route; readonly pathParameters: Readonly<Record<string, string>> }
  /** The path exists, but not with this method. `allow` is sorted. */
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'none' }

interface PathTemplate {
  readonly template: readonly string[]
  readonly methods: Map<string, Route>
}

/** Finds routes. */
export interface Router {
  match(method: string, path: string): RouteMatch
}

const noMatch: RouteMatch = { kind: 'none' }

/** Creates a router. Throws if two routes match the same requests. */
export function createRouter(routes: readonly Route[]): Router {
  const exact = new Map<string, Map<string, RouteMatch>>()
  const endpoints = new Map<string, PathTemplate>()
  for (const route of routes) {
    if (!route.path.includes('{')) {
      const methods = exact.get(route.path) ?? new Map<string, RouteMatch>()
      if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`)
      methods.set(route.method, { kind: 'route', route, pathParameters: noParameters })
      exact.set(route.path, methods)
      continue
    }
    const template = route.path.split('/')
    // Templates that differ only in parameter names match the same paths.
    const shape = template.map((segment) => (isParameter(segment) ? '{}' : segment)).join('/')
    const endpoint = endpoints.get(shape) ?? { template, methods: new Map<string, Route>() }
    if (endpoint.methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`)
    endpoint.methods.set(route.method, route)
    endpoints.set(shape, endpoint)
  }
  // Indexed by first segment and number of segments, so that a path is compared with few templates.
  const templates = new Map<string, PathTemplate[]>()
  for (const endpoint of endpoints.values()) {
    const [, start = '{}'] = endpoint.template
    if (isParameter(start))
      throw new Error(`the path of a route begins with a parameter: ${endpoint.template.join('/')}`)
    const key = `${start}/${endpoint.template.length}`
    templates.set(key, [...(templates.get(key) ?? []), endpoint])
  }

  return {
    match(method, path) {
      const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
      const routed = method === 'HEAD' ? 'GET' : method
      const methods = exact.get(trimmed)
      if (methods !== undefined) return methods.get(routed) ?? { kind: 'method', allow: allowedMethods(methods.keys()) }
      const segments = trimmed.split('/')
      for (const endpoint of templates.get(`${segments[1]}/${segments.length}`) ?? []) {
        if (!matchesTemplate(endpoint.template, segments)) continue
        const route = endpoint.methods.get(routed)
        if (route === undefined) return { kind: 'method', allow: allowedMethods(endpoint.methods.keys()) }
        return { kind: 'route', route, pathParameters: readParameters(route.path.split('/'), segments) }
      }
      return noMatch
    },
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{') && segment.endsWith('}')
}

function matchesTemplate(template: readonly string[], segments: readonly string[]): boolean {
  if (template.length !== segments.length) return false
  return template.every((part, i) => (isParameter(part) ? segments[i] !== '' : part === segments[i]))
}

function readParameters(template: readonly string[], segments: readonly string[]): Record<string, string> {
  const names: Record<string, string> = {}
  template.forEach((part, i) => {
    if (isParameter(part)) names[part.slice(1, -1)] = parameterOf(segments[i] ?? '')
  })
  return names
}

function allowedMethods(methods: Iterable<string>): string[] {
  const all = new Set<string>(methods)
  if (all.has('GET' satisfies Method)) all.add('HEAD')
  all.add('OPTIONS')
  return [...all].sort()
}
