// AuthZEN metadata of the decision point (AuthZEN 9): the URL of each endpoint.
import { z } from 'zod'

/** Path of each endpoint by its metadata member; the AuthZEN default paths. */
export const endpoints = {
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
} as const

/** Path of the metadata document. */
const wellKnownPath = '/.well-known/authzen-configuration'

/** The metadata document. */
export const metadataDocument = z
  .object({
    policy_decision_point: z.string(),
    access_evaluation_endpoint: z.string(),
    access_evaluations_endpoint: z.string(),
    search_subject_endpoint: z.string(),
    search_resource_endpoint: z.string(),
    search_action_endpoint: z.string(),
  })
  .meta({ id: 'AuthzenConfiguration' })

/** Returns the metadata document. `base`: URL of the service without a trailing slash. */
export function metadataOf(base: string): Record<string, string> {
  const members = Object.entries(endpoints).map(([name, path]) => [name, `${base}${path}`])
  return { policy_decision_point: base, ...Object.fromEntries(members) }
}

/**
 * Returns the metadata path for a public URL: AuthZEN 9 puts it between host and path, so that `https://pdp/tenant` is
 * described at `https://pdp/.well-known/…/tenant`.
 */
export function metadataPath(publicUrl: string): string {
  return publicUrl === '' ? wellKnownPath : `${wellKnownPath}${new URL(publicUrl).pathname.replace(/\/$/, '')}`
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * Returns the base URL from a `Host` header, for a service without a configured public URL; null if the header is not a
 * host name.
 */
export function baseFromHost(host: string | null): string | null {
  return host !== null && HOST.test(host) ? `http://${host}` : null
}
