// Names of shipped objects in a place of backups. They sort by generation and sequence, and carry the times, so that the moments that
// can be restored are listed without reading the objects.

/** The prefix of all shipped objects. */
export const SHIPPED_PREFIX = 'shipped/'

/** The prefix of the object that names the organization whose changes are in the place. */
export const OWNER_PREFIX = 'shipped/owner-'

/** `base`: all pages in use; `segment`: the difference from the object before. */
type ShipmentKind = 'base' | 'segment'

/** The parts of the name of an object. */
export interface ShipmentName {
  /** The whole name. */
  readonly name: string
  readonly generation: string
  /** 0: the base. */
  readonly sequence: number
  readonly kind: ShipmentKind
  /** The moment whose state it has. */
  readonly timeMs: number
  /** Until this moment the state was that of the object before. Of a base: `timeMs`. */
  readonly unchangedUntilMs: number
  readonly isEncrypted: boolean
}

const NAME =
  /^shipped\/(\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8})\/(\d{8})-(\d{8}T\d{6}\.\d{3}Z)-(\d{8}T\d{6}\.\d{3}Z)\.(base|segment)\.zst(\.age)?$/

/** The name of a new generation. `random`: 8 hexadecimal digits. */
export function generationName(timeMs: number, random: string): string {
  return `${compactTime(timeMs)}-${random}`
}

/** The name of an object. */
export function shipmentName(parts: Omit<ShipmentName, 'name'>): ShipmentName {
  const { generation, sequence, kind, timeMs, unchangedUntilMs, isEncrypted } = parts
  const times = `${compactTime(timeMs)}-${compactTime(unchangedUntilMs)}`
  const suffix = isEncrypted ? '.age' : ''
  const file = `${String(sequence).padStart(8, '0')}-${times}.${kind}.zst${suffix}`
  return { ...parts, name: `${SHIPPED_PREFIX}${generation}/${file}` }
}

/** Null: it is not the name of a shipped object. */
export function parseShipmentName(name: string): ShipmentName | null {
  const [, generation, sequence, time, unchangedUntil, kind, age] = NAME.exec(name) ?? []
  if (generation === undefined || time === undefined || unchangedUntil === undefined) return null
  return {
    name,
    generation,
    sequence: Number(sequence),
    kind: kind === 'base' ? 'base' : 'segment',
    timeMs: timeOf(time),
    unchangedUntilMs: timeOf(unchangedUntil),
    isEncrypted: age !== undefined,
  }
}

/** RFC 3339 in the basic format, because a colon is not allowed in the names of files of every system. */
function compactTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/[-:]/g, '')
}

function timeOf(compact: string): number {
  return Date.parse(compact.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, '$1-$2-$3T$4:$5:'))
}
