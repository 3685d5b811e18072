// The captures of the run of database faults, and the states that the graph may have after them. A capture that was not acknowledged
// may be stored, wholly, or not at all; every later decision must follow from one of these states.
import type { Random } from '../generate/random.ts'

/** Nodes and relationships that always change together: a person and two cars. */
export interface FamilyState {
  /** The number of the capture that has written the nodes last; null: they do not exist. */
  readonly nodes: number | null
  /** The same of the relationships OWNS to both cars. */
  readonly owns: number | null
  /** Whether the person is banned from both cars. */
  readonly isBanned: boolean
}

export const NO_FAMILY: FamilyState = { nodes: null, owns: null, isBanned: false }

/** A capture: its path, its body, and its effect. */
export interface FamilyCapture {
  readonly number: number
  readonly path: string
  readonly body: object
  /** It creates the receipt of its number, in the same transaction. */
  readonly hasReceipt: boolean
  after(state: FamilyState): FamilyState
}

export const CARS = ['1', '2'] as const

export const personOf = (family: string) => ({ type: 'Person', external_id: family })
export const carOf = (family: string, car: string) => ({ type: 'Car', external_id: `${family}.${car}` })
export const receiptOf = (number: number) => ({ type: 'Receipt', external_id: String(number) })

/** A family of one writer. */
export class Family {
  readonly name: string
  /** Grows with each change of `possible`. */
  version = 0
  /** All states that the graph may have now. */
  possible: readonly FamilyState[] = [NO_FAMILY]

  constructor(name: string) {
    this.name = name
  }

  /** The next capture. Its relationships need nodes that exist for certain. */
  next(number: number, random: Random): FamilyCapture {
    const kinds = this.possible.every(({ nodes }) => nodes !== null)
      ? ([
          [3, 'put'],
          [4, 'grant'],
          [3, 'revoke'],
          [2, 'ban'],
          [2, 'pardon'],
          [1, 'remove'],
        ] as const)
      : ([[1, 'put']] as const)
    return captureOf(random.weighted(kinds), this.name, number)
  }

  /** Before a capture is sent: it may be stored at any time from now on. */
  begin(capture: FamilyCapture): void {
    this.become([...this.possible, ...this.possible.map((state) => capture.after(state))])
  }

  /** A capture is stored. `before`: what was possible before it began. */
  acknowledge(capture: FamilyCapture, before: readonly FamilyState[]): void {
    this.become(before.map((state) => capture.after(state)))
  }

  private become(states: readonly FamilyState[]): void {
    this.possible = [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
    this.version += 1
  }

  /** The decisions that are right in one of the possible states. */
  decisions(action: FamilyAction): ReadonlySet<boolean> {
    return new Set(this.possible.map((state) => isPermitted(state, action)))
  }
}

export type FamilyAction = 'drive' | 'enter'
export const familyActions: readonly FamilyAction[] = ['drive', 'enter']

/** The policies of the run. `enter` is permitted by what is absent: a failed read must not permit it. */
export const faultPolicies = {
  drive: { resource: 'Car', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
  enter: {
    resource: 'Car',
    cypher: 'MATCH (subject:Person), (resource:Car) WHERE NOT EXISTS { (subject)-[:BANNED]->(resource) }',
  },
  see: { resource: 'Receipt', cypher: 'MATCH (subject:Person), (resource:Receipt)' },
} as const

function isPermitted({ nodes, owns, isBanned }: FamilyState, action: FamilyAction): boolean {
  return nodes !== null && (action === 'drive' ? owns !== null : !isBanned)
}

function captureOf(
  kind: 'put' | 'grant' | 'revoke' | 'ban' | 'pardon' | 'remove',
  family: string,
  number: number,
): FamilyCapture {
  const person = personOf(family)
  const cars = CARS.map((car) => carOf(family, car))
  const properties = [{ type: 'n', value: number }]
  const edges = (type: string, more: object = {}) => ({
    relationships: cars.map((target) => ({ source: person, type, target, ...more })),
  })
  const shared = { number, hasReceipt: false }
  switch (kind) {
    case 'put': {
      const nodes = [person, ...cars, receiptOf(number)].map((key) => ({ ...key, properties }))
      return {
        number,
        path: 'nodes',
        body: { nodes },
        hasReceipt: true,
        after: (state) => ({ ...state, nodes: number }),
      }
    }
    case 'grant': {
      const body = edges('OWNS', { properties })
      return { ...shared, path: 'relationships', body, after: (state) => ({ ...state, owns: number }) }
    }
    case 'revoke':
      return {
        ...shared,
        path: 'relationships/delete',
        body: edges('OWNS'),
        after: (state) => ({ ...state, owns: null }),
      }
    case 'ban':
      return {
        ...shared,
        path: 'relationships',
        body: edges('BANNED'),
        after: (state) => ({ ...state, isBanned: true }),
      }
    case 'pardon':
      return {
        ...shared,
        path: 'relationships/delete',
        body: edges('BANNED'),
        after: (state) => ({ ...state, isBanned: false }),
      }
    case 'remove':
      return { ...shared, path: 'nodes/delete', body: { nodes: [person, ...cars] }, after: () => NO_FAMILY }
  }
}
