// Connection strings of queue services: `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…;EntityPath=…` and AMQP URLs.
import { err, ok, type Result } from '../../kernel/result.ts'

/** How to log in. `token`: a ready shared access signature. */
export type QueueLogin =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  | { readonly kind: 'shared-key'; readonly name: string; readonly key: string }
  | { readonly kind: 'token'; readonly token: string }

/** A parsed connection string. */
export interface QueueTarget {
  /** Name or IP address in lower case, IPv6 without brackets. */
  readonly host: string
  readonly port: number
  /** Host, and port if the connection string has one: tokens are for this name. */
  readonly authority: string
  readonly isSecure: boolean
  readonly login: QueueLogin
  /** The queue or topic, if the connection string is for one only. */
  readonly entityPath: string | null
}

const PORTS = { secure: 5671, plain: 5672 }

/** Parses a connection string. The error contains names of members only, no values. */
export function parseConnectionString(text: string): Result<QueueTarget, string> {
  const trimmed = text.trim()
  return /^amqps?:/i.test(trimmed) ? parseUrl(trimmed) : parseMembers(trimmed)
}

/** All secrets of a connection string, in the forms in which an error could quote them. */
export function secretsOf(text: string): string[] {
  const parsed = parseConnectionString(text)
  if (!parsed.ok) return [text]
  const { login } = parsed.value
  switch (login.kind) {
    case 'anonymous':
      return []
    case 'password':
      return [text, login.password]
    case 'shared-key':
      return [text, login.key]
    case 'token':
      return [text, login.token]
  }
}

function parseUrl(text: string): Result<QueueTarget, string> {
  const url = URL.parse(text)
  if (url === null || url.hostname === '') return err('expected `amqps://user:password@host:port`')
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    return err('expected an AMQP URL without path, query and fragment')
  }
  const isSecure = url.protocol === 'amqps:'
  let login: QueueLogin = { kind: 'anonymous' }
  if (url.username !== '' || url.password !== '') {
    try {
      login = {
        kind: 'password',
        username: decodeURIComponent(url.username),
        password: decodeURIComponent(url.password),
      }
    } catch {
      return err('expected user and password in percent encoding')
    }
    if (login.username === '' || login.password === '') return err('expected both a user and a password')
  }
  return ok({ ...addressOf(url, isSecure), login, entityPath: null })
}

function parseMembers(text: string): Result<QueueTarget, string> {
  const members = new Map<string, string>()
  for (const part of text.split(';')) {
    if (part.trim() === '') continue
    const at = part.indexOf('=')
    if (at <= 0) return err('expected `Name=value` parts separated by `;`, or an AMQP URL')
    members.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim())
  }
  const endpoint = members.get('endpoint')
  if (endpoint === undefined) return err('expected a part `Endpoint=sb://…`, or an AMQP URL')
  const url = URL.parse(endpoint.replace(/^(?:sb|amqps?|https?):/i, 'sb:'))
  if (url === null || url.protocol !== 'sb:' || url.hostname === '' || url.username !== '' || url.password !== '') {
    return err('Endpoint: expected `sb://host/`')
  }
  const [name, key, token] = ['sharedaccesskeyname', 'sharedaccesskey', 'sharedaccesssignature'].map((one) =>
    members.get(one),
  )
  let login: QueueLogin
  if (token !== undefined && token !== '') login = { kind: 'token', token }
  else if (name && key) login = { kind: 'shared-key', name, key }
  else return err('expected SharedAccessKeyName and SharedAccessKey, or SharedAccessSignature')
  const isSecure = members.get('usedevelopmentemulator')?.toLowerCase() !== 'true'
  return ok({ ...addressOf(url, isSecure), login, entityPath: members.get('entitypath') || null })
}

function addressOf(url: URL, isSecure: boolean): Pick<QueueTarget, 'host' | 'port' | 'authority' | 'isSecure'> {
  const host = url.hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  const authority = url.host.toLowerCase()
  return { host, authority, port: url.port === '' ? PORTS[isSecure ? 'secure' : 'plain'] : Number(url.port), isSecure }
}
