// Checks a policy as it is written: findings with places, the plan, and the parameters that a caller must give.
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { CypherFinding } from '../parts/cypher-language.ts'
import type { ShownPlanStep } from '../parts/plan-tree.tsx'

/** A finding; one about another member than the condition has no place in the text. */
interface PolicyFinding extends Omit<CypherFinding, 'start' | 'end'> {
  /** Such as `condition.cypher`. */
  readonly member: string
  readonly start: number | null
  readonly end: number | null
}

/** The answer of a check. */
export interface PolicyCheck {
  readonly findings: readonly PolicyFinding[]
  readonly plans: readonly { readonly use: 'check' | 'resources' | 'subjects' | 'rows'; readonly plan: ShownPlanStep }[]
  readonly parameters: readonly string[]
}

const TYPING_PAUSE_MS = 250

/** The check of a document, some time after its last change; null: not known yet, or the document is null. */
export function usePolicyCheck(projectId: string, document: unknown): PolicyCheck | null {
  const [check, setCheck] = useState<PolicyCheck | null>(null)
  const text = document === null ? '' : JSON.stringify(document)
  useEffect(() => {
    if (text === '') {
      setCheck(null)
      return
    }
    const control = new AbortController()
    const timer = setTimeout(() => {
      const body = { policy: JSON.parse(text) as unknown }
      call<PolicyCheck>('POST', '/graph/v1/check', { project: projectId, body, signal: control.signal }).then(
        (found) => control.signal.aborted || setCheck(found),
        () => control.signal.aborted || setCheck(null),
      )
    }, TYPING_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [projectId, text])
  return check
}

/** The findings in the text of the condition. */
export function cypherFindings(check: PolicyCheck | null): readonly CypherFinding[] {
  return (check?.findings ?? []).flatMap((one) =>
    one.start === null || one.end === null ? [] : [{ ...one, start: one.start, end: one.end }],
  )
}
