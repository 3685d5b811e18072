// Signatures that administrators request: the schema of the answer, and the port that the route calls.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import type { Result } from '../kernel/result.ts'

/** The answer to a request for a signature. */
export const signatureAnswer = z
  .strictObject({
    last_signed_time: z.iso.datetime(),
    signed_size: z.int().min(0).describe('entries of the audit log that the signature covers'),
    checkpoint: z.string().describe('the signed note, with the signature lines of the platform key and of this key'),
  })
  .meta({ id: 'AuditSignature' })
/** See `signatureAnswer`. */
type SignatureAnswer = z.infer<typeof signatureAnswer>

/** The operations. Errors: `forbidden`, `not-found`, `invalid`, `unavailable` with the error of the key service. */
export interface AuditSigningOperations {
  /** Has the key sign the newest checkpoint of the audit log, unless it has signed it already. */
  sign(caller: ServiceAccountCaller, id: string): Promise<Result<SignatureAnswer, ServiceError>>
}
