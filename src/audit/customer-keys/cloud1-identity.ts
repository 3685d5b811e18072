// The identity of this service in CLOUD1, which assumes the roles of customers who give no access key. It is read from the environment
// variables that the vendor's programs read.
// https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html
import type { KeyClientDeps } from './customer-key.ts'

/** Credentials that sign requests. */
export interface SigningCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** How the service gets its own credentials: an access key, or a token in a file that it exchanges for those of a role. */
type ServiceIdentity =
  | { readonly kind: 'access-key'; readonly credentials: SigningCredentials }
  | { readonly kind: 'web-identity'; readonly tokenFile: string; readonly role: string; readonly session: string }

const SESSION = 'verdigraph'

/** The identity of this service; null: its environment has none. */
export function serviceIdentityOf({ environment = {} }: Pick<KeyClientDeps, 'environment'>): ServiceIdentity | null {
  const variable = (name: string): string => environment[name] ?? ''
  const [accessKeyId, secretAccessKey] = [variable('AWS_ACCESS_KEY_ID'), variable('AWS_SECRET_ACCESS_KEY')]
  const sessionToken = variable('AWS_SESSION_TOKEN')
  if (accessKeyId !== '' && secretAccessKey !== '') {
    const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== '' && { sessionToken }) }
    return { kind: 'access-key', credentials }
  }
  const [tokenFile, role] = [variable('AWS_WEB_IDENTITY_TOKEN_FILE'), variable('AWS_ROLE_ARN')]
  if (tokenFile === '' || role === '') return null
  return { kind: 'web-identity', tokenFile, role, session: variable('AWS_ROLE_SESSION_NAME') || SESSION }
}

/**
 * The address of the key service or the token service for calls with the identity of this service.
 * @param standard The public address.
 */
export function serviceEndpoint(
  { environment = {} }: Pick<KeyClientDeps, 'environment'>,
  service: 'KMS' | 'STS',
  standard: string,
): string {
  const endpoint = environment[`AWS_ENDPOINT_URL_${service}`] ?? ''
  return endpoint === '' ? standard : endpoint.replace(/\/$/, '')
}
