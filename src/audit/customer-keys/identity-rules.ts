// Rules for `key_resource` and `auth_params` that all key services share.
import type { KeyClientDeps, KeyIdentity } from './customer-key.ts'

/** One message for each parameter that the service does not know. */
export function unknownParams({ params }: KeyIdentity, known: readonly string[]): string[] {
  const names = known.map((name) => `\`${name}\``).join(', ')
  return Object.keys(params)
    .filter((name) => !known.includes(name))
    .map((name) => `auth_params.${name}: unknown; this provider takes ${names}`)
}

/** One message for each required parameter that is absent or empty. */
export function missingParams({ params }: KeyIdentity, required: readonly string[]): string[] {
  return required
    .filter((name) => (params[name] ?? '') === '')
    .map((name) => `auth_params.${name}: required for this provider`)
}

/** The message if a parameter is not the address of a service; empty otherwise. An absent parameter is valid. */
export function endpointErrors(
  { params }: KeyIdentity,
  name: string,
  upstream: Pick<KeyClientDeps['upstream'], 'urlError'>,
): string[] {
  const endpoint = params[name] ?? ''
  if (endpoint === '') return []
  const url = URL.parse(endpoint)
  // A path or a query would become part of the calls.
  if (url === null || url.pathname !== '/' || url.search !== '' || url.hash !== '' || endpoint.endsWith('?'))
    return [`auth_params.${name}: expected a URL without path, such as \`https://kms.internal\``]
  const error = upstream.urlError(endpoint)
  return error === null ? [] : [`auth_params.${name}: ${error}`]
}

/** The address of a service without the slash at the end: a parameter, or the default. */
export function endpointOf({ params }: KeyIdentity, name: string, standard: string): string {
  const endpoint = params[name] ?? ''
  return (endpoint === '' ? standard : endpoint).replace(/\/$/, '')
}
