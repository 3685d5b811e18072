// The provider kind `pub_sub`: the REST API of Google Cloud Pub/Sub with a token that the service account signs itself.
import { importPKCS8, SignJWT } from 'jose'
import { z } from 'zod'
import { err, ok, type Result } from '../../kernel/result.ts'
import { oneLine } from './error-text.ts'
import { PostConnection } from './http-connection.ts'
import { postPart } from './http-part.ts'
import { boundedKey } from './ordering-key.ts'
import type { OutgoingEvent, ProviderDeps, ProviderDriver, PubSubConfig } from './provider.ts'
import type { PartOutcome } from './send-in-parts.ts'

/** A request may have 10 MB, and base64 adds a third. */
const PART = { count: 500, bytes: 6_000_000, bytesOf: messageBytes }
const ATTRIBUTE_BYTES_MAX = 1024
const ORDERING_KEY_BYTES_MAX = 1024
const TOKEN_SECONDS = 3600
/** A token is replaced before it expires, so that differing clocks do not matter. */
const TOKEN_USE_SECONDS = 3000

const serviceAccountSchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().min(1).optional(),
  universe_domain: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i)
    .optional(),
})
type ServiceAccount = z.infer<typeof serviceAccountSchema>

/** The driver of `pub_sub`. */
export const pubSub: ProviderDriver<PubSubConfig> = {
  configError({ credentials_json }, destinations) {
    const account = parseServiceAccount(credentials_json)
    if (!account.ok) return account.error
    const refusal = destinations.hostError(hostOf(account.value), true)
    return refusal === null ? null : `credentials_json: universe_domain: ${refusal}`
  },
  connect: (config, deps) => new PubSubConnection(config, deps),
}

/** Parses the key file of a service account. The error does not quote the file. */
export function parseServiceAccount(text: string): Result<ServiceAccount, string> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return err('credentials_json: expected the key file of a service account, found no JSON')
  }
  const parsed = serviceAccountSchema.safeParse(json)
  if (parsed.success) return ok(parsed.data)
  const members = [...new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'an object'))]
  return err(`credentials_json: expected the key file of a service account; missing or invalid: ${members.join(', ')}`)
}

class PubSubConnection extends PostConnection {
  private readonly config: PubSubConfig
  private readonly deps: ProviderDeps
  private token: { readonly text: string; readonly replaceAt: number } | null = null

  constructor(config: PubSubConfig, deps: ProviderDeps) {
    super(PART)
    this.config = config
    this.deps = deps
  }

  protected async sendPart(part: readonly OutgoingEvent[], timeoutMs: number): Promise<PartOutcome> {
    const account = parseServiceAccount(this.config.credentials_json)
    if (!account.ok) return { kind: 'retry', error: account.error }
    for (const event of part) {
      const error = attributeError(event)
      if (error !== null) return { kind: 'refused', error, isFinal: true }
    }
    const token = await this.tokenOf(account.value)
    if (!token.ok) return { kind: 'retry', error: token.error }
    const base = this.deps.pubSubEndpoint ?? `https://${hostOf(account.value)}`
    const [project, topic] = [this.config.project_id, this.config.topic_name].map(encodeURIComponent)
    const request = {
      url: `${base}/v1/projects/${project}/topics/${topic}:publish`,
      headers: [
        ['content-type', 'application/json'],
        ['authorization', `Bearer ${token.value}`],
      ] as const,
      body: JSON.stringify({ messages: part.map(messageOf) }),
      timeoutMs,
    }
    const secrets = [token.value, account.value.private_key]
    const { outcome, status } = await postPart(this.deps.upstream, request, secrets, ({ body }) => {
      const count = messageCount(body)
      return count === part.length ? null : `${count} of ${part.length} messages were acknowledged`
    })
    if (status === 401) this.token = null
    return outcome
  }

  /** https://developers.google.com/identity/protocols/oauth2/service-account#jwt-auth */
  private async tokenOf(account: ServiceAccount): Promise<Result<string, string>> {
    const now = Date.now()
    if (this.token !== null && now < this.token.replaceAt) return ok(this.token.text)
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
        .setAudience(`https://${hostOf(account)}/`)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + TOKEN_SECONDS)
        .sign(key)
      this.token = { text, replaceAt: now + TOKEN_USE_SECONDS * 1000 }
      return ok(text)
    } catch {
      // The fault may quote the key.
      return err('credentials_json: private_key: expected an RSA key in PKCS #8 form (PEM)')
    }
  }
}

function hostOf({ universe_domain = 'googleapis.com' }: ServiceAccount): string {
  return `pubsub.${universe_domain.toLowerCase()}`
}

/**
 * The message of an event, in the binary mode of the Pub/Sub binding of CloudEvents: attributes have the prefix `ce-`.
 * https://github.com/googleapis/google-cloudevents/blob/main/docs/spec/pubsub.md
 */
function messageOf({ attributes, data, orderingKey }: OutgoingEvent): object {
  const { datacontenttype, ...others } = attributes
  return {
    data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
    attributes: {
      ...(datacontenttype === undefined ? {} : { 'content-type': datacontenttype }),
      ...Object.fromEntries(Object.entries(others).map(([name, value]) => [`ce-${name}`, value])),
    },
    orderingKey: boundedKey(orderingKey, ORDERING_KEY_BYTES_MAX),
  }
}

function attributeError({ attributes }: OutgoingEvent): string | null {
  for (const name in attributes) {
    const bytes = Buffer.byteLength(attributes[name] as string)
    if (bytes > ATTRIBUTE_BYTES_MAX) {
      return oneLine(`the attribute \`${name}\` has ${bytes} bytes; Pub/Sub accepts ${ATTRIBUTE_BYTES_MAX}`)
    }
  }
  return null
}

function messageBytes({ attributes, data, orderingKey }: OutgoingEvent): number {
  let bytes = data.byteLength + orderingKey.length + 64
  for (const name in attributes) bytes += name.length + 12 + Buffer.byteLength(attributes[name] as string)
  return bytes
}

function messageCount(body: Uint8Array): number {
  try {
    const { messageIds } = JSON.parse(new TextDecoder().decode(body))
    return Array.isArray(messageIds) ? messageIds.length : 0
  } catch {
    return 0
  }
}
