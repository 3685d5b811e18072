// Names that only the service writes. A capture that uses one cannot be meant, and is told every place.
import { isReservedName, protectedNames } from '../kernel/element-rules.ts'

export function reservedNameIssues(path: string, name: string): string[] {
  return isReservedName(name) ? [`${path}: \`${name}\` is reserved for the service`] : []
}

export function protectedNameIssues(path: string, name: string): string[] {
  return protectedNames.has(name) ? [`${path}: \`${name}\` is a protected name`] : []
}
