// Prints and counts the checks of the provider drivers, and sends through outages.
import type { DeliveryOutcome, OutgoingEvent, ProviderConnection } from '../../../src/events/providers/provider.ts'
import { compareReceived, type ReceivedEvent } from '../../support/outgoing-events.ts'

/** Options of a section. */
export interface SectionOptions {
  readonly checks: Checks
  /** Scratch folder of the section. */
  readonly folder: string
  /** Certificate authority of the TLS listeners. */
  readonly authorities: string
  /** Events that are sent while the broker is killed. */
  readonly events: number
  /** Kills. */
  readonly rounds: number
}

/** Collects the results of all sections. */
export class Checks {
  passed = 0
  readonly failures: string[] = []

  /** One check; `fault` is null if it passed. */
  report(what: string, fault: string | null): void {
    console.log(fault === null ? `ok   ${what}` : `FAIL ${what}: ${fault}`)
    if (fault === null) this.passed++
    else this.failures.push(`${what}: ${fault}`)
  }

  /** The outcome of a send; `expected` is compared with its text. */
  outcome(what: string, outcome: DeliveryOutcome, expected: RegExp): void {
    const text = outcomeText(outcome)
    this.report(`${what}: ${text}`, expected.test(text) ? null : `expected ${expected}`)
  }

  /** Completeness, order per key and number of duplicates. */
  received(
    what: string,
    sent: readonly OutgoingEvent[],
    received: readonly ReceivedEvent[],
    duplicatesMax = Number.POSITIVE_INFINITY,
  ): void {
    const { faults, duplicates } = compareReceived(sent, received)
    if (duplicates > duplicatesMax) this.report(what, `${duplicates} duplicates`)
    else
      this.report(
        `${what}: ${sent.length} sent, ${received.length} received, ${duplicates} twice`,
        faults.length === 0 ? null : faults.join('; '),
      )
  }

  equal(what: string, found: unknown, wanted: unknown): void {
    const texts = [found, wanted].map((value) => JSON.stringify(value))
    this.report(what, texts[0] === texts[1] ? null : `expected ${texts[1]}, found ${texts[0]}`)
  }
}

/** One line. */
export function outcomeText(outcome: DeliveryOutcome): string {
  if (outcome.kind === 'delivered') return 'delivered'
  const final = outcome.kind === 'refused' && outcome.isFinal ? ' finally' : ''
  return `${outcome.kind}${final} after ${outcome.delivered}: ${outcome.error}`
}

/** Sends one batch and closes the connection. */
export async function sendOnce(
  connection: ProviderConnection,
  events: readonly OutgoingEvent[],
  deadlineMs = 30_000,
): Promise<DeliveryOutcome> {
  try {
    return await connection.send(events, deadlineMs)
  } finally {
    await connection.close()
  }
}

/** A broker that can be killed. */
export interface KillableBroker {
  start(): Promise<void>
  kill(): void
}

/**
 * Delivers all events while the broker is killed `rounds` times, each time a few milliseconds after a batch was sent, and
 * started again. Prints the failures.
 */
export async function deliverThroughKills(
  connection: ProviderConnection,
  events: readonly OutgoingEvent[],
  broker: KillableBroker,
  rounds: number,
): Promise<void> {
  let killed = 0
  let restart: Promise<void> | null = null
  const killAndStart = async (): Promise<void> => {
    await Bun.sleep((killed * 7) % 20)
    broker.kill()
    await Bun.sleep(200 + 2500 * (killed % 2))
    await broker.start()
    restart = null
  }
  const { retries, errors } = await deliverAll(connection, events, {
    beforeSend(at) {
      if (restart !== null || killed >= rounds || at < (events.length * killed) / rounds) return
      killed++
      restart = killAndStart()
      restart.catch(() => undefined)
    },
  })
  await restart
  await connection.close()
  console.log(`     ${killed} kills, ${retries} failed sends: ${[...errors].slice(0, 4).join(' | ')}`)
  if (killed < rounds) throw new Error(`${killed} of ${rounds} kills`)
}

/**
 * Delivers all events in batches, through outages, as the dispatcher does. Returns the number of failed sends and the texts of
 * their errors. `limitSeconds`: for all of them. `beforeSend` gets the number of delivered events.
 */
export async function deliverAll(
  connection: ProviderConnection,
  events: readonly OutgoingEvent[],
  { batch = 200, deadlineMs = 5000, limitSeconds = 600, beforeSend = (_at: number): void => undefined } = {},
): Promise<{ readonly retries: number; readonly errors: ReadonlySet<string> }> {
  const end = performance.now() + limitSeconds * 1000
  const errors = new Set<string>()
  let retries = 0
  for (let at = 0; at < events.length; ) {
    const part = events.slice(at, at + batch)
    beforeSend(at)
    const outcome = await connection.send(part, deadlineMs)
    if (outcome.kind === 'delivered') {
      at += part.length
      continue
    }
    if (outcome.kind === 'refused') throw new Error(outcomeText(outcome))
    if (performance.now() > end) throw new Error(`not delivered within ${limitSeconds} s: ${outcome.error}`)
    at += outcome.delivered
    retries++
    errors.add(outcome.error)
    await Bun.sleep(200)
  }
  return { retries, errors }
}
