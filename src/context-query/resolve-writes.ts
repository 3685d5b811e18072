// Resolves values that a query writes and an external data resolver supplies, between reading the rows and the
// transaction. If one fails, nothing is written (docs/decisions/0029-external-data-resolvers.md).

import { ExecutionError } from '../engine/errors.ts'
import type { PropertyInput } from '../engine/store.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { PropertyValue, Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Resolution } from '../pip/resolution.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { placeholderLookup } from './deferred-properties.ts'
import type { BoundPropertyWrite, BoundWrites } from './write-plan.ts'
import { expectedValue, toPropertyValue } from './write-values.ts'

/** Returns whether a value must be resolved before writing. */
export function needsResolvers({ nodes, relationships }: BoundWrites): boolean {
  return [...nodes, ...relationships].some(({ properties }) => properties.some(({ resolver }) => resolver !== null))
}

/**
 * Resolves each value once, for all rows. The resolver becomes the property's metadata source, unless the query sets
 * one.
 * Errors: `unavailable` if a resolver failed temporarily, otherwise `invalid`.
 */
export async function resolveWriteValues(
  bound: BoundWrites,
  parameters: BoundParameters,
  resolution: Resolution,
): Promise<Result<BoundWrites, ServiceError>> {
  const issues: string[] = []
  let isOutage = false
  const addIssue = (at: string, name: string, reason: string): void => {
    issues.push(`${at}: property \`${name}\`: ${reason}`)
  }
  const resolveProperty = async (
    at: string,
    property: BoundPropertyWrite,
    own: WrittenValues,
  ): Promise<BoundPropertyWrite> => {
    const { input, resolver } = property
    if (resolver === null) return property
    const resolved = await resolution.resolve(resolver, placeholderLookup({ own, hidden: NOTHING_HIDDEN }, parameters))
    if (!resolved.ok) {
      isOutage ||= resolved.error.isRetryable
      addIssue(at, input.name, `external data resolver \`${resolver}\`: ${resolved.error.reason}`)
      return property
    }
    const { value, resolver: source } = resolved.value
    const written = propertyOf(value)
    if (written === null) {
      addIssue(at, input.name, `external data resolver \`${resolver}\`: ${expectedValue}`)
      return property
    }
    return { input: { ...input, value: written, metadata: { source, ...input.metadata } }, resolver: null }
  }
  const resolveAll = <T extends { readonly at: string; readonly properties: readonly BoundPropertyWrite[] }>(
    writes: readonly T[],
    keyOf: (write: T) => WrittenValues,
  ): Promise<T[]> =>
    Promise.all(
      writes.map(async (write) => {
        const own = new Map([...valuesOf(write.properties), ...keyOf(write)])
        const properties = await Promise.all(
          write.properties.map((property) => resolveProperty(write.at, property, own)),
        )
        return { ...write, properties }
      }),
    )
  const [nodes, relationships] = await Promise.all([
    resolveAll(
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
    resolveAll(bound.relationships, () => new Map()),
  ])
  if (issues.length === 0) return ok({ ...bound, nodes, relationships })
  if (!isOutage) return err({ kind: 'invalid', issues })
  return err({ kind: 'unavailable', message: `nothing was written: ${issues.join('; ')}`, retryAfterS: 1 })
}

/** Placeholder values: what is written next to the resolved value. */
type WrittenValues = ReadonlyMap<string, PropertyValue>

const NOTHING_HIDDEN: ReadonlySet<string> = new Set()

function valuesOf(properties: readonly { readonly input: PropertyInput }[]): WrittenValues {
  return new Map(
    properties.flatMap(({ input }) => (input.value === undefined ? [] : [[input.name, input.value] as const])),
  )
}

function propertyOf(data: unknown): PropertyValue | null {
  let value: Value
  try {
    value = fromJson(data)
  } catch (error) {
    if (error instanceof ExecutionError) return null
    throw error
  }
  return value === null ? null : toPropertyValue(value)
}
