// Values that a query writes and an external data resolver supplies (interface, execute rule 6): asked for between the
// reading of the rows and the transaction. Without one of them nothing is written, and the caller is told which.

import { ExecutionError } from '../engine/errors.ts'
import type { PropertyInput } from '../engine/store.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { PropertyValue, Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Resolution } from '../pip/resolution.ts'
import { placeholderLookup } from './deferred-properties.ts'
import type { BoundParameters } from './parameters.ts'
import type { BoundPropertyWrite, BoundWrites } from './write-plan.ts'
import { expectedValue, toPropertyValue } from './write-values.ts'

export function needsResolvers({ nodes, relationships }: BoundWrites): boolean {
  return [...nodes, ...relationships].some(({ properties }) => properties.some(({ resolver }) => resolver !== null))
}

/** Each value is asked for once, for all rows; a property then tells the resolver as its source, unless the query does. */
export async function resolveWriteValues(
  bound: BoundWrites,
  parameters: BoundParameters,
  resolution: Resolution,
): Promise<Result<BoundWrites, ServiceError>> {
  const issues: string[] = []
  let isOutage = false
  const told = (at: string, name: string, reason: string): void => {
    issues.push(`${at}: property \`${name}\`: ${reason}`)
  }
  const supplied = async (
    at: string,
    property: BoundPropertyWrite,
    own: PlaceholderValues,
  ): Promise<BoundPropertyWrite> => {
    const { input, resolver } = property
    if (resolver === null) return property
    const resolved = await resolution.resolve(resolver, placeholderLookup(own, parameters))
    if (!resolved.ok) {
      isOutage ||= resolved.error.isRetryable
      told(at, input.name, `external data resolver \`${resolver}\`: ${resolved.error.reason}`)
      return property
    }
    const { value, resolver: source } = resolved.value
    const written = propertyOf(value)
    if (written === null) {
      told(at, input.name, `external data resolver \`${resolver}\`: ${expectedValue}`)
      return property
    }
    return { input: { ...input, value: written, metadata: { source, ...input.metadata } }, resolver: null }
  }
  const all = <T extends { readonly at: string; readonly properties: readonly BoundPropertyWrite[] }>(
    writes: readonly T[],
    keyOf: (write: T) => PlaceholderValues,
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
type PlaceholderValues = ReadonlyMap<string, PropertyValue>

function valuesOf(properties: readonly { readonly input: PropertyInput }[]): PlaceholderValues {
  return new Map(
    properties.flatMap(({ input }) => (input.value === undefined ? [] : [[input.name, input.value] as const])),
  )
}

function propertyOf(data: unknown): PropertyValue | null {
  let value: Value
  try {
    value = fromJson(data)
  } catch (refusal) {
    if (refusal instanceof ExecutionError) return null
    throw refusal
  }
  return value === null ? null : toPropertyValue(value)
}
