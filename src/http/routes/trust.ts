// The routes of trust score profiles in addition to those of every kind: the report of the last pass.
import type { z } from 'zod'
import type { ServiceError } from '../../kernel/errors.ts'
import type { ServiceAccountCaller } from '../../kernel/request/caller.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { trustScoreReport } from '../../trust/read-report.ts'
import { errorStatuses, type Route } from '../route.ts'
import { serviceAccountOf } from './callers.ts'

/** Reads the report of a profile. */
type ReadTrustReport = (
  caller: ServiceAccountCaller,
  id: string,
) => Result<z.infer<typeof trustScoreReport>, ServiceError>

/** Builds the routes. */
export function trustRoutes(read: ReadTrustReport): Route[] {
  return [
    {
      method: 'GET',
      path: '/configs/v1/trust-score-profiles/{id}/report',
      operationId: 'readTrustScoreReport',
      tag: { name: 'Trust score profiles', description: 'Configuration of every trust score profile.' },
      summary: 'Read the report of the last pass of a trust score profile',
      description:
        'How the scores are distributed, which nodes have the lowest ones, and what would raise them. The report was made by the pass; 404 before the first one has ended.',
      auth: { kind: 'service-account' },
      lane: { always: true, limit: 'query' },
      request: null,
      pathParameters: { id: 'the identifier of the trust score profile' },
      responses: { 200: trustScoreReport, ...errorStatuses(403, 404, 422) },
      handle(context) {
        const report = read(serviceAccountOf(context), context.pathParameters.id ?? '')
        return report.ok ? ok({ status: 200, body: report.value }) : report
      },
    },
  ]
}
