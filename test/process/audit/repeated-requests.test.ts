// Captures whose lane is killed between their commit and their answer: the service must not run them again, because they would be
// recorded twice. The lane is stopped and killed at random moments until that has happened.
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { Random, testSeed } from '../../generate/random.ts'
import { readAuditLogs } from '../../support/audit-logs.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { createFleet } from '../../support/fleet.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(killAll)

const CAPTURES = 6
/** Only for a test that hangs. */
const TIME_MAX_MS = 120_000
/** Answers that a stopped lane has written arrive within this time. */
const ARRIVAL_MS = 20
/** A commit takes a few milliseconds on a fast machine. */
const STOP_MS_MIN = 10
const UNKNOWN = 'it is unknown whether the change was stored'

interface AnsweredCapture {
  readonly status: number
  readonly text: string
}

it('a capture that may be stored when its lane is killed is not repeated, and no capture is recorded twice', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const random = new Random(seed)
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data], { VERDIGRAPH_LANES: '1' })
  const { key } = await createFleet(server, token, organization_id)
  const answers = new Map<string, AnsweredCapture>()
  const isOpen = (name: string): boolean => !answers.has(name)
  const send = async (name: string): Promise<void> => void answers.set(name, await capture(server, key, name))
  const isUnknown = ({ status, text }: AnsweredCapture): boolean => status === 503 && text.includes(UNKNOWN)

  const endMs = performance.now() + TIME_MAX_MS
  while (performance.now() < endMs && ![...answers.values()].some(isUnknown)) {
    // The lane runs when this one is answered.
    await send(`car-${answers.size}`)
    const sentMs = performance.now()
    await send(`car-${answers.size}`)
    const stopMsMax = STOP_MS_MIN + 2 * (performance.now() - sentMs)
    const names = Array.from({ length: CAPTURES }, (_, index) => `car-${answers.size + index}`)
    const sent = names.map(send)
    await Bun.sleep(random.between(0, Math.ceil(stopMsMax)))
    const lane = childrenOf(server.pid).find(({ words }) => words.includes('lane'))?.pid
    if (lane === undefined) throw new Error('the service has no lane')
    process.kill(lane, 'SIGSTOP')
    await Bun.sleep(ARRIVAL_MS)
    const isKilled = names.some(isOpen)
    process.kill(lane, isKilled ? 'SIGKILL' : 'SIGCONT')
    await Promise.all(sent)
  }

  expect([...answers.values()].filter((answer) => answer.status !== 200 && !isUnknown(answer))).toEqual([])
  expect([...answers.values()].filter(isUnknown)).not.toEqual([])
  const stored = [...answers].flatMap(([name, { status }]) => (status === 200 ? [name] : []))
  const counts = await sealedCaptures(data, stored)
  for (const [name, { status }] of answers) {
    const count = counts.get(name) ?? 0
    expect(`${name} ${status === 200 ? count : Math.max(count, 1)}`).toBe(`${name} 1`)
  }
  expect(await server.kill('SIGTERM')).toBe(0)
})

async function capture({ url }: Server, key: string, name: string): Promise<AnsweredCapture> {
  const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
  const body = JSON.stringify({ nodes: [{ type: 'Car', external_id: name }] })
  const response = await fetch(`${url}/capture/v1/nodes`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

/** The number of records of each captured element, when there is a record of each of these. */
async function sealedCaptures(data: string, elements: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  await untilCommitted(data, `there are records of ${elements.join(', ')}`, async () => {
    counts.clear()
    for (const { entries } of (await readAuditLogs(data)).values())
      for (const { type, subject } of entries) {
        if (type !== 'svc.audit.capture.upsert.node') continue
        const name = subject.replace('nodes/Car/', '')
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    return elements.every((name) => counts.has(name))
  })
  return counts
}
