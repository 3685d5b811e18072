// The graph of the benches as requests to Cerbos: it stores no facts, so every request contains those that its policies
// read.
import { documentId, groupId, type OwnershipGraph, personId } from '../ownership-graph.ts'

/**
 * The two conditions of the bench as Cerbos policies: owners may open a document, members of its groups may read it.
 */
export const policy = {
  apiVersion: 'api.cerbos.dev/v1',
  resourcePolicy: {
    resource: 'Document',
    version: 'default',
    rules: [
      rule('open', 'request.principal.id in request.resource.attr.owners'),
      rule('read', 'hasIntersection(request.principal.attr.groups, request.resource.attr.readers)'),
    ],
  },
}

/** The type of a subject is its role if it has no other. */
function rule(action: string, expr: string): object {
  return { actions: [action], effect: 'EFFECT_ALLOW', roles: ['Person'], condition: { match: { expr } } }
}

export interface Facts {
  /** Groups of each person, owners and reading groups of each document, by id. */
  readonly groups: ReadonlyMap<string, readonly string[]>
  readonly owners: ReadonlyMap<string, readonly string[]>
  readonly readers: ReadonlyMap<string, readonly string[]>
}

export function factsOf(graph: OwnershipGraph): Facts {
  const groups = new Map<string, string[]>()
  const owners = new Map<string, string[]>()
  const readers = new Map<string, string[]>()
  const add = (to: Map<string, string[]>, key: string, value: string): void => {
    const there = to.get(key)
    if (there === undefined) to.set(key, [value])
    else there.push(value)
  }
  for (const [at, end] of graph.ofPerson.entries()) {
    const person = personId(Math.floor(at / 10))
    if (at % 10 < 5) add(owners, documentId(end), person)
    else add(groups, person, groupId(end))
  }
  for (const [at, end] of graph.ofGroup.entries()) add(readers, documentId(end), groupId(Math.floor(at / 10)))
  return { groups, owners, readers }
}
