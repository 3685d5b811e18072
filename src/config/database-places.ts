// The databases of a project in database servers, and why its connection cannot change: another database has another graph, and a
// change of the connection moves no data. Scheme and credentials may change.
import { type DatabasePlace, parseBoltUrl, samePlace } from '../kernel/bolt-address.ts'
import type { Constituent, GraphLayout } from '../store/tenancy/project-graphs.ts'
import { layoutChangeErrors, parseLayout } from './db-connection.ts'
import type { DocumentFields } from './kind.ts'

type ServerConnection = Readonly<Partial<Record<'url' | 'name' | 'composite_db_name', string | null>>>

function connectionOf(fields: DocumentFields): ServerConnection {
  return (fields.db_connection ?? {}) as ServerConnection
}

/** The name of a database in the connection, or its URL; null: the default database of the server. */
function databaseOf({ name, composite_db_name }: ServerConnection, constituent: Constituent): string | null {
  if (constituent === 'default') return name ?? null
  return constituent === 'global' ? (composite_db_name ?? null) : constituent.database
}

function isSameDatabase(
  before: ServerConnection,
  old: Constituent,
  after: ServerConnection,
  now: Constituent,
): boolean {
  const [a, b] = [placeOf(before, old), placeOf(after, now)]
  return a !== null && b !== null && samePlace(a, b)
}

/** Where a database of a connection is. Null: its text is no URL of a database. */
export function databasePlace(fields: DocumentFields, constituent: Constituent): DatabasePlace | null {
  return placeOf(connectionOf(fields), constituent)
}

/** Null: the text is no URL of a database. */
function placeOf(connection: ServerConnection, constituent: Constituent): DatabasePlace | null {
  const database = databaseOf(connection, constituent)
  if (database === null || !database.includes('://')) return { url: connection.url ?? '', database }
  const place = parseBoltUrl(database)
  return place.ok ? place.value : null
}

/** Whether a change of a project leaves all of its graphs where they are. */
export function keepsDatabases(before: DocumentFields, after: DocumentFields): boolean {
  const layouts = [parseLayout(before), parseLayout(after)] as const
  if (!layouts.every(({ isInServer }) => isInServer === true)) return false
  return connectionChangeErrors(before, after, () => true).length === 0
}

/**
 * Returns the reasons why the connection of a project cannot change. `holdsData` reports whether a constituent of the project as it is
 * contains data.
 */
export function connectionChangeErrors(
  before: DocumentFields,
  after: DocumentFields,
  holdsData: (constituent: Constituent) => boolean,
): string[] {
  const [old, now] = [parseLayout(before), parseLayout(after)]
  if (old.isInServer !== true || now.isInServer !== true) return layoutChangeErrors(old, now, holdsData)
  return databaseChangeErrors([connectionOf(before), old], [connectionOf(after), now], holdsData)
}

function databaseChangeErrors(
  [before, old]: readonly [ServerConnection, GraphLayout],
  [after, now]: readonly [ServerConnection, GraphLayout],
  holdsData: (constituent: Constituent) => boolean,
): string[] {
  const faults: string[] = []
  const refuse = (field: string, what: string): void => {
    faults.push(`db_connection.${field}: ${what} holds data, and a change of the connection does not move them`)
  }
  /** The field that has changed: a name without a server is that of a database of `url`. */
  const fieldOf = (field: string, constituent: Constituent, next: Constituent): string =>
    databaseOf(before, constituent) === databaseOf(after, next) ? 'url' : field
  if (!isSameDatabase(before, 'default', after, 'default') && holdsData('default'))
    refuse(fieldOf('name', 'default', 'default'), 'the database of the nodes without a location')
  for (const [location, constituent] of old.locations) {
    const next = now.locations.get(location)
    if (next !== undefined && isSameDatabase(before, constituent, after, next)) continue
    // A location that keeps its constituent follows one that is refused above.
    if (next !== undefined && typeof constituent === 'string' && constituent === next) continue
    if (!holdsData(constituent)) continue
    const field = next === undefined ? 'alias_mapping' : fieldOf('alias_mapping', constituent, next)
    faults.push(`db_connection.${field}: the location \`${location}\` holds data and cannot change its database`)
  }
  if (old.isComposite && !now.isComposite) {
    if (holdsData('global'))
      faults.push(
        'db_connection.composite_db_name: cannot be removed while relationships connect nodes of different locations',
      )
  } else if (old.isComposite && !isSameDatabase(before, 'global', after, 'global') && holdsData('global'))
    refuse(fieldOf('composite_db_name', 'global', 'global'), 'the composite database')
  return faults
}
