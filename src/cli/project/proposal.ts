// What of a project folder changes decisions: the proposal that `plan` and `apply --dry-run` have compared with the stored configuration.
import type { ComparisonInput, ComparisonOutput, PolicyProposal } from '../../authorizer/authorizer.ts'
import type { DocumentFields } from '../../config/kind.ts'
import { parseJson } from '../../kernel/json/json.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { modelsKind } from '../../model/stored-model.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import { isContextPolicy } from '../../policy/policy-header.ts'
import type { CurrentProject } from '../../project/current-project.ts'
import type { ProjectDifference } from '../../project/difference.ts'
import type { ProjectFolder } from '../../project/project-folder.ts'

/** The changed decision policies and the changed model; null: none. */
export function proposalOf(
  folder: ProjectFolder,
  current: CurrentProject,
  { documents }: ProjectDifference,
  prune: boolean,
): Pick<ComparisonInput, 'policies' | 'removed_policies' | 'model'> | null {
  const policies: PolicyProposal[] = []
  const removed: string[] = []
  const isPolicy = (name: string) => (one: { readonly kind: string; readonly name: string }) =>
    one.kind === policiesKind && one.name === name
  for (const { kind, name, action } of documents) {
    if (kind !== policiesKind || action === 'unchanged' || action === 'unmanaged') continue
    if (action === 'delete' && !prune) continue
    const before = current.documents.find(isPolicy(name))?.body
    const after = action === 'delete' ? undefined : folder.documents.find(isPolicy(name))?.body
    if (after !== undefined && decides(after)) policies.push(proposed(name, after))
    else if (before !== undefined && decides(before)) removed.push(name)
  }
  const model = proposedModel(folder, documents, prune)
  if (policies.length + removed.length === 0 && model === undefined) return null
  return { policies, removed_policies: removed, ...(model !== undefined && { model }) }
}

/** The text of the changed model; null: it is removed; undefined: it stays. */
function proposedModel(
  folder: ProjectFolder,
  documents: ProjectDifference['documents'],
  prune: boolean,
): string | null | undefined {
  const changed = documents.filter(
    ({ kind, action }) =>
      kind === modelsKind && (action === 'create' || action === 'update' || (action === 'delete' && prune)),
  )
  if (changed.length === 0) return undefined
  return (folder.documents.find(({ kind }) => kind === modelsKind)?.body.model as string | undefined) ?? null
}

function decides(body: DocumentFields): boolean {
  return body.status === 'ACTIVE' && !isContextPolicy(body)
}

function proposed(name: string, body: DocumentFields): PolicyProposal {
  const document = parseJson(body.policy as string, 'integers')
  if (!document.ok || !isJsonObject(document.value)) throw new Error('a checked policy is a JSON object')
  const tags = body.tags as readonly string[] | undefined
  return { name, policy: document.value, ...(tags !== undefined && { tags }) }
}

/** The warnings about the proposed model, as `apply` prints those about the stored one. */
export function modelNotices({ documents }: ProjectFolder, compared: ComparisonOutput | null): readonly string[] {
  const name = documents.find(({ kind }) => kind === modelsKind)?.name ?? ''
  return (compared?.warnings ?? []).map((warning) => `warning: ${modelsKind} ${name}: ${warning}`)
}
