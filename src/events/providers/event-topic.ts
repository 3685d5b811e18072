// The provider kind `event_topic`: batches of CloudEvents over HTTPS, with an access key in a header.
import type { Destinations } from '../../upstream/destinations.ts'
import { PostConnection } from './http-connection.ts'
import { postPart } from './http-part.ts'
import type { EventTopicConfig, OutgoingEvent, ProviderDeps, ProviderDriver } from './provider.ts'
import type { PartOutcome } from './send-in-parts.ts'

const API_VERSION = '2018-01-01'
/** The service accepts 1 MB per request. */
const PART = { count: 500, bytes: 1_000_000, bytesOf: eventBytes }

/** The driver of `event_topic`. */
export const eventTopic: ProviderDriver<EventTopicConfig> = {
  configError: ({ topic_endpoint }, destinations) => endpointError(topic_endpoint, destinations),
  connect: (config, deps) => new EventTopicConnection(config, deps),
}

function endpointError(endpoint: string, destinations: Destinations): string | null {
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    return 'topic_endpoint: expected an absolute https URL without credentials'
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const refusal = destinations.hostError(host, url.protocol === 'https:', 'https')
  return refusal === null ? null : `topic_endpoint: ${refusal}`
}

class EventTopicConnection extends PostConnection {
  private readonly config: EventTopicConfig
  private readonly deps: ProviderDeps

  constructor(config: EventTopicConfig, deps: ProviderDeps) {
    super(PART)
    this.config = config
    this.deps = deps
  }

  protected async sendPart(part: readonly OutgoingEvent[], timeoutMs: number): Promise<PartOutcome> {
    const { topic_endpoint, access_key } = this.config
    const error = endpointError(topic_endpoint, this.deps.destinations)
    if (error !== null) return { kind: 'retry', error }
    const url = new URL(topic_endpoint)
    if (!url.searchParams.has('api-version')) url.searchParams.set('api-version', API_VERSION)
    const headers = [
      ['content-type', 'application/cloudevents-batch+json; charset=utf-8'],
      ['aeg-sas-key', access_key],
    ] as const
    const request = { url: url.href, headers, body: batchJson(part), timeoutMs }
    return (await postPart(this.deps.upstream, request, [access_key])).outcome
  }
}

/** JSON batch format of CloudEvents 1.0. `data` is JSON text already. */
function batchJson(events: readonly OutgoingEvent[]): string {
  const decoder = new TextDecoder()
  const texts = events.map(({ attributes, data }) => {
    return `${JSON.stringify(attributes).slice(0, -1)},"data":${decoder.decode(data)}}`
  })
  return `[${texts.join(',')}]`
}

function eventBytes({ attributes, data }: OutgoingEvent): number {
  let bytes = data.byteLength + 16
  for (const name in attributes) bytes += name.length + 6 + Buffer.byteLength(attributes[name] as string)
  return bytes
}
