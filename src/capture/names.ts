// Names that only the service writes. A capture that uses one cannot be meant, and is told every place.

/** Own fields of every element; a property of that name could never be told from them (facts 1.6.1). */
const protectedProperties = new Set(['_service', 'create_time', 'external_id', 'id', 'type', 'update_time'])

/** `_Application`, `_AppAgent`, `_TrustScore`, `_HAS` and their like.. */
export function reservedName(path: string, name: string): string[] {
  return name.startsWith('_') ? [`${path}: \`${name}\` is reserved for the service`] : []
}

export function protectedName(path: string, name: string): string[] {
  return protectedProperties.has(name) ? [`${path}: \`${name}\` is a protected name`] : []
}
