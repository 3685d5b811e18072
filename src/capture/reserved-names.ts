// Rejects names that only the service writes.
import { isReservedName, protectedNames } from '../kernel/element-rules.ts'

/** Returns an issue if a type or label is reserved. */
export function reservedNameIssues(path: string, name: string): string[] {
  return isReservedName(name) ? [`${path}: \`${name}\` is reserved for the service`] : []
}

/** Returns an issue if a relationship type is derived by a definition of the model, so that no text could read a stored one. */
export function derivedTypeIssues(path: string, type: string, derived: ReadonlySet<string>): string[] {
  if (!derived.has(type)) return []
  return [`${path}: \`${type}\` is a definition of the model of the project, and cannot be stored`]
}

/** Returns an issue if a property name is an element field. */
export function protectedNameIssues(path: string, name: string): string[] {
  return protectedNames.has(name) ? [`${path}: \`${name}\` is a protected name`] : []
}
