// One case of the openCypher TCK in JSON form, and its tagged values converted to ours.

import type { PropertyInput, WriteBatch } from '../../src/engine/store.ts'
import { construct } from '../../src/engine/value/temporal/construct.ts'
import type { TemporalKind } from '../../src/engine/value/temporal/temporal.ts'
import type { PropertyValue, Value } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'

export type Tagged =
  | { readonly t: 'null' }
  | { readonly t: 'bool'; readonly v: boolean }
  | { readonly t: 'int' | 'float' | 'string'; readonly v: string }
  | { readonly t: 'list'; readonly v: readonly Tagged[] }
  | { readonly t: 'map'; readonly v: Readonly<Record<string, Tagged>> }
  | { readonly t: 'node'; readonly labels: readonly string[]; readonly props: Readonly<Record<string, Tagged>> }
  | { readonly t: 'rel'; readonly type: string; readonly props: Readonly<Record<string, Tagged>> }
  | {
      readonly t: 'path'
      readonly nodes: readonly Tagged[]
      readonly rels: readonly (Tagged & { readonly dir: 'out' | 'in' })[]
    }
  | { readonly t: 'call'; readonly fn: string; readonly args: Tagged }

export interface TckFixture {
  readonly nodes: readonly {
    readonly id: number
    readonly labels: readonly string[]
    readonly props: Readonly<Record<string, Tagged>>
  }[]
  readonly rels: readonly {
    readonly type: string
    readonly from: number
    readonly to: number
    readonly props: Readonly<Record<string, Tagged>>
  }[]
  readonly blankNodes?: number
}

export type Expectation =
  | {
      readonly kind: 'rows'
      readonly columns: readonly string[]
      readonly rows: readonly (readonly Tagged[])[]
      readonly ordered: boolean
      readonly ignoreListOrder: boolean
    }
  | { readonly kind: 'empty' }
  | { readonly kind: 'error'; readonly type: string; readonly phase: string; readonly detail: string }

export interface TckCase {
  readonly id: string
  readonly category: string
  /** `empty`, `any`, or the name of a named graph. */
  readonly graph?: string
  /** The set-up of the TCK, as text; `fixture` is its result. */
  readonly setup?: readonly string[]
  readonly fixture?: TckFixture
  readonly params?: Readonly<Record<string, Tagged>>
  readonly query: string
  readonly expect: Expectation
}

export class UnsupportedFixture extends Error {}

export function toValue(tagged: Tagged): Value {
  switch (tagged.t) {
    case 'null':
      return null
    case 'bool':
      return tagged.v
    case 'int': {
      const big = BigInt(tagged.v)
      const small = Number(big)
      return Number.isSafeInteger(small) ? small : big
    }
    case 'float':
      return new Float(Number(tagged.v))
    case 'string':
      return tagged.v
    case 'list':
      return tagged.v.map(toValue)
    case 'map':
      return new Map(Object.entries(tagged.v).map(([key, value]) => [key, toValue(value)]))
    case 'call':
      return construct(tagged.fn as TemporalKind, toValue(tagged.args))
    default:
      throw new UnsupportedFixture(`a ${tagged.t} as parameter or property`)
  }
}

export function loadFixture(fixture: TckFixture, batch: WriteBatch): void {
  const ids = new Map<number, number>()
  for (const node of fixture.nodes) ids.set(node.id, batch.createNode(node.labels, properties(node.props)))
  for (let i = 0; i < (fixture.blankNodes ?? 0); i++) batch.createNode([], [])
  for (const { from, type, to, props } of fixture.rels) {
    batch.createRelationship(ids.get(from)!, type, ids.get(to)!, properties(props))
  }
}

function properties(props: Readonly<Record<string, Tagged>>): PropertyInput[] {
  return Object.entries(props).flatMap(([name, tagged]) => {
    const value = toValue(tagged)
    return value === null ? [] : [{ name, value: value as PropertyValue }]
  })
}
