// The commands `match`: run entity matching pipelines, read their state and report, and decide about pairs. They call the service that
// serves the folder, or at a URL; a folder that is not served they open themselves.
import { createWriteStream, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { App } from '../../app.ts'
import { CONFIGURATION_FOLDER } from '../../kernel/folder/data-folder.ts'
import { entityMatchingPipelinesKind } from '../../matching/entity-matching-pipeline.ts'
import type { DecisionAnswer, MatchRunAnswer, MatchRunRequest } from '../../matching/matching-operations.ts'
import type { MatchReport } from '../../matching/report.ts'
import type { Settings } from '../../settings.ts'
import { holdsEnvironment } from '../../store/lmdb/environment-folder.ts'
import { isFolderLocked } from '../../store/process/folder-lock.ts'
import { recorded } from '../folder/record-operation.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printAnswer, printDocument, printJson, printLine } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { unseenCharacterIssue } from '../output/show-values.ts'
import { InProcessClient } from '../target/in-process-client.ts'
import { ServiceClient, ServiceRefusalError } from '../target/service-client.ts'

/** Pause between two looks at the progress of the service, in milliseconds. */
const POLL_MS = 100
const TOKEN_LIFETIME_S = 3600

/** The options of all commands. */
export interface MatchFlags {
  readonly pipeline: string
  readonly url?: string
  readonly json: boolean
}

/** The options of `match run`. */
export interface MatchRunFlags extends MatchFlags {
  readonly cutoff?: string
  readonly mapping: readonly string[]
  readonly labels?: string
}

/** The options of `match report`. */
export interface MatchReportFlags extends MatchFlags {
  readonly format: string
  readonly out?: string
}

/** The options of `match decide`. */
export interface MatchDecideFlags extends MatchFlags {
  readonly source: string
  readonly target: string
  readonly same: boolean
  readonly notSame: boolean
  readonly comment?: string
}

/** A pipeline as its configuration shows it. */
interface ReadPipeline {
  readonly similarity_score_cutoff: number
  readonly property_mapping_status: string
  readonly property_mapping_message: string
  readonly entity_matching_status: string
  readonly entity_matching_message: string
  readonly last_run_time: string
  readonly matched_entities: number
  readonly run_progress: { readonly phase: string; readonly done: number } | null
}

/** Calls a service: one that runs, or one in this process. */
interface MatchingHost {
  call(method: string, path: string, body?: object): Promise<unknown>
  /** Chunks of an answer in another media type than JSON. */
  read(path: string, accept: string): Promise<AsyncIterable<string>>
  /** Does the work that is due. A service does it itself. */
  work(): Promise<void>
}

/** Runs `match run`. Rejects with CliError if the run is refused or fails. */
export async function runMatching(settings: Settings, flags: MatchRunFlags): Promise<void> {
  const mappings = flags.mapping.map(mappingFrom)
  const labels = flags.labels === undefined ? undefined : labelsFrom(flags.labels)
  const cutoff = flags.cutoff === undefined ? null : cutoffFrom(flags.cutoff)
  const report = await operate(settings, flags, 'svc.audit.operations.match.run', {}, async (host) => {
    const { pipeline } = flags
    const read = async (): Promise<ReadPipeline> => (await host.call('GET', configPath(pipeline))) as ReadPipeline
    const before = await read()
    const progress = progressLine('waiting for property mappings')
    try {
      if (mappings.length === 0) await settled(host, read, ({ property_mapping_status }) => property_mapping_status)
      const request: MatchRunRequest = {
        similarity_score_cutoff: cutoff ?? before.similarity_score_cutoff,
        ...(mappings.length > 0 && { custom_property_mappings: mappings }),
        ...(labels !== undefined && { labelled_pairs: labels }),
      }
      const { run_id } = (await host.call('POST', runtimePath(pipeline, 'runs'), request)) as MatchRunAnswer
      const after = await settled(host, read, (one) => {
        if (one.run_progress === null) progress.show(0, null, 'waiting for the run')
        else progress.show(one.run_progress.done, 1, one.run_progress.phase)
        return one.entity_matching_status
      })
      const { entity_matching_status: status, entity_matching_message: message } = after
      if (status !== 'SUCCESS') throw new CliError([`the run ended with ${status}: ${message}`])
      const found = (await host.call('GET', runtimePath(pipeline, 'report'))) as MatchReport
      if (found.run_id !== run_id) throw new CliError(['another run has replaced this one'])
      return found
    } finally {
      progress.end()
    }
  })
  if (flags.json) printJson(report)
  else {
    const { matched_pairs, matched_entities, relationships_written, relationships_removed, conflicts } = report
    printLine(
      `${matched_pairs} pairs matched, ${matched_entities} entities, ${relationships_written} relationships written, ${relationships_removed} removed, ${conflicts.count} conflicts`,
    )
    const { evaluation } = report
    if (evaluation !== null)
      printLine(
        `precision ${shown(evaluation.precision)}, recall ${shown(evaluation.recall)}, F1 ${shown(evaluation.f1)}`,
      )
  }
}

/** Runs `match status`. Rejects with CliError if there is no such pipeline. */
export async function printMatchStatus(settings: Settings, flags: MatchFlags): Promise<void> {
  const pipeline = await onHost(
    settings,
    flags.url ?? null,
    async (host) => (await host.call('GET', configPath(flags.pipeline))) as ReadPipeline,
  )
  if (flags.json) {
    printJson(pipeline)
    return
  }
  const progress = pipeline.run_progress
  const lines = [
    ['property mappings', pipeline.property_mapping_status, pipeline.property_mapping_message],
    ['entity matching', pipeline.entity_matching_status, pipeline.entity_matching_message],
    ['last run', pipeline.last_run_time === '' ? 'never' : pipeline.last_run_time, ''],
    ['matched entities', String(pipeline.matched_entities), ''],
    ...(progress === null ? [] : [['progress', progress.phase, `${Math.floor(progress.done * 100)} %`]]),
  ]
  for (const [name = '', value = '', detail = ''] of lines)
    printLine(`${`${name}:`.padEnd(20)}${value}${detail === '' ? '' : `  ${detail}`}`)
}

const formats = { json: 'application/json', ndjson: 'application/x-ndjson', html: 'text/html' } as const

/** Runs `match report`. Rejects with CliError if there is no report. */
export async function writeMatchReport(settings: Settings, flags: MatchReportFlags): Promise<void> {
  const { format, out } = flags
  const accept = Object.hasOwn(formats, format) ? formats[format as keyof typeof formats] : null
  if (accept === null)
    throw new UsageError([`--format: expected ${Object.keys(formats).join(', ')}, found \`${format}\``])
  await onHost(settings, flags.url ?? null, async (host) => {
    const chunks = await host.read(runtimePath(flags.pipeline, 'report'), accept)
    if (out === undefined) {
      let last = ''
      for await (const chunk of chunks) {
        last = chunk
        printDocument(chunk)
      }
      if (!last.endsWith('\n')) printDocument('\n')
      return
    }
    const partial = `${out}.partial`
    try {
      const file = createWriteStream(partial, { flags: 'w', mode: 0o600 })
      for await (const chunk of chunks) file.write(chunk)
      file.end()
      await finished(file)
      renameSync(partial, out)
    } catch (failure) {
      rmSync(partial, { force: true })
      throw failure
    }
  })
}

/** Runs `match decide`. Rejects with CliError if a node or the pipeline does not exist. */
export async function decideMatch(settings: Settings, flags: MatchDecideFlags): Promise<void> {
  const { source, target, same, notSame, comment } = flags
  if (same === notSame) throw new UsageError(['expected exactly one of --same, --not-same'])
  const unseen = comment === undefined ? null : unseenCharacterIssue('--comment', comment)
  if (unseen !== null) throw new UsageError([unseen])
  const decision = same ? 'SAME' : 'NOT_SAME'
  const decided = await operate(
    settings,
    flags,
    'svc.audit.operations.match.decide',
    { source, target, decision },
    async (host) =>
      (await host.call('POST', runtimePath(flags.pipeline, 'decisions'), {
        source_external_id: source,
        target_external_id: target,
        decision,
        ...(comment !== undefined && { comment }),
      })) as DecisionAnswer,
  )
  printAnswer(flags.json, decided, () => [lineOf(decided)])
}

/** Runs `match decisions`. Rejects with CliError if there is no such pipeline. */
export async function listMatchDecisions(settings: Settings, flags: MatchFlags): Promise<void> {
  await onHost(settings, flags.url ?? null, async (host) => {
    for (let token = ''; ; ) {
      const query = token === '' ? '' : `?page_token=${encodeURIComponent(token)}`
      const page = (await host.call('GET', runtimePath(flags.pipeline, `decisions${query}`))) as {
        readonly decisions: readonly DecisionAnswer[]
        readonly next_page_token: string
      }
      for (const one of page.decisions) printAnswer(flags.json, one, () => [lineOf(one)])
      token = page.next_page_token
      if (token === '') return
    }
  })
}

/** Runs `match undecide`. Rejects with CliError if there is no such decision. */
export async function deleteMatchDecision(settings: Settings, flags: MatchFlags, decision: string): Promise<void> {
  await operate(settings, flags, 'svc.audit.operations.match.decide', { deleted: decision }, (host) =>
    host.call('DELETE', runtimePath(flags.pipeline, `decisions/${segment(decision)}`)),
  )
  printAnswer(flags.json, { deleted: decision }, () => [`decision ${decision} deleted`])
}

/** Runs an operation of a person on the data folder, and records it. At a URL the service records its requests. */
function operate<T>(
  settings: Settings,
  { pipeline, url }: MatchFlags,
  type: 'svc.audit.operations.match.run' | 'svc.audit.operations.match.decide',
  members: object,
  work: (host: MatchingHost) => Promise<T>,
): Promise<T> {
  if (url !== undefined) return onHost(settings, url, work)
  return recorded(
    settings,
    type,
    { pipeline, ...members },
    () => onHost(settings, null, work),
    () => ({}),
  )
}

/** `url`: null: the service of the folder, or the folder itself. */
async function onHost<T>(settings: Settings, url: string | null, work: (host: MatchingHost) => Promise<T>): Promise<T> {
  const { dataDir } = settings
  if (url === null && !holdsEnvironment(join(dataDir, CONFIGURATION_FOLDER)))
    throw new CliError([`the folder ${dataDir} has no organization; --url names a service`])
  if (url !== null || isFolderLocked(dataDir)) return work(serviceHost(new ServiceClient(settings, url)))
  const { createApp } = await import('../../app.ts')
  const app = await createApp({ ...settings, lanes: 0 })
  try {
    return await work(await folderHost(app))
  } finally {
    await app.close()
  }
}

function serviceHost(client: ServiceClient): MatchingHost {
  return {
    call: (method, path, body) => client.request(method, path, body),
    async read(path, accept) {
      const { body } = await client.open(path, { accept })
      return decoded(body ?? new ReadableStream())
    },
    work: () => Bun.sleep(POLL_MS),
  }
}

async function* decoded(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true })
}

async function folderHost(app: App): Promise<MatchingHost> {
  const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
  const headers = { authorization: `Bearer ${token}` }
  const client = new InProcessClient({ handle: app.handleInProcess, token })
  const send = async (method: string, path: string, body: object | undefined, accept = 'application/json') => {
    const response = await client.send(method, path, { ...headers, accept }, body)
    if (response.status < 300) return response
    const { message = '', errors = [] } = JSON.parse(response.body) as { message?: string; errors?: string[] }
    throw new ServiceRefusalError(response.status, errors.length > 0 ? errors : [message])
  }
  return {
    call: async (method, path, body) => JSON.parse((await send(method, path, body)).body),
    async read(path, accept) {
      const { body, stream } = await send('GET', path, undefined, accept)
      return chunksOf(stream ?? [body][Symbol.iterator]())
    },
    work: () => app.matchEntities(),
  }
}

async function* chunksOf(chunks: AsyncIterator<string, void> | Iterator<string>): AsyncGenerator<string, void> {
  for (;;) {
    const step = await chunks.next()
    if (step.done === true) return
    yield step.value
  }
}

/** Waits until a state is neither PENDING nor IN_PROGRESS. */
async function settled(
  host: MatchingHost,
  read: () => Promise<ReadPipeline>,
  statusOf: (pipeline: ReadPipeline) => string,
): Promise<ReadPipeline> {
  for (;;) {
    const pipeline = await read()
    const status = statusOf(pipeline)
    if (status !== 'PENDING' && status !== 'IN_PROGRESS') return pipeline
    await host.work()
  }
}

function configPath(pipeline: string): string {
  return `/configs/v1/${entityMatchingPipelinesKind}/${segment(pipeline)}`
}

function runtimePath(pipeline: string, path: string): string {
  return `/entity-matching/v1/pipelines/${segment(pipeline)}/${path}`
}

/** A segment of a path. The colon of ids may stay, as the folder itself expects it. */
function segment(id: string): string {
  return encodeURIComponent(id).replaceAll('%3A', ':')
}

function lineOf({
  id,
  source_external_id,
  target_external_id,
  decision,
  decided_by,
  decided_time,
}: DecisionAnswer): string {
  return `${id}  ${decision}  ${source_external_id}  ${target_external_id}  ${decided_time}  ${decided_by}`
}

function shown(value: number | null): string {
  return value === null ? 'unknown' : value.toFixed(4)
}

function cutoffFrom(text: string): number {
  const cutoff = Number(text)
  if (text.trim() !== '' && cutoff >= 0 && cutoff <= 1) return cutoff
  throw new UsageError([`--cutoff: expected a number from 0 to 1, found \`${text}\``])
}

function mappingFrom(text: string): { source_node_property: string; target_node_property: string } {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new UsageError([`--mapping: expected source=target, found \`${text}\``])
  return { source_node_property: text.slice(0, at), target_node_property: text.slice(at + 1) }
}

/** Lines of JSON: `{"source_external_id":"p-1","target_external_id":"c-7","same":true}`. */
function labelsFrom(path: string): NonNullable<MatchRunRequest['labelled_pairs']> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (failure) {
    throw new UsageError([`--labels: ${failure instanceof Error ? failure.message : String(failure)}`])
  }
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    try {
      return [JSON.parse(line) as NonNullable<MatchRunRequest['labelled_pairs']>[number]]
    } catch {
      throw new UsageError([`--labels: ${path}:${at + 1}: expected a JSON object`])
    }
  })
}
