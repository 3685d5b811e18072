// What the service tells of itself to those who ask decisions (AuthZEN 9): where each call is.
import { z } from 'zod'

/** Path of the call by the name of its member; the paths are those that AuthZEN gives as defaults. */
export const endpoints = {
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
} as const

export const wellKnownPath = '/.well-known/authzen-configuration'

export const metadataDocument = z.object({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_evaluations_endpoint: z.string(),
  search_subject_endpoint: z.string(),
  search_resource_endpoint: z.string(),
  search_action_endpoint: z.string(),
})

/** `base`: without a slash at its end. */
export function metadataOf(base: string): Record<string, string> {
  const members = Object.entries(endpoints).map(([name, path]) => [name, `${base}${path}`])
  return { policy_decision_point: base, ...Object.fromEntries(members) }
}

/** Between host and path (AuthZEN 9): `https://pdp/tenant` is described at `https://pdp/.well-known/…/tenant`. */
export function metadataPath(publicUrl: string): string {
  return publicUrl === '' ? wellKnownPath : `${wellKnownPath}${new URL(publicUrl).pathname.replace(/\/$/, '')}`
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/** What a caller reached us by, where nobody has said how we are reached; null where that is no name of a host. */
export function baseFromHost(host: string | null): string | null {
  return host !== null && HOST.test(host) ? `http://${host}` : null
}
