// `event_topic` against a fake, with the vendor's SDK as oracle: both must send the same request.
import { eventTopic } from '../../../src/events/providers/event-topic.ts'
import { sendWithSdk, startEventTopic } from '../../support/counterparts/event-topic.ts'
import { outgoingEvents, providerDeps } from '../../support/outgoing-events.ts'
import { type SectionOptions, sendOnce } from './checks.ts'

export async function checkEventTopic({ checks, authorities }: SectionOptions): Promise<void> {
  const topic = await startEventTopic()
  try {
    const access_key = 'c2VjcmV0IGtleSBvZiB0aGUgdG9waWM='
    const events = outgoingEvents(0, 5)
    const deps = providerDeps('127.0.0.1,::1', authorities)
    const connection = eventTopic.connect({ topic_endpoint: topic.endpoint, access_key }, deps)
    checks.outcome('a batch', await sendOnce(connection, events), /^delivered$/)
    const attributesOf = ({ attributes }: (typeof events)[number]): object => {
      const { specversion, id, source, type, subject, time, datacontenttype, ...extensionAttributes } = attributes
      return { id, source, type, subject, time, datacontenttype, extensionAttributes }
    }
    const decoder = new TextDecoder()
    await sendWithSdk(
      topic.endpoint,
      access_key,
      events.map((event) => ({ ...attributesOf(event), data: JSON.parse(decoder.decode(event.data)) })),
    )
    const [own, sdk] = topic.requests
    checks.equal('number of requests', topic.requests.length, 2)
    for (const member of ['method', 'path', 'contentType', 'key'] as const) {
      checks.equal(`${member} as the SDK sends it`, own?.[member], sdk?.[member])
    }
    const sorted = (text: string): unknown =>
      JSON.parse(text).map((event: object) => Object.fromEntries(Object.entries(event).sort()))
    checks.equal('body as the SDK sends it', sorted(own?.body ?? '[]'), sorted(sdk?.body ?? '[]'))
  } finally {
    await topic.stop()
  }
}
