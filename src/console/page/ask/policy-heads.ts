// The active policies of a project as far as questions need them: types, actions and parameters.
import { parametersIn } from '../../../kernel/text/cypher-names.ts'
import { call } from '../api.ts'

/** The questions that a policy answers. */
export interface PolicyHead {
  readonly id: string
  readonly name: string
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
  /** Names of its parameters, without `$`. */
  readonly parameters: readonly string[]
}

interface StoredPolicyHead {
  readonly id: string
  readonly name: string
  readonly status: string
  /** JSON text. */
  readonly policy?: string
}

/** Parameters that the service sets. */
const own = /^(subject|resource|action|token|svc_token|_appId)(_|$)/

/** Reads the heads of the active policies, and of drafts if wanted. A policy that cannot be read is left out. Rejects as `call` does. */
export async function readPolicyHeads(
  projectId: string,
  drafts: boolean,
  signal: AbortSignal,
): Promise<readonly PolicyHead[]> {
  const path = `/configs/v1/authorization-policies?project_id=${encodeURIComponent(projectId)}&full_fetch=true`
  const { data } = await call<{ readonly data: readonly StoredPolicyHead[] }>('GET', path, { signal })
  return data.flatMap((listed) => {
    const isAsked = listed.status === 'ACTIVE' || (drafts && listed.status === 'DRAFT')
    const head = isAsked ? headOf(listed) : null
    return head === null ? [] : [head]
  })
}

function headOf({ id, name, policy = '' }: StoredPolicyHead): PolicyHead | null {
  try {
    const document = JSON.parse(policy) as {
      readonly subject: { readonly type: string }
      readonly actions: readonly string[]
      readonly resource: { readonly type: string }
    }
    return {
      id,
      name,
      subject: document.subject.type,
      actions: document.actions,
      resource: document.resource.type,
      parameters: parametersIn(policy).filter((parameter) => !own.test(parameter)),
    }
  } catch {
    return null
  }
}
