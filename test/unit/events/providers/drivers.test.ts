// The drivers by provider kind.
import { describe, expect, it } from 'vitest'
import { connectProvider, providerDrivers, providerError } from '../../../../src/events/providers/drivers.ts'
import { outgoingEvents, providerDeps } from '../../../support/outgoing-events.ts'

const providers = {
  streaming_broker: { brokers: ['b.example', '10.0.0.1'], topic: 't' },
  event_topic: { topic_endpoint: 'http://t.example', access_key: 'k' },
  queue_service: { queueOrTopicName: 'q', connectionString: 'amqps://10.0.0.1' },
  pub_sub: { project_id: 'project-1', topic_name: 'top', credentials_json: '{' },
}
const errors = {
  streaming_broker: 'brokers[1]: the address `10.0.0.1` is not public',
  event_topic: 'topic_endpoint: expected https',
  queue_service: 'connectionString: the address `10.0.0.1` is not public',
  pub_sub: 'credentials_json: expected the key file of a service account, found no JSON',
}

describe('the drivers', () => {
  it('are one for each provider kind, and name the member of an invalid configuration', () => {
    const deps = providerDeps('')
    for (const [kind, config] of Object.entries(providers)) {
      const error = `${kind}.${errors[kind as keyof typeof errors]}`
      expect(providerError({ [kind]: config }, deps.destinations)).toBe(error)
    }
    expect(Object.keys(providerDrivers).sort()).toEqual(Object.keys(providers).sort())
    const fine = { queue_service: { queueOrTopicName: 'q', connectionString: 'amqps://q.example' } }
    expect(providerError(fine, deps.destinations)).toBeNull()
    expect(() => providerError({}, deps.destinations)).toThrow('the provider has no configuration of a known kind')
  })

  it('send nothing with an invalid configuration', async () => {
    for (const [kind, config] of Object.entries(providers)) {
      const connection = connectProvider({ [kind]: config }, providerDeps(''))
      expect(await connection.send(outgoingEvents(0, 1), 1000)).toEqual({
        kind: 'retry',
        delivered: 0,
        error: errors[kind as keyof typeof errors],
      })
      await connection.close()
    }
  })
})
