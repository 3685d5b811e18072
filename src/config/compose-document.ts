// What a checked body makes of a document: a new one with its place and name, or the next fields of one that is there.
// Secrets are sealed before a kind's own check sees them.

import { assert } from '../kernel/assert.ts'
import type { ServiceAccountCaller } from '../kernel/caller.ts'
import { timestamp } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import {
  type CheckedFields,
  type ConfigKind,
  type DocumentDraft,
  type DocumentFields,
  type Sealer,
  type StoredDocument,
  withArticle,
} from './kind.ts'
import { dropEmptySecrets, keepStoredSecrets, redirectedSecretErrors, sealSecrets } from './secrets.ts'

export interface ComposeContext {
  readonly kind: ConfigKind
  readonly draft: DocumentDraft
  readonly sealer: Sealer
}

export function newDocument(
  { kind, draft, sealer }: ComposeContext,
  caller: ServiceAccountCaller,
  body: DocumentFields,
  nowMs: number,
): Result<{ document: StoredDocument; shown: DocumentFields }, ServiceError> {
  const parentId = body[kind.parent.field] as string
  const parent = draft.get(kind.parent.kind, parentId)
  if (parent === null || parent.organization_id !== caller.organizationId) {
    const what = kind.parent.field.replace(/_id$/, '').replaceAll('_', ' ')
    return err({ kind: 'invalid', issues: [`${kind.parent.field}: no ${what} \`${parentId}\``] })
  }
  const projectId = parent.kind === 'projects' ? parent.id : parent.project_id
  const {
    name = '',
    project_id: _project,
    organization_id: _organization,
    ...own
  } = body as { name?: string } & DocumentFields
  const scopeId = projectId === '' ? parent.organization_id : projectId
  if (name !== '' && draft.getByName(kind.path, scopeId, name) !== null) {
    const where = projectId === '' ? 'organization' : 'project'
    return err({ kind: 'conflict', message: `the ${where} has another ${kind.label} named \`${name}\`` })
  }
  const [other] = kind.onePerProject === true ? draft.inScope(kind.path, projectId) : []
  if (other !== undefined) {
    const message = `the project has ${withArticle(kind)} already, named \`${other.name}\``
    return err({ kind: 'conflict', message })
  }
  const id = mintGid(nowMs)
  const sealed = dropEmptySecrets(sealSecrets(own, kind, id, sealer), kind)
  const checked = kind.check(sealed, { reader: draft, current: null, parent, body: own })
  if (!checked.ok) return checked
  const document: StoredDocument = {
    kind: kind.path,
    id,
    revision: 1,
    organization_id: parent.organization_id,
    project_id: projectId,
    parent_id: parent.id,
    name,
    create_time: timestamp(nowMs),
    created_by: caller.serviceAccountId,
    update_time: timestamp(nowMs),
    updated_by: caller.serviceAccountId,
    fields: checked.value.fields,
  }
  return ok({ document, shown: checked.value.shown ?? {} })
}

/** Facts 1.7.2: absent and null keep, an empty string removes. */
export function updatedFields(
  { kind, draft, sealer }: ComposeContext,
  current: StoredDocument,
  body: DocumentFields,
): Result<CheckedFields, ServiceError> {
  const sealed = sealSecrets(body, kind, current.id, sealer, current.fields)
  const kept = Object.entries({ ...current.fields, ...sealed }).filter(([, value]) => value !== '')
  const parent = draft.get(kind.parent.kind, current.parent_id)
  assert(parent !== null, 'a document goes when its parent goes')
  const fields = dropEmptySecrets(keepStoredSecrets(Object.fromEntries(kept), current.fields, kind), kind)
  const checked = kind.check(fields, { reader: draft, current, parent, body: body })
  if (!checked.ok) return checked
  // Of what would be stored: a secret that the change itself takes away goes nowhere.
  const stranded = redirectedSecretErrors(checked.value.fields, current.fields, body, kind)
  return stranded.length === 0 ? checked : err({ kind: 'invalid', issues: stranded })
}
