// The provider kind `pub_sub`: the REST API of Google Cloud Pub/Sub with a token that the service account signs itself.
import {
  parseServiceAccount,
  type ServiceAccountKey,
  ServiceAccountTokens,
  serviceHost,
} from '../../upstream/service-account.ts'
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
const SERVICE = 'pubsub'

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

class PubSubConnection extends PostConnection {
  private readonly config: PubSubConfig
  private readonly deps: ProviderDeps
  private tokens: ServiceAccountTokens | null = null

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
    this.tokens ??= new ServiceAccountTokens(account.value, SERVICE)
    const token = await this.tokens.current()
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
    if (status === 401) this.tokens.forget()
    return outcome
  }
}

function hostOf(account: ServiceAccountKey): string {
  return serviceHost(account, SERVICE)
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
      ...Object.fromEntries(Object.entries(others).map(([name, value]) => [`ce-${name}`, boundedValue(name, value)])),
    },
    orderingKey: boundedKey(orderingKey, ORDERING_KEY_BYTES_MAX),
  }
}

/** A subject has the external ids of an element, which the data has too. */
function boundedValue(name: string, value: unknown): unknown {
  return name === 'subject' ? boundedKey(value as string, ATTRIBUTE_BYTES_MAX) : value
}

function attributeError({ attributes }: OutgoingEvent): string | null {
  for (const name in attributes) {
    const bytes = Buffer.byteLength(attributes[name] as string)
    if (bytes > ATTRIBUTE_BYTES_MAX && name !== 'subject') {
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
