// Suggests which properties of two node types are compared.
import { fold } from './normalise.ts'
import type { PropertySamples, SuggestedMapping } from './types.ts'

/** Suggests mappings from samples of both types, best first. */
export function suggestMappings(
  source: PropertySamples,
  target: PropertySamples,
  _options: { readonly isSameType: boolean },
): SuggestedMapping[] {
  const mappings: SuggestedMapping[] = []
  for (const sourceProperty of source.properties.keys()) {
    for (const targetProperty of target.properties.keys()) {
      if (fold(sourceProperty) !== fold(targetProperty)) continue
      mappings.push({
        sourceProperty,
        targetProperty,
        kind: 'text',
        cutoff: 0,
        score: 1,
        reason: { names: 1, values: 0, form: 0 },
      })
    }
  }
  return mappings
}
