// A live service with the policy and the queries that the tests of clients in other languages and runtimes ask for.
import type { Settings } from '../../src/settings.ts'
import { startContextService } from '../support/context-service.ts'

/** The service, and the variables by which the programs find it. */
export interface LanguageWorld {
  readonly environment: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Starts a service in which persons may drive their cars with at least `$min` seats. The programs write persons and cars themselves. */
export async function startLanguageWorld(settings: Partial<Settings> = {}): Promise<LanguageWorld> {
  const setup = await startContextService(settings)
  const { service } = setup
  await service.addPolicy({
    name: 'seats',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.seats >= $min',
  })
  const reads = { nodes: ['car.external_id', 'car.property.seats'] }
  const application = 'MATCH (subject:_Application {external_id: $_appId})'
  await setup.addQuery(
    'cars',
    {
      subject: { type: '_Application' },
      condition: { cypher: `${application} MATCH (car:Car) WHERE car.seats >= $min AND car.seats <= $max` },
      allowed_reads: reads,
    },
    reads,
  )
  await setup.addQuery(
    'mine',
    {
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
        filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
      },
      allowed_reads: reads,
    },
    reads,
  )
  const { key } = await service.addAgent('languages', ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs'])
  const { key: captureKey } = await service.addAgent('capture-only', ['Capture'])
  const environment = {
    VERDIGRAPH_URL: service.url,
    AGENT_KEY: key,
    CAPTURE_KEY: captureKey,
    USER_TOKEN: await setup.tokenOf('ann'),
  }
  return { environment, stop: () => setup.stop() }
}
