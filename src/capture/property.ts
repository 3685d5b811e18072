// Converts a property of a request to a graph property. A property that is sent again is replaced as a whole, because
// its metadata describes the value that it came with.
import type { PropertyInput, PropertyMetadata } from '../engine/store.ts'
import type { CapturedProperty } from './schema.ts'

/** Returns the property to write. */
export function propertyInput(property: CapturedProperty): PropertyInput {
  return {
    name: property.type,
    ...(property.value === undefined ? {} : { value: property.value }),
    ...(property.external_value === undefined ? {} : { externalValue: property.external_value }),
    ...(property.metadata === undefined ? {} : { metadata: metadataInput(property.metadata) }),
  }
}

function metadataInput(metadata: NonNullable<CapturedProperty['metadata']>): PropertyMetadata {
  return {
    ...(metadata.source === undefined ? {} : { source: metadata.source }),
    ...(metadata.assurance_level === undefined ? {} : { assuranceLevel: metadata.assurance_level }),
    ...(metadata.verified_time === undefined ? {} : { verifiedTime: metadata.verified_time }),
    ...(metadata.custom_metadata === undefined ? {} : { custom: metadata.custom_metadata }),
  }
}
