// Addresses of servers that speak Bolt, such as Neo4j: `bolt://host:7687` for one server, `neo4j://` for a cluster that routes, with
// `+s` for TLS with a certificate that is checked, with `+ssc` for TLS with any certificate.
import { err, ok, type Result } from './result.ts'

const SCHEMES: ReadonlySet<string> = new Set(['bolt:', 'bolt+s:', 'bolt+ssc:', 'neo4j:', 'neo4j+s:', 'neo4j+ssc:'])

/** Where a database is. */
export interface DatabasePlace {
  /** The URL of the server, without path. */
  readonly url: string
  /** Null: the default database of the server. */
  readonly database: string | null
}

/** The port of a URL without one. */
const DEFAULT_PORT = '7687'

/** Whether both are the same database of the same host and port, however it is reached. */
export function samePlace(a: DatabasePlace, b: DatabasePlace): boolean {
  const textOf = ({ url, database }: DatabasePlace): string => {
    const { port } = new URL(url)
    return [boltHost(url), port === '' ? DEFAULT_PORT : port, database?.toLowerCase() ?? ''].join('/')
  }
  return textOf(a) === textOf(b)
}

/** The URL of a database. */
export function placeUrl({ url, database }: DatabasePlace): string {
  return database === null ? url : `${url}/${encodeURIComponent(database)}`
}

/** Whether the connection is encrypted, and the certificate of the server is checked. */
export function isVerified(url: string): boolean {
  return /^(?:bolt|neo4j)\+s:/i.test(url)
}

/** The host of a URL in lower case, IPv6 without brackets. */
export function boltHost(url: string): string {
  return new URL(url).hostname.toLowerCase().replace(/^\[|\]$/g, '')
}

/** Whether a URL has a scheme of Bolt. */
export function hasBoltScheme(url: string): boolean {
  return SCHEMES.has(/^([A-Za-z0-9+.-]*:)/.exec(url)?.[1]?.toLowerCase() ?? '')
}

/**
 * Reads the URL of a server, or of one of its databases, which is then the path: `bolt://host:7687/movies`. The error is a
 * message without the URL, which may contain a password.
 */
export function parseBoltUrl(text: string): Result<DatabasePlace, string> {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return err('expected a URL such as `bolt://host:7687`')
  }
  if (!SCHEMES.has(url.protocol) || url.hostname === '') return err('expected a URL such as `bolt://host:7687`')
  if (url.username !== '' || url.password !== '') return err('the credentials belong into `username` and `password`')
  if (url.search !== '' || url.hash !== '') return err('expected a URL without query and fragment')
  const path = decodeURIComponent(url.pathname.replace(/^\//, ''))
  if (path.includes('/')) return err('expected at most the name of a database as path')
  return ok({ url: `${url.protocol}//${url.host}`, database: path === '' ? null : path })
}
