// Which database of a server takes each graph of a project. A composite project has several; locations that share one on one side must
// share one on the other.
import { databasePlace } from '../../config/database-places.ts'
import { layoutOf, parseLayout } from '../../config/db-connection.ts'
import type { DocumentFields, StoredDocument } from '../../config/kind.ts'
import { type DatabasePlace, placeUrl, samePlace } from '../../kernel/bolt-address.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { constituentFolderName } from '../../store/tenancy/project-folders.ts'
import type { Constituent } from '../../store/tenancy/project-graphs.ts'

/** A graph of a project, and the database that it is copied to or from. */
export interface CopiedDatabase {
  /** `default`, `global`, or the name of the database in the mapping of the project. */
  readonly name: string
  /** The constituent, as its path below the folder of the project. */
  readonly part: string
  /** The locations of its nodes. */
  readonly locations: readonly string[]
  readonly place: DatabasePlace
}

interface ConstituentPair {
  readonly here: Constituent
  readonly there: Constituent
  readonly locations: string[]
}

/**
 * Returns the graphs of a project in an order that depends on its locations only. `connection`: fields with a valid `db_connection`.
 * Throws OperationalError if the locations of both differ.
 */
export function copiedDatabases(project: StoredDocument, connection: DocumentFields): readonly CopiedDatabase[] {
  const databases = pairsOf(project, connection).map(({ here, there, locations }) => ({
    name: nameOf(here),
    part: constituentFolderName(here),
    locations,
    place: requiredPlace(connection, there),
  }))
  databases.forEach(({ name, place }, i) => {
    const same = databases.slice(0, i).find((other) => samePlace(other.place, place))
    if (same !== undefined)
      throw new OperationalError(
        `the connection has the same database for \`${same.name}\` and \`${name}\` of the project ${project.name}: ${placeUrl(place)}`,
      )
  })
  return databases
}

function pairsOf(project: StoredDocument, connection: DocumentFields): readonly ConstituentPair[] {
  const [own, remote] = [layoutOf(project), parseLayout(connection)]
  if (own.isComposite && !remote.isComposite)
    throw new OperationalError(
      `the project ${project.name} is composite: name the databases of its locations in a file, with --connection`,
    )
  if (!own.isComposite && remote.isComposite)
    throw new OperationalError(
      `the project ${project.name} is not composite, and the connection has \`composite_db_name\``,
    )
  const added = [...remote.locations.keys()].find((location) => !own.locations.has(location))
  if (added !== undefined)
    throw new OperationalError(
      `alias_mapping of the connection: the project ${project.name} has no location \`${added}\``,
    )
  const pairs: ConstituentPair[] = [{ here: 'default', there: 'default', locations: [] }]
  if (own.isComposite) pairs.push({ here: 'global', there: 'global', locations: [] })
  for (const location of [...own.locations.keys()].sort()) {
    const here = own.locations.get(location)!
    const there = remote.locations.get(location)
    if (there === undefined)
      throw new OperationalError(
        `alias_mapping of the connection: the location \`${location}\` of the project ${project.name} is missing`,
      )
    const sameHere = pairs.find((pair) => pair.here === here)
    const sameThere = pairs.find((pair) => pair.there === there)
    if (sameHere !== sameThere) {
      const [pair, one, other] =
        sameHere === undefined
          ? [sameThere!, 'the connection', `the project ${project.name}`]
          : [sameHere, `the project ${project.name}`, 'the connection']
      throw new OperationalError(
        `alias_mapping: the location \`${location}\` has the database of ${ownerOf(pair)} in ${one}, and another one in ${other}`,
      )
    }
    if (sameHere === undefined) pairs.push({ here, there, locations: [location] })
    else sameHere.locations.push(location)
  }
  return pairs
}

function ownerOf({ here, locations: [location] }: ConstituentPair): string {
  return typeof here === 'string' ? `\`${here}\`` : `the location \`${location}\``
}

function nameOf(constituent: Constituent): string {
  return typeof constituent === 'string' ? constituent : constituent.database
}

function requiredPlace(connection: DocumentFields, constituent: Constituent): DatabasePlace {
  const place = databasePlace(connection, constituent)
  if (place === null) throw new OperationalError('the connection has a database that is neither a name nor a URL')
  return place
}
