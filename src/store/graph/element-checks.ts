// Refuses keys and names that HTTP refuses. Each batch of writes calls it, also one in a database server.
import type { NodeKey, RelationshipKey } from '../../engine/store.ts'
import { elementNameIssue, externalIdIssue } from '../../engine/value/canonical-property.ts'
import { InvalidElementError } from '../../kernel/errors.ts'

/** Names that were found valid: a graph has few, and a load repeats them. */
const validNames = new Set<string>()
const VALID_NAMES_MAX = 10_000

/** Throws InvalidElementError if the type or the external id of a node is not valid. */
export function checkNodeKey(key: NodeKey): void {
  checkName(key.type, () => `the type of the node \`${key.externalId}\``)
  const issue = externalIdIssue(key.externalId)
  if (issue !== null) throw new InvalidElementError(`the external id of a node \`${key.type}\`: ${issue}`)
}

/** Throws InvalidElementError if a label is not valid. `element`: names the node in the message. */
export function checkLabels(labels: readonly string[] | undefined, element: () => string): void {
  if (labels === undefined) return
  for (const label of labels) checkName(label, () => `${element()}: a label`)
}

/** Throws InvalidElementError if the name of a label or type is not valid. `what`: the subject of the message. */
export function checkName(name: unknown, what: () => string): void {
  if (typeof name === 'string' && validNames.has(name)) return
  const issue = elementNameIssue(name)
  if (issue !== null) throw new InvalidElementError(`${what()}: ${issue}`)
  if (validNames.size < VALID_NAMES_MAX) validNames.add(name as string)
}

/** Names a node in messages. */
export function nodeText({ type, externalId }: NodeKey): string {
  return `the node \`${type}\` \`${externalId}\``
}

/** Names a relationship in messages. */
export function relationshipText({ type, source, target }: RelationshipKey): string {
  return `the relationship \`${type}\` from ${nodeText(source)} to ${nodeText(target)}`
}
