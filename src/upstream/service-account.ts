// Service accounts of CLOUD2: their key file, and the tokens that they sign themselves.
// https://developers.google.com/identity/protocols/oauth2/service-account#jwt-auth
import { importPKCS8, SignJWT } from 'jose'
import { z } from 'zod'
import { err, ok, type Result } from '../kernel/result.ts'

const TOKEN_SECONDS = 3600
/** A token is replaced before it expires, so that differing clocks do not matter. */
const TOKEN_USE_SECONDS = 3000

const keyFileSchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().min(1).optional(),
  universe_domain: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i)
    .optional(),
})

/** The key file of a service account. */
export type ServiceAccountKey = z.infer<typeof keyFileSchema>

/** Parses the key file of a service account. The error does not quote the file. */
export function parseServiceAccount(text: string): Result<ServiceAccountKey, string> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return err('credentials_json: expected the key file of a service account, found no JSON')
  }
  const parsed = keyFileSchema.safeParse(json)
  if (parsed.success) return ok(parsed.data)
  const members = [...new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'an object'))]
  return err(`credentials_json: expected the key file of a service account; missing or invalid: ${members.join(', ')}`)
}

/** The host of a service in the universe of the account. `service`: such as `pubsub`. */
export function serviceHost({ universe_domain = 'googleapis.com' }: ServiceAccountKey, service: string): string {
  return `${service}.${universe_domain.toLowerCase()}`
}

/** The tokens of a service account for one service. */
export class ServiceAccountTokens {
  private readonly account: ServiceAccountKey
  private readonly service: string
  private token: { readonly text: string; readonly replaceAt: number } | null = null

  /** `service`: as for `serviceHost`. */
  constructor(account: ServiceAccountKey, service: string) {
    this.account = account
    this.service = service
  }

  /** Resolves with a token, the same one for most of an hour. The error does not quote the key. */
  async current(): Promise<Result<string, string>> {
    const now = Date.now()
    if (this.token !== null && now < this.token.replaceAt) return ok(this.token.text)
    const { account } = this
    try {
      const key = await importPKCS8(account.private_key, 'RS256')
      const seconds = Math.floor(now / 1000)
      const text = await new SignJWT()
        .setProtectedHeader({
          alg: 'RS256',
          typ: 'JWT',
          ...(account.private_key_id === undefined ? {} : { kid: account.private_key_id }),
        })
        .setIssuer(account.client_email)
        .setSubject(account.client_email)
        .setAudience(`https://${serviceHost(account, this.service)}/`)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + TOKEN_SECONDS)
        .sign(key)
      this.token = { text, replaceAt: now + TOKEN_USE_SECONDS * 1000 }
      return ok(text)
    } catch {
      return err('credentials_json: private_key: expected an RSA key in PKCS #8 form (PEM)')
    }
  }

  /** Forgets the token after the service has refused it. */
  forget(): void {
    this.token = null
  }
}
