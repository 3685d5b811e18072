// Values that a query writes and an external data resolver supplies (interface, execute rule 6): asked for between the
// reading of the rows and the transaction. Without one of them nothing is written, and the caller is told which.

import { RunFault } from '../engine/errors.ts'
import type { PropertyInput } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import type { PropertyValue, Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Resolution } from '../pip/resolve.ts'
import { lookupIn } from './awaited.ts'
import type { Parameters } from './parameters.ts'
import { asProperty, expectedValue } from './write-values.ts'
import type { BoundProperty, BoundWrites } from './writes.ts'

export function asksResolvers({ nodes, relationships }: BoundWrites): boolean {
  return [...nodes, ...relationships].some(({ properties }) => properties.some(({ ask }) => ask !== null))
}

/** Each value is asked for once, for all rows; a property then tells the resolver as its source, unless the query does. */
export async function resolveWrites(
  bound: BoundWrites,
  parameters: Parameters,
  resolution: Resolution,
): Promise<Result<BoundWrites, ServiceError>> {
  const issues: string[] = []
  let isOutage = false
  const told = (at: string, name: string, reason: string): void => {
    issues.push(`${at}: property \`${name}\`: ${reason}`)
  }
  const supplied = async (at: string, property: BoundProperty, own: Own): Promise<BoundProperty> => {
    const { input, ask } = property
    if (ask === null) return property
    const resolved = await resolution.resolve(ask, lookupIn(own, parameters))
    if (!resolved.ok) {
      isOutage ||= resolved.error.mayPass
      told(at, input.name, `external data resolver \`${ask}\`: ${resolved.error.reason}`)
      return property
    }
    const { value, resolver } = resolved.value
    const written = propertyOf(value)
    if (written === null) {
      told(at, input.name, `external data resolver \`${ask}\`: ${expectedValue}`)
      return property
    }
    return { input: { ...input, value: written, metadata: { source: resolver, ...input.metadata } }, ask: null }
  }
  const all = <T extends { readonly at: string; readonly properties: readonly BoundProperty[] }>(
    writes: readonly T[],
    keyOf: (write: T) => Own,
  ): Promise<T[]> =>
    Promise.all(
      writes.map(async (write) => {
        const own = new Map([...valuesOf(write.properties), ...keyOf(write)])
        const properties = await Promise.all(write.properties.map((property) => supplied(write.at, property, own)))
        return { ...write, properties }
      }),
    )
  const [nodes, relationships] = await Promise.all([
    all(
      bound.nodes,
      ({ key }) =>
        new Map(
          key === null
            ? []
            : [
                ['type', key.type],
                ['external_id', key.externalId],
              ],
        ),
    ),
    all(bound.relationships, () => new Map()),
  ])
  if (issues.length === 0) return ok({ ...bound, nodes, relationships })
  if (!isOutage) return err({ kind: 'invalid', issues })
  return err({ kind: 'unavailable', message: `nothing was written: ${issues.join('; ')}`, retryAfterS: 1 })
}

/** What fills placeholders: that which is written beside the value. */
type Own = ReadonlyMap<string, PropertyValue>

function valuesOf(properties: readonly { readonly input: PropertyInput }[]): Own {
  return new Map(
    properties.flatMap(({ input }) => (input.value === undefined ? [] : [[input.name, input.value] as const])),
  )
}

function propertyOf(data: unknown): PropertyValue | null {
  let value: Value
  try {
    value = fromJson(data)
  } catch (refusal) {
    if (refusal instanceof RunFault) return null
    throw refusal
  }
  return value === null ? null : asProperty(value)
}
