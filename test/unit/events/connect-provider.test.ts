// The providers of a sink by kind: their configuration, and what is sent with an invalid one.
import { describe, expect, it } from 'vitest'
import { connectProvider, type ProviderConfiguration, providerError } from '../../../src/events/connect-provider.ts'
import { providerNames } from '../../../src/events/event-sink.ts'
import { outgoingEvents, providerDeps } from '../../support/outgoing-events.ts'

const wrong: readonly (readonly [provider: ProviderConfiguration, error: string])[] = [
  [
    { kind: 'streaming_broker', config: { brokers: ['b.example', '10.0.0.1'], topic: 't' } },
    'brokers[1]: the address `10.0.0.1` is not public',
  ],
  [
    { kind: 'event_topic', config: { topic_endpoint: 'http://t.example', access_key: 'k' } },
    'topic_endpoint: expected https',
  ],
  [
    { kind: 'queue_service', config: { queueOrTopicName: 'q', connectionString: 'amqps://10.0.0.1' } },
    'connectionString: the address `10.0.0.1` is not public',
  ],
  [
    { kind: 'pub_sub', config: { project_id: 'project-1', topic_name: 'top', credentials_json: '{' } },
    'credentials_json: expected the key file of a service account, found no JSON',
  ],
]

describe('a provider', () => {
  it('of each kind names the member of an invalid configuration', () => {
    const { destinations } = providerDeps('')
    expect(wrong.map(([provider]) => providerError(provider, destinations))).toEqual(wrong.map(([, error]) => error))
    expect(wrong.map(([{ kind }]) => kind).sort()).toEqual([...providerNames].sort())
    const config = { queueOrTopicName: 'q', connectionString: 'amqps://q.example' }
    expect(providerError({ kind: 'queue_service', config }, destinations)).toBeNull()
  })

  it('with an invalid configuration sends nothing', async () => {
    for (const [provider, error] of wrong) {
      const connection = connectProvider(provider, providerDeps(''))
      expect(await connection.send(outgoingEvents(0, 1), 60_000)).toEqual({ kind: 'retry', delivered: 0, error })
      await connection.close()
    }
  })
})
