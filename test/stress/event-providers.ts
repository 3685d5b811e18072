// The provider drivers of event sinks against real brokers, which are installed into a cache folder outside the repository.
//   bun test/stress/event-providers.ts [--only streaming-broker] [--events 20000] [--rounds 3]
// A counterpart that cannot be installed (no Java, Maven, Go or RabbitMQ) prints one line and is skipped.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { Checks } from './event-providers/checks.ts'
import { checkEventTopic } from './event-providers/event-topic.ts'
import { checkPubSub } from './event-providers/pub-sub.ts'
import { checkQueueService, checkQueueTokens, checkSecondQueueService } from './event-providers/queue-service.ts'
import { checkStreamingBroker } from './event-providers/streaming-broker.ts'
import { numberAfter, textsAfter } from './flags.ts'

const sections = {
  'streaming-broker': checkStreamingBroker,
  'pub-sub': checkPubSub,
  'event-topic': checkEventTopic,
  'queue-service': checkQueueService,
  'queue-service-rabbitmq': checkSecondQueueService,
  'queue-service-token': checkQueueTokens,
}

const only = textsAfter('--only')
const unknown = only.find((name) => !Object.hasOwn(sections, name))
if (unknown !== undefined)
  throw new Error(`there is no section ${unknown}; there are ${Object.keys(sections).join(', ')}`)
const checks = new Checks()
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-providers-'))
const authorities = readFileSync(join(import.meta.dirname, '../support/data/certificates/authority.pem'), 'utf8')
try {
  for (const [name, check] of Object.entries(sections)) {
    if (only.length > 0 && !only.includes(name)) continue
    console.log(`\n${name}`)
    const options = {
      checks,
      folder: join(folder, name),
      authorities,
      events: numberAfter('--events', 20_000),
      rounds: numberAfter('--rounds', 3),
    }
    try {
      await check(options)
    } catch (fault) {
      if (fault instanceof CounterpartMissing) console.log(`skipped  ${name}: ${fault.message.replaceAll('\n', ' ')}`)
      else checks.report(name, fault instanceof Error ? (fault.stack ?? fault.message) : String(fault))
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`\n${checks.passed} passed, ${checks.failures.length} failed`)
process.exit(checks.failures.length === 0 ? 0 : 1)
