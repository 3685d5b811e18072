// `pub_sub` against Google's own fake, which verifies the token with Google's library.
import { generateKeyPairSync } from 'node:crypto'
import { pubSub } from '../../../src/events/providers/pub-sub.ts'
import { startPubSub } from '../../support/counterparts/pub-sub.ts'
import { outgoingEvent, outgoingEvents, providerDeps } from '../../support/outgoing-events.ts'
import { type SectionOptions, sendOnce } from './checks.ts'

export async function checkPubSub({ checks, folder }: SectionOptions): Promise<void> {
  const fake = await startPubSub(folder, ['projects/project-1/topics/events'])
  try {
    const config = { project_id: 'project-1', topic_name: 'events', credentials_json: fake.credentials }
    const deps = { ...providerDeps('127.0.0.1'), pubSubEndpoint: fake.url }
    const events = outgoingEvents(0, 700)
    checks.outcome('700 events', await sendOnce(pubSub.connect(config, deps), events), /^delivered$/)
    const messages = await fake.messages()
    const received = messages.map(({ attributes, orderingKey }) => ({
      id: attributes['ce-id'] ?? '',
      key: orderingKey,
    }))
    checks.received('what the fake stored', events, received, 0)
    const sample = outgoingEvent(7)
    const { datacontenttype, ...others } = sample.attributes
    const found = messages.find(({ attributes }) => attributes['ce-id'] === 'graph-7')
    checks.equal('data of a message', found?.data, new TextDecoder().decode(sample.data))
    checks.equal(
      'attributes of a message',
      Object.entries(found?.attributes ?? {}).sort(),
      [
        ['content-type', datacontenttype],
        ...Object.entries(others).map(([name, value]) => [`ce-${name}`, value]),
      ].sort(),
    )
    const send = (more: object) => sendOnce(pubSub.connect({ ...config, ...more }, deps), events.slice(0, 3))
    checks.outcome(
      'missing topic',
      await send({ topic_name: 'missing' }),
      /^retry after 0: HTTP status 404: NotFound: /,
    )
    const other = JSON.parse(fake.credentials)
    other.private_key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    })
    checks.outcome(
      'key of another account',
      await send({ credentials_json: JSON.stringify(other) }),
      /^retry after 0: HTTP status 401: Unauthenticated: invalid token/,
    )
  } finally {
    fake.stop()
  }
}
