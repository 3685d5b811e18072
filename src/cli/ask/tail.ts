// The command `tail`: prints decisions as they are made.
import { readEvents } from '../../client/server-events.ts'
import type { LoggedDecision } from '../../pdp/decision-stream-schema.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printLine, printNotice } from '../output/print.ts'
import { printable } from '../output/show-values.ts'
import { withErrorCode } from '../target/asking.ts'
import { serviceAccess } from '../target/service-access.ts'
import { type ServiceClient, ServiceUnreachableError } from '../target/service-client.ts'
import type { TargetFlags } from '../target/target.ts'

/** Pause before the next connection, in milliseconds. */
const RETRY_MS = 1000

/** The options of `tail`. */
export interface DecisionTailFlags extends TargetFlags {
  readonly denied: boolean
  readonly granted: boolean
  readonly subject?: string
  readonly action?: string
  readonly resource?: string
  /** Number of decisions after which the command ends. */
  readonly count?: string
  readonly json: boolean
}

/** Runs `tail`. Resolves after `count` decisions. Rejects with CliError if the service refuses the first request. */
export async function tailDecisions(flags: DecisionTailFlags): Promise<void> {
  if (flags.denied && flags.granted) throw new UsageError(['--denied and --granted exclude each other'])
  const access = serviceAccess(flags, 'tail')
  // The reader of a pipe may end first.
  process.stdout.on('error', () => process.exit(0))
  await withErrorCode(() => access.ask((client, projectId) => follow(client, projectId, flags)))
}

async function follow(client: ServiceClient, projectId: string, flags: DecisionTailFlags): Promise<void> {
  let left = flags.count === undefined ? Number.POSITIVE_INFINITY : countOf(flags.count)
  let isConnected = false
  let isFirst = true
  while (left > 0) {
    try {
      const response = await client.open(`/access/v1/decisions?${queryOf(flags)}`, { 'x-project-id': projectId })
      if (!isFirst) printNotice('the service answers again; decisions of the time between are not shown')
      isConnected = true
      for await (const { name, data } of readEvents(response.body as ReadableStream<Uint8Array>)) {
        if (name === 'hello') announce(JSON.parse(data) as { readonly sample_percent: number }, isFirst)
        if (name === 'skipped') printNotice(`the log grew too fast to show all of it: ${data}`)
        if (name !== 'decision') continue
        printLine(flags.json ? data : decisionLine(JSON.parse(data) as LoggedDecision))
        left -= 1
        if (left === 0) return
      }
    } catch (error) {
      // Before the first answer, waiting would hide a wrong address.
      if (!(error instanceof ServiceUnreachableError) || isFirst) throw error
    }
    if (isConnected) printNotice('the connection ended; trying again')
    isConnected = false
    isFirst = false
    await Bun.sleep(RETRY_MS)
  }
}

function announce({ sample_percent }: { readonly sample_percent: number }, isFirst: boolean): void {
  if (isFirst && sample_percent < 100) printNotice(`the decision log has ${sample_percent} % of the calls`)
}

function queryOf({ denied, granted, subject, action, resource }: DecisionTailFlags): URLSearchParams {
  const decision = denied ? 'denied' : granted ? 'granted' : undefined
  const given = { decision, subject, action, resource }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, value)
  return query
}

function countOf(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new UsageError([`--count: expected a number from 1, found \`${text}\``])
}

/** A decision in one line: time, outcome, question, who decided, duration, id. */
export function decisionLine(line: LoggedDecision): string {
  const { time, id, subject, action, resource, duration_ms } = line
  const question = [entityText(subject), printable(action ?? 'any action'), entityText(resource)].join(' ')
  const why = printable(reasonOf(line))
  const rest = colours.dim(`${why === '' ? '' : `${why} · `}${duration_ms} ms · ${id}`)
  return `${colours.dim(time)} ${outcomeOf(line)} ${question} ${rest}`
}

function outcomeOf({ decision, error, found }: LoggedDecision): string {
  if (error !== undefined) return colours.yellow('error  ')
  if (found !== undefined) return colours.cyan(`found ${found}`)
  return decision === true ? colours.green('granted') : colours.red('denied ')
}

function reasonOf({ error, granted_by, forbidden_by, policies = [], user }: LoggedDecision): string {
  const caller = user === undefined ? '' : ` for ${entityText(user)}`
  if (error !== undefined) return `${error.message ?? error.kind}${caller}`
  const deciding = policies.find(({ id }) => id === (forbidden_by ?? granted_by))
  if (deciding === undefined) return caller.trim()
  return `${forbidden_by === undefined ? 'by' : 'forbidden by'} ${deciding.name}${caller}`
}

/** `type:id`, or the type alone. */
export function entityText(entity: LoggedDecision['subject']): string {
  if (entity === undefined) return '?'
  return printable(entity.id === undefined ? entity.type : `${entity.type}:${entity.id}`)
}
