// The route of audit signings in addition to those of every kind: a signature on request.
import { type AuditSigningOperations, signatureAnswer } from '../../audit/signing-operations.ts'
import { ok } from '../../kernel/result.ts'
import { errorStatuses, type Route } from '../route.ts'
import { serviceAccountOf } from './callers.ts'

/** Builds the routes. */
export function auditSigningRoutes(signings: AuditSigningOperations): Route[] {
  return [
    {
      method: 'POST',
      path: '/configs/v1/audit-signings/{id}/sign',
      operationId: 'signAuditLog',
      tag: { name: 'Audit signatures', description: 'Signatures of customer-managed keys.' },
      summary: 'Have the key sign the audit log now',
      description:
        'The key signs the newest checkpoint of the project’s audit log. Without requests it signs once in `audit_signature_interval`, if there are new entries. Requires the role `all_editor`. If the key service fails, the status is 503 with its error.',
      auth: { kind: 'service-account' },
      // It takes as long as the key service needs.
      lane: { always: true, limit: 'write', writes: 'idempotent', waits: true },
      pathParameters: { id: 'the identifier of the audit signing' },
      request: null,
      responses: { 200: signatureAnswer, ...errorStatuses(403, 404, 422, 503) },
      async handle(context) {
        const signed = await signings.sign(serviceAccountOf(context), context.pathParameters.id ?? '')
        return signed.ok ? ok({ status: 200, body: signed.value }) : signed
      },
    },
  ]
}
