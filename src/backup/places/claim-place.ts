// The owner of a place: an object whose name contains the organization that writes there. Services of two organizations in one place would
// remove, or mix up, the objects of each other.
import { OperationalError } from '../../kernel/errors.ts'
import type { BackupPlace } from './place.ts'

/** The prefix of the object that names the organization whose scheduled backups are in a place. */
export const BACKUP_OWNER_PREFIX = 'owner-'

/** The name of the object that names an organization. */
export function ownerName(prefix: string, organizationId: string): string {
  return `${prefix}${organizationId.replace(/[^A-Za-z0-9._-]/g, '-')}`
}

/** The names of the objects that name an organization. Rejects with PlaceError. */
export async function ownersOf(place: BackupPlace, prefix: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of place.list(prefix)) if (name.startsWith(prefix)) names.push(name)
  return names
}

/** An organization that claims a place. */
interface PlaceClaim {
  readonly prefix: string
  readonly organizationId: string
  /** What another organization does in the place, such as `ships to`. */
  readonly verb: string
  /** Throws if a place without an owner must not be claimed. */
  allow?(own: string): void
}

/** Writes the owner of a place that has none. Rejects with OperationalError if another organization is the owner. */
export async function claimPlace(
  place: BackupPlace,
  { prefix, organizationId, verb, allow }: PlaceClaim,
): Promise<void> {
  const own = ownerName(prefix, organizationId)
  let owners = await ownersOf(place, prefix)
  if (owners.length === 0) {
    allow?.(own)
    await place.put(own, new TextEncoder().encode(`${organizationId}\n`))
    owners = await ownersOf(place, prefix)
  }
  const other = owners.find((name) => name !== own)
  if (other === undefined) return
  throw new OperationalError(
    `another organization ${verb} the place, see ${other}: each service needs a folder or a prefix of its own`,
  )
}
