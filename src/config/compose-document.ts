// Builds the stored document from a validated request body: a new document on create, the next fields on update.
// Secrets are encrypted before the kind's own check sees them.

import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { timestamp } from '../kernel/time/clock.ts'
import { equalFields } from './fields.ts'
import {
  type CheckedFields,
  type ConfigKind,
  type ConfigReader,
  type DocumentFields,
  projectsKind,
  type Sealer,
  type StoredDocument,
  withArticle,
} from './kind.ts'
import { dropEmptySecrets, keepStoredSecrets, redirectedSecretErrors, sealSecrets } from './secrets.ts'
import type { UpdateBody } from './update-body.ts'

/** Inputs for creating and updating a document. */
export interface ComposeContext {
  readonly kind: ConfigKind
  readonly draft: ConfigReader
  readonly sealer: Sealer
}

/**
 * Builds the document that a create request stores. `shown` are the members that only the create response contains.
 * Errors: `invalid` if the parent does not exist or the check fails; `conflict` if the name or the one document per
 * project is taken.
 */
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
  const projectId = parent.kind === projectsKind ? parent.id : parent.project_id
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

/**
 * Returns the fields after an update. A member that is absent or null keeps its stored value; an empty string removes
 * it.
 * Errors: `invalid` if the check fails, or if a stored secret would be sent to a new destination.
 */
export function updatedFields(
  { kind, draft, sealer }: ComposeContext,
  current: StoredDocument,
  { changes, sent }: UpdateBody,
): Result<CheckedFields, ServiceError> {
  const sealed = sealSecrets(changes, kind, current.id, sealer, current.fields)
  const members = Object.entries({ ...current.fields, ...sealed }).filter(([, value]) => value !== '')
  const parent = draft.get(kind.parent.kind, current.parent_id)
  assert(parent !== null, 'deleting a parent deletes its children')
  const fields = dropEmptySecrets(keepStoredSecrets(Object.fromEntries(members), current.fields, kind), kind)
  // Other documents and the rules may have changed since it was stored, and no check reads these texts.
  if (equalFields(withoutTexts(fields), withoutTexts(current.fields))) return ok({ fields })
  const checked = kind.check(fields, { reader: draft, current, parent, body: sent })
  if (!checked.ok) return checked
  // Checked on the fields to be stored: a secret that this update removes is not sent anywhere.
  const stranded = redirectedSecretErrors(checked.value.fields, current.fields, changes, kind)
  return stranded.length === 0 ? checked : err({ kind: 'invalid', issues: stranded })
}

function withoutTexts({ display_name: _name, description: _description, ...fields }: DocumentFields): DocumentFields {
  return fields
}

/**
 * Returns the fields of a document that a create body replaces as a whole: a member that the body does not have is removed. Members
 * that cannot be changed, and fields that no request has, keep their values.
 * Errors: `invalid` if the check fails, or if the body changes a member that cannot be changed.
 */
export function replacedFields(
  { kind, draft, sealer }: ComposeContext,
  current: StoredDocument,
  body: DocumentFields,
): Result<CheckedFields, ServiceError> {
  const { name: _name, project_id: _project, organization_id: _organization, ...own } = body
  const replaced = new Set(Object.keys(kind.updateSchema?.shape ?? {}))
  const fixed = Object.keys(own).filter((member) => !replaced.has(member))
  const changed = fixed.filter((member) => !equalFields(own[member], current.fields[member]))
  if (changed.length > 0) {
    return err({ kind: 'invalid', issues: changed.map((member) => `${member}: cannot be changed after creation`) })
  }
  const sealed = sealSecrets(own, kind, current.id, sealer, current.fields)
  const members = [
    ...Object.entries(current.fields).filter(([member]) => !replaced.has(member)),
    ...Object.entries(sealed).filter(([, value]) => value !== ''),
  ]
  const parent = draft.get(kind.parent.kind, current.parent_id)
  assert(parent !== null, 'deleting a parent deletes its children')
  const fields = dropEmptySecrets(Object.fromEntries(members), kind)
  return kind.check(fields, { reader: draft, current, parent, body: own })
}
