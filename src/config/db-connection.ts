// The database connection of a project: its schema, and the logical locations of a composite project
// (docs/decisions/0002-composite-projects-and-locations.md).
import { z } from 'zod'
import type { GraphStore } from '../engine/store.ts'
import { hasBoltScheme, parseBoltUrl } from '../kernel/bolt-address.ts'
import { locationLength } from '../kernel/element-rules.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Constituent, GraphLayout, ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { DocumentFields, StoredDocument } from './kind.ts'

const name = z.string().min(1).max(256)

/** The `db_connection` member. Responses omit the password. */
export const dbConnection = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(2048)
      .describe(
        '`lmdb:` for the embedded store; the URL of a Neo4j server with `bolt:` or `neo4j:`, with `+s` for TLS with a checked certificate, `+ssc` with any',
      ),
    username: name.nullish(),
    password: name.nullish().meta({ writeOnly: true }),
    name: name
      .nullish()
      .describe('database of nodes without a location; on a server also the URL of a database of another server'),
    composite_db_name: name.nullish(),
    alias_mapping: z.string().min(1).max(65_000).nullish(),
  })
  .superRefine((connection, context) => {
    const refuse = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message })
    const url = urlError(connection.url)
    if (url !== null) refuse('url', url)
    const isInServer = hasBoltScheme(connection.url)
    if (isInServer && (connection.username == null) !== (connection.password == null)) {
      const [missing, given] = connection.username == null ? ['username', 'password'] : ['password', 'username']
      refuse(missing!, `required together with \`${given}\``)
    }
    const composite = connection.composite_db_name ?? null
    const mapping = connection.alias_mapping ?? null
    if (composite !== null && mapping === null) refuse('alias_mapping', 'required together with `composite_db_name`')
    if (composite === null && mapping !== null) refuse('composite_db_name', 'required together with `alias_mapping`')
    const aliases = mapping === null ? null : parseAliasMapping(mapping)
    if (aliases !== null && !aliases.ok) refuse('alias_mapping', aliases.error)
    for (const [field, database] of [
      ['name', connection.name ?? ''],
      ['composite_db_name', composite ?? ''],
      ...(aliases?.ok === true ? [...aliases.value.values()] : []).map((one) => ['alias_mapping', one] as const),
    ] as const) {
      const refused = databaseError(database, isInServer)
      if (refused !== null) refuse(field, refused)
    }
    if (composite !== null && composite === connection.name) {
      refuse('composite_db_name', 'expected another database than `name`, which stores the data without a location')
    }
  })
  .meta({ id: 'DbConnection' })

/** A database may be on another server: its name is then a URL. */
function databaseError(database: string, isInServer: boolean): string | null {
  if (!database.includes('://')) return null
  if (!isInServer) return 'expected the name of a database: `url` is not that of a server'
  const place = parseBoltUrl(database)
  return place.ok ? null : place.error
}

/** The URLs of the servers of a connection, each with its path in the document. */
export function serverUrls(fields: DocumentFields): readonly { readonly path: string; readonly url: string }[] {
  const connection = (fields.db_connection ?? {}) as DbConnectionFields & { readonly url?: string }
  if (connection.url === undefined || !hasBoltScheme(connection.url)) return []
  const aliases = parseAliasMapping(connection.alias_mapping ?? '')
  return [
    { path: 'db_connection.url', url: connection.url },
    { path: 'db_connection.name', url: connection.name ?? '' },
    { path: 'db_connection.composite_db_name', url: connection.composite_db_name ?? '' },
    ...(aliases.ok ? [...aliases.value.values()] : []).map((url) => ({ path: 'db_connection.alias_mapping', url })),
  ].filter(({ url }) => url.includes('://'))
}

/** The embedded store accepts at most a name: the path of its files is a setting of the process. */
function urlError(url: string): string | null {
  if (hasBoltScheme(url)) {
    const place = parseBoltUrl(url)
    if (!place.ok) return place.error
    return place.value.database === null ? null : 'expected a URL without path: the database belongs into `name`'
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]
  if (scheme === undefined) return 'expected a URL with the scheme `lmdb:` or `bolt:`'
  if (scheme.toLowerCase() !== 'lmdb')
    return `the scheme \`${scheme}:\` has no adapter, expected \`lmdb:\`, \`bolt:\` or \`neo4j:\``
  return /^(?:\/\/)?[\w.-]*\/?$/.test(url.slice(scheme.length + 1)) ? null : 'the scheme `lmdb:` takes no path'
}

/**
 * Parses an alias mapping: `location=database` pairs joined with `&`, percent-encoded as in a URL query. Returns
 * database by location, or an error message.
 */
function parseAliasMapping(text: string): Result<ReadonlyMap<string, string>, string> {
  const aliases = new Map<string, string>()
  for (const pair of text.split('&')) {
    const [location, database, ...rest] = pair.split('=').map(decode)
    if (location == null || database == null || database === '' || rest.length > 0) {
      // A URL may have a password.
      const shown = pair.includes('@') ? `${pair.slice(0, pair.indexOf('=') + 1)}…` : pair
      return err(`expected \`location=database\`, found \`${shown}\``)
    }
    const { min, max } = locationLength
    const { length } = [...location]
    if (length < min || length > max)
      return err(`expected a location of ${min} to ${max} characters, found \`${location}\``)
    if (aliases.has(location)) return err(`the location \`${location}\` is mapped twice`)
    aliases.set(location, database)
  }
  return ok(aliases)
}

function decode(text: string): string | null {
  try {
    // A plus is a space, but not in the scheme of a server.
    return decodeURIComponent(text.replace(/\+(?!s(?:sc)?:\/\/)/g, ' '))
  } catch {
    return null
  }
}

interface DbConnectionFields {
  readonly name?: string
  readonly composite_db_name?: string
  readonly alias_mapping?: string
}

/**
 * Returns the graph layout that the `db_connection` of a project describes. A location mapped to `name` uses the
 * default database. A location mapped to `composite_db_name` is the global graph, which makes relationships between
 * locations readable. Every other database is a constituent that belongs to this project alone.
 */
export function parseLayout(fields: DocumentFields): GraphLayout {
  const { name, composite_db_name: composite, alias_mapping } = (fields.db_connection ?? {}) as DbConnectionFields
  const aliases = parseAliasMapping(alias_mapping ?? '')
  const locations = new Map<string, Constituent>()
  const constituents = new Map<string, Constituent>()
  if (name !== undefined) constituents.set(name, 'default')
  if (composite !== undefined) constituents.set(composite, 'global')
  for (const [location, database] of aliases.ok ? aliases.value : []) {
    const constituent = constituents.get(database) ?? { database }
    constituents.set(database, constituent)
    locations.set(location, constituent)
  }
  const url = (fields.db_connection as { readonly url?: string } | undefined)?.url ?? ''
  return { isComposite: composite !== undefined, locations, isInServer: hasBoltScheme(url) }
}

/** The message for a location that the project does not have. */
export function unknownLocationMessage(location: string, isComposite: boolean): string {
  return `unknown location ${location}${isComposite ? '' : ': the project has no composite database'}`
}

/** The message for a write of nodes to the composite database. */
export function compositeLocationMessage(name: string): string {
  return `${name} is the composite database, which stores no nodes`
}

const layouts = new WeakMap<StoredDocument, GraphLayout>()

/** The layout of a stored project. Returns the same object for the same document. */
export function layoutOf(project: StoredDocument): GraphLayout {
  let layout = layouts.get(project)
  if (layout === undefined) {
    layout = parseLayout(project.fields)
    layouts.set(project, layout)
  }
  return layout
}

/** Constituent by logical location of a stored project. Empty if the project is not composite. */
export function locationsOf(project: StoredDocument): ReadonlyMap<string, Constituent> {
  return layoutOf(project).locations
}

/** All graphs of a project, each once. */
export function graphsOfProject(graphs: ProjectGraphs, project: StoredDocument): readonly GraphStore[] {
  const { default: own, global } = graphs
  const all = [own, global, ...Array.from(locationsOf(project).keys(), (location) => graphs.at(location))]
  return [...new Set(all.filter((graph) => graph !== null))]
}

/**
 * Returns the reasons why a project cannot change to another layout. A constituent that no location maps to any more
 * would make its data unreachable, and a layout change deletes no data.
 * `holdsData` reports whether a constituent contains nodes.
 */
export function layoutChangeErrors(
  before: GraphLayout,
  after: GraphLayout,
  holdsData: (constituent: Constituent) => boolean,
): string[] {
  const faults: string[] = []
  if (before.isInServer !== after.isInServer && holdsData('default')) {
    faults.push('db_connection.url: the project holds data, and a change of this field does not move them')
  }
  for (const [location, constituent] of before.locations) {
    const now = after.locations.get(location)
    if (now !== undefined && isSameConstituent(now, constituent)) continue
    if (holdsData(constituent)) {
      faults.push(`db_connection.alias_mapping: the location \`${location}\` holds data and cannot change its database`)
    }
  }
  if (before.isComposite && !after.isComposite && holdsData('global')) {
    faults.push(
      'db_connection.composite_db_name: cannot be removed while relationships connect nodes of different locations',
    )
  }
  return faults
}

function isSameConstituent(a: Constituent, b: Constituent): boolean {
  return typeof a === 'string' || typeof b === 'string' ? a === b : a.database === b.database
}
