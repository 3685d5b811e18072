// The events that a service has recorded of a graph in a database server, compared with that graph: each committed change has one event
// of change data capture, and each receipt one event of its capture, in the order of the changes.
import { join } from 'node:path'
import { envelopesOf } from '../../src/events/envelope.ts'
import { PROJECTS_FOLDER } from '../../src/kernel/folder/data-folder.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { GRAPH_STREAM } from '../../src/store/graph/write-batch.ts'
import { projectFolderName } from '../../src/store/tenancy/project-folders.ts'
import { type ChangePayload, isChange } from '../support/graph-copy.ts'
import { runOnServer } from '../support/graph-servers.ts'

/** The recorded events of a run. */
export interface RecordedHistory {
  readonly events: number
  /** Captures whose events are stored, and not yet recorded. */
  readonly intents: number
  /** Sentences. */
  readonly faults: readonly string[]
}

interface NumberedElement {
  readonly name: string
  readonly n: string
}

/** Compares the events of the folder with the graph of the server. Nothing may be written while it runs. */
export async function recordedHistory(data: string, projectId: string, url: string): Promise<RecordedHistory> {
  const { texts, intents } = await storedEvents(data, projectId)
  const faults: string[] = []
  const created = new Map<string, number>()
  const elements = new Map<string, { readonly name: string; readonly image: string }>()
  for (const { type, subject, text } of texts) {
    if (type === 'svc.audit.capture.upsert.node' && subject.startsWith('nodes/Receipt/'))
      created.set(subject, (created.get(subject) ?? 0) + 1)
    if (!isChange(type)) continue
    const { before, after } = JSON.parse(text) as ChangePayload
    const { id } = (after ?? before)!
    const known = elements.get(id)?.image ?? 'nothing'
    const found = before === null ? 'nothing' : imageOf(before)
    if (found !== known) faults.push(`${subject}: ${type} begins with ${found} after an event that ended with ${known}`)
    if (after === null) elements.delete(id)
    else elements.set(id, { name: subject, image: imageOf(after) })
  }
  const inEvents = [...elements.values()].map(({ name, image }) => `${name} ${image}`).sort()
  const inGraph = (await storedElements(url)).map(({ name, n }) => `${name} ${n}`).sort()
  faults.push(...differences('is in the graph and not in the events', inGraph, inEvents))
  faults.push(...differences('is in the events and not in the graph', inEvents, inGraph))
  for (const [name, count] of created) if (count !== 1) faults.push(`${name} has ${count} events of its capture`)
  const receipts = inGraph.flatMap((line) => (line.startsWith('nodes/Receipt/') ? [line.split(' ')[0]!] : []))
  for (const name of receipts) if (!created.has(name)) faults.push(`${name} has no event of its capture`)
  return { events: texts.length, intents, faults }
}

function imageOf({ properties }: NonNullable<ChangePayload['after']>): string {
  return String(properties.n?.value ?? '-')
}

function differences(what: string, these: readonly string[], those: readonly string[]): string[] {
  const known = new Set(those)
  return these.filter((line) => !known.has(line)).map((line) => `${line} ${what}`)
}

async function storedEvents(data: string, projectId: string) {
  const folder = join(data, PROJECTS_FOLDER, projectFolderName(projectId), 'default')
  const environment = openEnvironment(folder, { clock: systemClock, readOnly: true })
  try {
    const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
    const records = environment.outbox.read(GRAPH_STREAM, 0, all)
    const stream = { projectId, source: 'graph' } as const
    const texts = records
      .flatMap((record) => envelopesOf(record, stream))
      .map(({ type, attributes, data: bytes }) => ({
        type,
        subject: attributes.subject ?? '',
        text: new TextDecoder().decode(bytes),
      }))
    return { texts, intents: environment.intents().size }
  } finally {
    await environment.close()
  }
}

/** The nodes and relationships of a server, named as the subjects of events name them. */
async function storedElements(url: string): Promise<readonly NumberedElement[]> {
  const key = (name: string): string => `${name}._verdigraph_type + '/' + ${name}.external_id`
  const nodes = await runOnServer(
    url,
    `MATCH (a:Person|Car|Receipt) RETURN 'nodes/' + ${key('a')} AS name, coalesce(toString(a.n), '-') AS n`,
  )
  const relationships = await runOnServer(
    url,
    `MATCH (a:Person)-[r:OWNS|BANNED]->(b:Car) RETURN 'relationships/' + ${key('a')} + '/' + type(r) + '/' + ${key('b')} AS name, coalesce(toString(r.n), '-') AS n`,
  )
  return [...nodes, ...relationships] as unknown as readonly NumberedElement[]
}
