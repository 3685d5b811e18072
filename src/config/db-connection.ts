// Where a project's graph is kept (ruling F9), and the logical locations of a composite project.

import { z } from 'zod'
import { locationLength } from '../kernel/element-rules.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Constituent, GraphLayout } from '../store/tenancy/project-graphs.ts'
import type { DocumentFields, StoredDocument } from './kind.ts'

const name = z.string().min(1).max(256)

export const dbConnection = z
  .strictObject({
    url: z.string().min(1).max(2048),
    username: name.nullish(),
    password: name.nullish(),
    name: name.nullish(),
    composite_db_name: name.nullish(),
    alias_mapping: z.string().min(1).max(65_000).nullish(),
  })
  .superRefine((connection, context) => {
    const refuse = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message })
    const url = urlError(connection.url)
    if (url !== null) refuse('url', url)
    const composite = connection.composite_db_name ?? null
    const mapping = connection.alias_mapping ?? null
    if (composite !== null && mapping === null) refuse('alias_mapping', 'required together with `composite_db_name`')
    if (composite === null && mapping !== null) refuse('composite_db_name', 'required together with `alias_mapping`')
    const aliases = mapping === null ? null : parseAliasMapping(mapping)
    if (aliases !== null && !aliases.ok) refuse('alias_mapping', aliases.error)
    if (composite !== null && composite === connection.name) {
      refuse('composite_db_name', 'expected another database than `name`, which keeps the data without a location')
    }
  })

/** As it reads back: without its password. */
export const dbConnectionRead = z.strictObject({
  url: z.string(),
  username: z.string().optional(),
  name: z.string().optional(),
  composite_db_name: z.string().optional(),
  alias_mapping: z.string().optional(),
})

/** The embedded store takes a name at most: where its files are is the process's setting, not a caller's. */
function urlError(url: string): string | null {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]
  if (scheme === undefined) return 'expected a URL with the scheme `lmdb:`'
  if (scheme.toLowerCase() !== 'lmdb') return `the scheme \`${scheme}:\` has no adapter, expected \`lmdb:\``
  return /^(?:\/\/)?[\w.-]*\/?$/.test(url.slice(scheme.length + 1)) ? null : 'the scheme `lmdb:` takes no path'
}

/** `location=database` pairs joined with `&`, encoded as in a URL query: location → database. */
export function parseAliasMapping(text: string): Result<ReadonlyMap<string, string>, string> {
  const aliases = new Map<string, string>()
  for (const pair of text.split('&')) {
    const [location, database, ...rest] = pair.split('=').map(decode)
    if (location == null || database == null || database === '' || rest.length > 0) {
      return err(`expected \`location=database\`, found \`${pair}\``)
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
    return decodeURIComponent(text.replaceAll('+', ' '))
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
 * What the mapping of a project says. A location may be mapped to the default database, by its `name`, and to the
 * composite one, which makes the relationships between locations readable; all others have a constituent for each
 * database, which belongs to the project alone.
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
  return { isComposite: composite !== undefined, locations }
}

/** What is said of a location that the project does not have, and of the one place that nodes are not written to. */
export function unknownLocationMessage(location: string, isComposite: boolean): string {
  return `unknown location ${location}${isComposite ? '' : ': the project has no composite database'}`
}

export function compositeLocationMessage(name: string): string {
  return `${name} is the composite database, which keeps no data of nodes`
}

const layouts = new WeakMap<StoredDocument, GraphLayout>()

/** Of a stored project: always the same object for the same document. */
export function layoutOf(project: StoredDocument): GraphLayout {
  let layout = layouts.get(project)
  if (layout === undefined) {
    layout = parseLayout(project.fields)
    layouts.set(project, layout)
  }
  return layout
}

/** Logical location → constituent of a stored project; empty when it is not composite. */
export function locationsOf(project: StoredDocument): ReadonlyMap<string, Constituent> {
  return layoutOf(project).locations
}

/**
 * Why a project may not go over to another layout: a constituent that no name leads to any more would keep its data out
 * of reach, and nothing here deletes data. `holdsData` looks into a constituent.
 */
export function layoutChangeErrors(
  before: GraphLayout,
  after: GraphLayout,
  holdsData: (constituent: Constituent) => boolean,
): string[] {
  const faults: string[] = []
  for (const [location, constituent] of before.locations) {
    const now = after.locations.get(location)
    if (now !== undefined && isSameConstituent(now, constituent)) continue
    if (holdsData(constituent)) {
      faults.push(`db_connection.alias_mapping: the location \`${location}\` holds data, so it keeps its database`)
    }
  }
  if (before.isComposite && !after.isComposite && holdsData('global')) {
    faults.push('db_connection.composite_db_name: relationships join nodes of different locations, so it stays')
  }
  return faults
}

function isSameConstituent(a: Constituent, b: Constituent): boolean {
  return typeof a === 'string' || typeof b === 'string' ? a === b : a.database === b.database
}
