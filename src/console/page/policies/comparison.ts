// Asks which decisions a changed policy would change (POST /access/v1/compare).
import type { HttpSchemas } from '../../../openapi/types.ts'
import { call } from '../api.ts'
import type { ElementName, ShownElements } from '../ask/explanation.ts'
import type { NodeName } from '../graph-api.ts'

/** Pairs of one policy whose decisions change. */
export type ShownChange = HttpSchemas['ChangedPairs']

/** The answer. */
export type ShownComparisonReport = HttpSchemas['Comparison']

/** Examples of each list. */
const SAMPLE = 10

/** The change to compare. `document`: null: the policy is removed. */
export interface ProposedChange {
  readonly name: string
  readonly document: unknown
  readonly tags: readonly string[]
  readonly parameters: Readonly<Record<string, unknown>>
}

/** Compares. Rejects as `call` does. */
export function compareChange(
  projectId: string,
  { name, document, tags, parameters }: ProposedChange,
  signal: AbortSignal,
): Promise<ShownComparisonReport> {
  const change = document === null ? { removed_policies: [name] } : { policies: [{ name, policy: document, tags }] }
  const context = Object.keys(parameters).length > 0 ? { context: { input_params: parameters } } : {}
  return call('POST', '/access/v1/compare', {
    project: projectId,
    body: { ...change, ...context, sample: SAMPLE },
    signal,
  })
}

/** The relationships of a match as a path from the subject: `ann -OWNS→ c1`. */
export function pathOf({ relationships }: ShownElements, subject: NodeName): string {
  const left = [...relationships]
  let at: ElementName = subject
  let path = subject.id
  for (;;) {
    const next = left.findIndex(({ source, target }) => isSame(source, at) || isSame(target, at))
    const found = left[next]
    if (found === undefined) break
    left.splice(next, 1)
    const isForward = isSame(found.source, at)
    at = isForward ? found.target : found.source
    path += isForward ? ` –${found.type}→ ${at.id}` : ` ←${found.type}– ${at.id}`
  }
  return path === subject.id ? '' : path
}

function isSame(a: ElementName, b: ElementName): boolean {
  return a.type === b.type && a.id === b.id
}
