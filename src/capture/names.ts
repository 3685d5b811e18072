// Names that only the service writes. A capture that uses one cannot be meant, and is told every place.
import { isReserved, protectedNames } from '../kernel/element.ts'

export function reservedName(path: string, name: string): string[] {
  return isReserved(name) ? [`${path}: \`${name}\` is reserved for the service`] : []
}

export function protectedName(path: string, name: string): string[] {
  return protectedNames.has(name) ? [`${path}: \`${name}\` is a protected name`] : []
}
