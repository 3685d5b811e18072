// The state of the signatures of customers' keys, and signatures on request.

import type { ConfigReader, DocumentFields, StoredDocument } from '../../config/kind.ts'
import type { CommitSignal } from '../../kernel/folder/commit-signal.ts'
import { err, ok } from '../../kernel/result.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import { projectFolderName } from '../../store/tenancy/project-folders.ts'
import { auditSigningsKind, signingKeyOf } from '../audit-signing.ts'
import type { AuditSigningOperations } from '../signing-operations.ts'
import type { AuditTrail } from './audit-trail.ts'

/** A request waits this long for the process that signs. */
const SIGN_WAIT_MS = 20_000
const AUDIT_OFF = 'nothing is signed, because the setting `audit` is `off`'

/** Adds to the body of an audit signing how its key has signed. `isAudited`: there is an audit log. */
export async function withSigningState(
  isAudited: boolean,
  audit: AuditTrail,
  document: StoredDocument,
  body: DocumentFields,
): Promise<DocumentFields> {
  if (signingKeyOf(document) === null) return body
  if (!isAudited) return { ...body, last_error: AUDIT_OFF }
  const state = stateBody(await audit.index(), document)
  const isUntested = body.public_key === '' && state.last_error === ''
  const untested = 'the key was not tested; update the configuration with `key_resource` and `kid`'
  return { ...body, ...state, ...(isUntested && { last_error: untested }) }
}

function stateBody(index: AuditIndex, { id }: StoredDocument) {
  const state = index.keyState(id)
  const signedMs = state?.signedMs ?? null
  return {
    last_signed_time: signedMs === null ? '' : new Date(signedMs).toISOString(),
    signed_size: state?.size ?? 0,
    is_overdue: state !== null && state.overdueMs !== null,
    last_error: state?.error ?? '',
  }
}

/** Builds the operations. `isSealedHere`: no other process seals and signs. `isAudited`: there is an audit log. */
export function createSigningOperations(
  documents: ConfigReader,
  audit: AuditTrail,
  signal: CommitSignal,
  { isAudited, isSealedHere }: { readonly isAudited: boolean; readonly isSealedHere: boolean },
): AuditSigningOperations {
  return {
    async sign(caller, id) {
      if (caller.role !== 'all_editor')
        return err({ kind: 'forbidden', message: `the role \`${caller.role}\` may not request signatures` })
      const document = documents.get(auditSigningsKind, id)
      if (document === null || document.organization_id !== caller.organizationId)
        return err({ kind: 'not-found', message: `no audit signing \`${id}\`` })
      if (signingKeyOf(document) === null)
        return err({ kind: 'invalid', issues: ['provider: the platform key signs every checkpoint without a request'] })
      if (!isAudited) return err({ kind: 'invalid', issues: [AUDIT_OFF] })
      const index = await audit.index()
      let request = 0
      await index.write((edits) => {
        request = edits.addKeyRequest(id)
      })
      if (isSealedHere) await audit.sealAll()
      // A later request is done with all before it.
      const isDone = (): boolean => (index.keyState(id)?.requestDone ?? 0) >= request
      if (!(await signal.until(isDone, SIGN_WAIT_MS)))
        return err({
          kind: 'unavailable',
          message: 'the key was not called in time; the request stays',
          retryAfterS: 5,
        })
      const state = stateBody(index, document)
      if (state.last_error !== '') return err({ kind: 'unavailable', message: state.last_error })
      const number = index.keyState(id)?.checkpoint ?? 0
      const [checkpoint] = index.checkpoints(projectFolderName(document.project_id), number + 1, 1)
      return ok({
        last_signed_time: state.last_signed_time,
        signed_size: state.signed_size,
        checkpoint: checkpoint?.note ?? '',
      })
    },
  }
}
