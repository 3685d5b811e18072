// The traffic of a soak run. Every actor repeats one kind of work at random intervals and checks each answer against a model.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, type WatchEvent } from '../../../src/client/index.ts'
import type { Random } from '../../generate/random.ts'
import type { OpenIdProvider } from '../../support/oidc-provider.ts'
import type { LatencyRecorder } from './samples.ts'
import type { SoakService } from './soak-service.ts'
import {
  AUDIENCE,
  MATCHED,
  PAGES,
  PERSONS,
  pageId,
  personId,
  policyDocument,
  type SoakReply,
  type SoakWorld,
  send,
  WRITERS,
} from './world.ts'

/** A watcher receives an event of a write within this time. */
const WATCH_LIMIT_MS = 300_000
const JOB_LIMIT_MS = 600_000
const STOP_LIMIT_MS = 400_000
/** The provider issues tokens for ten minutes. */
const TOKEN_USE_MS = 300_000
const FILL_BATCHES_MAX = 80
const FILL_NODES = 50

/** The fault that is being injected. */
export type SoakFault = '' | 'full disk' | 'slow disk' | 'clock' | 'restart' | 'receiver down' | 'certificate'

export interface TrafficOptions {
  readonly served: SoakService
  readonly world: SoakWorld
  readonly provider: OpenIdProvider
  readonly random: Random
  readonly latencies: LatencyRecorder
  readonly token: () => string
  readonly fault: () => SoakFault
  /** Factor of all pauses. */
  readonly pace: number
  readonly folder: string
  readonly report: (fault: string) => void
}

/** A page as the last acknowledged write left it. */
interface PageState {
  exists: boolean
  title: string | null
  readonly writers: Set<string>
}

export class Traffic {
  requests = 0
  readonly counts: Record<string, number> = {}
  readonly #options: TrafficOptions
  /** By page. */
  readonly #pages = new Map<string, PageState>()
  /** Changes when a write of the page begins and when it ends. */
  readonly #versions = new Map<string, number>()
  /** Pages whose last write has no answer. */
  readonly #unknown = new Set<string>()
  readonly #watchers: { revision: number; events: number; isOpen: boolean }[] = []
  readonly #tokens = new Map<string, { token: string; issuedMs: number }>()
  #isStopping = false
  /** Names of the actors that work now. */
  readonly #active: string[] = []
  #running: Promise<unknown>[] = []
  #matchingRound = 0
  #isLit = false
  #configured = 0
  #views = 0
  readonly #stopWatching = new AbortController()

  constructor(options: TrafficOptions) {
    this.#options = options
    for (let writer = 0; writer < WRITERS; writer++)
      for (let n = 0; n < PAGES; n++)
        this.#pages.set(pageId(writer, n), { exists: false, title: null, writers: new Set() })
  }

  /** Captures what the traffic needs. */
  async prepare(): Promise<void> {
    const nodes: object[] = [
      { type: 'Keeper', external_id: 'keeper' },
      { type: 'Beacon', external_id: 'beacon' },
    ]
    for (let writer = 0; writer < WRITERS; writer++)
      for (let n = 0; n < PERSONS; n++)
        nodes.push({ type: 'Person', external_id: personId(writer, n), is_identity: true })
    await this.#captured('nodes', { nodes })
    const cars = Array.from({ length: 100 }, (_, i) => ({
      type: 'Car',
      external_id: `car-${i}`,
      properties: [
        { type: 'valid_until', value: i % 2 === 0 ? '2999-01-01' : '2000-01-01' },
        { type: 'plate', value: `B-${i}` },
      ],
    }))
    await this.#captured('nodes', { nodes: cars })
    await this.#captured('nodes', { nodes: Array.from({ length: MATCHED }, (_, i) => human('Citizen', i, i)) })
  }

  start(): void {
    const actors: [string, number, () => Promise<void>][] = [
      ['decide', 130, () => this.#decide()],
      ['decide', 130, () => this.#decide()],
      ['batch', 900, () => this.#batch()],
      ['search', 700, () => this.#searchResources()],
      ['search-subjects', 1500, () => this.#searchSubjects()],
      ['explain', 5000, () => this.#explain()],
      ['user', 1200, () => this.#decideForUser()],
      ['jwt', 4000, () => this.#decideForJwt()],
      ['query', 2000, () => this.#knowledgeQuery()],
      ['mcp', 2500, () => this.#mcp()],
      ['beacon', 5000, () => this.#beacon()],
      ['configuration', 4000, () => this.#configuration()],
      ['agents', 9000, () => this.#agents()],
      ['audit-read', 6000, () => this.#auditRead()],
      ['console', 15_000, () => this.#console()],
      ['schema', 20_000, () => this.#graphReads()],
      ['trust', 60_000, () => this.#trustPass()],
      ['matching', 70_000, () => this.#matchingRun()],
      ['backup', 90_000, () => this.#backup()],
      ['verify', 400_000, () => this.#verify()],
      ['large', 20_000, () => this.#largeBatch()],
    ]
    for (let writer = 0; writer < WRITERS; writer++) actors.push(['capture', 500, () => this.#write(writer)])
    this.#running = actors.map(([name, pauseMs, act]) => this.#repeat(name, pauseMs, act))
    for (let n = 0; n < 6; n++) this.#running.push(this.#watch())
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopWatching.abort()
    await Promise.race([Promise.all(this.#running), Bun.sleep(STOP_LIMIT_MS)])
    for (const name of this.#active) this.#report(`${name} did not end within ${STOP_LIMIT_MS / 1000} s`)
  }

  async #repeat(name: string, pauseMs: number, act: () => Promise<void>): Promise<void> {
    const { random, pace, served } = this.#options
    // Not all at once.
    await this.#pause(random.between(0, Math.round(pauseMs * pace)))
    while (!this.#isStopping) {
      await served.running()
      const pid = served.pid
      this.#active.push(name)
      try {
        await act()
        this.#count(name)
      } catch (failure) {
        const wasRestarted = served.isStopping || served.pid !== pid
        // The certificate was renewed: the listener of before closes its connections.
        const isLost = failure instanceof LostConnection && (wasRestarted || this.#options.fault() !== '')
        this.#count(`${name} ${isLost || wasRestarted ? 'lost' : 'failed'}`)
        if (!isLost && !wasRestarted) this.#report(`${name}: ${messageOf(failure)}`)
      } finally {
        this.#active.splice(this.#active.indexOf(name), 1)
      }
      await this.#pause(Math.round(-Math.log(1 - random.between(0, 999) / 1000) * pauseMs * pace))
    }
  }

  async #pause(ms: number): Promise<void> {
    const end = performance.now() + ms
    while (!this.#isStopping && performance.now() < end)
      await Bun.sleep(Math.min(500, Math.max(1, end - performance.now())))
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }

  #report(fault: string): void {
    this.#options.report(fault)
  }

  /** `kind`: of the latency; null: not measured. Rejects with `LostConnection` if there is no reply. */
  async #send(
    kind: string | null,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: object,
  ): Promise<SoakReply> {
    const { served, latencies } = this.#options
    const startMs = performance.now()
    this.requests += 1
    let reply: SoakReply
    try {
      reply = await send(served.url, method, path, headers, body)
    } catch (cause) {
      throw new LostConnection(`${method} ${path}: ${messageOf(cause)}`)
    }
    if (kind !== null) latencies.add(kind, performance.now() - startMs)
    // A lane that does not start in time on a busy machine; the answer asks to repeat the request.
    if (reply.status === 503) this.#count('status 503')
    return reply
  }

  #ask(
    kind: string | null,
    path: string,
    body: object,
    more: Readonly<Record<string, string>> = {},
  ): Promise<SoakReply> {
    return this.#send(kind, 'POST', path, { 'x-svc-clientkey': this.#options.world.key, ...more }, body)
  }

  #admin(method: string, path: string, body?: object): Promise<SoakReply> {
    const isOfProject = path.startsWith('/graph/')
    const project = isOfProject ? { 'x-project-id': this.#options.world.project } : {}
    return this.#send(null, method, path, { authorization: `Bearer ${this.#options.token()}`, ...project }, body)
  }

  async #captured(path: string, body: object): Promise<void> {
    const reply = await this.#ask(null, `/capture/v1/${path}`, body)
    if (reply.status !== 200) throw new Error(`${path} was answered ${reply.status}: ${reply.text}`)
  }

  // -- captures, and the model

  /** One random write of a page that only this writer changes. */
  async #write(writer: number): Promise<void> {
    const { random } = this.#options
    const page = pageId(writer, random.between(0, PAGES - 1))
    const key = { type: 'Page', external_id: page }
    const state = this.#pages.get(page)!
    const person = personId(writer, random.between(0, PERSONS - 1))
    const source = { type: 'Person', external_id: person }
    const relationship = { source, type: 'WROTE', target: key }
    if (this.#unknown.has(page)) {
      // The last write has no answer: this one brings the page into a known state.
      await this.#apply(page, 'nodes/delete', { nodes: [key] }, () => {
        Object.assign(state, { exists: false, title: null })
        state.writers.clear()
      })
      return
    }
    const title = `t${random.between(0, 1_000_000)}`
    const kind = state.exists ? random.between(0, 9) : 0
    if (kind <= 2) {
      const properties = [{ type: 'title', value: title, metadata: { source: `writer-${writer}` } }]
      await this.#apply(page, 'nodes', { nodes: [{ ...key, properties }] }, () =>
        Object.assign(state, { exists: true, title }),
      )
    } else if (kind <= 6) {
      await this.#apply(page, 'relationships', { relationships: [relationship] }, () => state.writers.add(person))
    } else if (kind === 7) {
      await this.#apply(page, 'relationships/delete', { relationships: [relationship] }, () =>
        state.writers.delete(person),
      )
    } else if (kind === 8) {
      await this.#apply(page, 'nodes/properties/delete', { nodes: [{ ...key, property_types: ['title'] }] }, () => {
        state.title = null
      })
    } else {
      await this.#apply(page, 'nodes/delete', { nodes: [key] }, () => {
        Object.assign(state, { exists: false, title: null })
        state.writers.clear()
      })
    }
  }

  async #apply(page: string, path: string, body: object, done: () => void): Promise<void> {
    this.#touch(page)
    const wasUnknown = this.#unknown.has(page)
    this.#unknown.add(page)
    try {
      const reply = await this.#ask('capture', `/capture/v1/${path}`, body)
      if (reply.status === 200) {
        done()
        this.#unknown.delete(page)
      } else if (reply.status === 507) {
        // Refused as a whole: the page is as before.
        if (!wasUnknown) this.#unknown.delete(page)
        this.#count('status 507')
        if (this.#options.fault() !== 'full disk') this.#report(`${path} was answered 507 without a full disk`)
      } else if (reply.status !== 503) this.#report(`${path} was answered ${reply.status}: ${reply.text}`)
    } finally {
      this.#touch(page)
    }
  }

  #touch(page: string): void {
    this.#versions.set(page, (this.#versions.get(page) ?? 0) + 1)
  }

  /** A number that is the same later if no write of these pages was in progress or began since; null: one is in progress. */
  #stateOf(pages: readonly string[]): number | null {
    let sum = 0
    for (const page of pages) {
      const version = this.#versions.get(page) ?? 0
      if (version % 2 === 1 || this.#unknown.has(page)) return null
      sum += version
    }
    return sum
  }

  /** Asks, and compares the answer with the model if no write of these pages happened in the meantime. */
  async #compare<T>(
    pages: readonly string[],
    expected: () => T,
    ask: () => Promise<T | null>,
    name: string,
  ): Promise<void> {
    const before = this.#stateOf(pages)
    const wanted = expected()
    const found = await ask()
    if (found === null || before === null || this.#stateOf(pages) !== before) return
    this.#count('checked')
    if (JSON.stringify(found) !== JSON.stringify(wanted))
      this.#report(`${name}: ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`)
  }

  #question(): { person: string; page: string } {
    const { random } = this.#options
    const writer = random.between(0, WRITERS - 1)
    const page = pageId(writer, random.between(0, PAGES - 1))
    // Half of the questions are about a person who may read the page, if there is one.
    const known = [...(this.#pages.get(page)?.writers ?? [])]
    const person =
      known.length > 0 && random.odds(0.5) ? random.pick(known) : personId(writer, random.between(0, PERSONS - 1))
    return { person, page }
  }

  #may({ person, page }: { person: string; page: string }): boolean {
    return this.#pages.get(page)!.writers.has(person)
  }

  /** Null: there is no decision, which is not wrong: a caller treats it as a denial. */
  #decision(reply: SoakReply): boolean | null {
    if (reply.status === 200 && typeof reply.body?.decision === 'boolean') return reply.body.decision
    if (reply.status !== 503) this.#report(`a decision was answered ${reply.status}: ${reply.text}`)
    return null
  }

  async #decide(): Promise<void> {
    const question = this.#question()
    await this.#compare(
      [question.page],
      () => this.#may(question),
      async () => this.#decision(await this.#ask('decision', '/access/v1/evaluation', bodyOf(question))),
      `decision ${question.person} ${question.page}`,
    )
  }

  async #batch(): Promise<void> {
    const { random } = this.#options
    const questions = Array.from({ length: random.between(2, 20) }, () => this.#question())
    await this.#compare(
      questions.map(({ page }) => page),
      () => questions.map((question) => this.#may(question)),
      async () => {
        const reply = await this.#ask('batch', '/access/v1/evaluations', { evaluations: questions.map(bodyOf) })
        if (reply.status === 503) return null
        if (reply.status !== 200) throw new Error(`a batch was answered ${reply.status}: ${reply.text}`)
        return (reply.body.evaluations as { decision: boolean }[]).map(({ decision }) => decision)
      },
      'batch',
    )
  }

  /** More items than the loop decides itself: a lane does. */
  async #largeBatch(): Promise<void> {
    const questions = Array.from({ length: 800 }, () => this.#question())
    const reply = await this.#ask('large batch', '/access/v1/evaluations', { evaluations: questions.map(bodyOf) })
    if (reply.status === 503) return
    if (reply.status !== 200 || reply.body.evaluations.length !== 800)
      throw new Error(`a large batch was answered ${reply.status}: ${reply.text.slice(0, 300)}`)
  }

  async #searchResources(): Promise<void> {
    const { random } = this.#options
    const writer = random.between(0, WRITERS - 1)
    const person = personId(writer, random.between(0, PERSONS - 1))
    const pages = Array.from({ length: PAGES }, (_, n) => pageId(writer, n))
    await this.#compare(
      pages,
      () => pages.filter((page) => this.#may({ person, page })).sort(),
      async () => {
        const reply = await this.#ask('search', '/access/v1/search/resource', {
          subject: { type: 'Person', id: person },
          action: { name: 'read' },
          resource: { type: 'Page' },
        })
        if (reply.status === 503) return null
        if (reply.status !== 200) throw new Error(`a search was answered ${reply.status}: ${reply.text}`)
        return (reply.body.results as { id: string }[]).map(({ id }) => id).sort()
      },
      `resources of ${person}`,
    )
  }

  async #searchSubjects(): Promise<void> {
    const { page } = this.#question()
    await this.#compare(
      [page],
      () => [...this.#pages.get(page)!.writers].sort(),
      async () => {
        const reply = await this.#ask('search', '/access/v1/search/subject', {
          subject: { type: 'Person' },
          action: { name: 'read' },
          resource: { type: 'Page', id: page },
        })
        if (reply.status === 503) return null
        if (reply.status !== 200) throw new Error(`a search was answered ${reply.status}: ${reply.text}`)
        return (reply.body.results as { id: string }[]).map(({ id }) => id).sort()
      },
      `subjects of ${page}`,
    )
  }

  async #explain(): Promise<void> {
    const question = this.#question()
    await this.#compare(
      [question.page],
      () => this.#may(question),
      async () => this.#decision(await this.#ask('explain', '/access/v1/explain', bodyOf(question))),
      `explanation ${question.person} ${question.page}`,
    )
  }

  // -- tokens of users

  /** An opaque token of the person; the provider confirms it. */
  async #tokenOf(person: string): Promise<string> {
    const known = this.#tokens.get(person)
    if (known !== undefined && performance.now() - known.issuedMs < TOKEN_USE_MS) return known.token
    const issuedMs = performance.now()
    const token = await again(() => this.#options.provider.opaqueToken(person))
    this.#tokens.set(person, { token, issuedMs })
    return token
  }

  async #decideForUser(): Promise<void> {
    const question = this.#question()
    const authorization = `Bearer ${await this.#tokenOf(question.person)}`
    await this.#compare(
      [question.page],
      () => this.#may(question),
      async () =>
        this.#decision(await this.#ask('user decision', '/access/v1/evaluation', bodyOf(question), { authorization })),
      `decision for the user ${question.person}`,
    )
  }

  /** The token is valid for ten minutes: it has expired if the clock of the service is an hour ahead. */
  async #decideForJwt(): Promise<void> {
    const { provider, served, fault } = this.#options
    const question = this.#question()
    const offset = served.clockOffsetS
    const startFault = fault()
    const { clockChanges } = served
    const authorization = `Bearer ${await again(() => provider.accessTokenFor(question.person, AUDIENCE))}`
    await this.#compare(
      [question.page],
      () => (offset === 0 ? this.#may(question) : 401),
      async (): Promise<boolean | number | null> => {
        const reply = await this.#ask('jwt decision', '/access/v1/evaluation', bodyOf(question), { authorization })
        const wasSet = served.clockChanges !== clockChanges || clockChanges % 2 === 1
        const isChanging = startFault === 'clock' || fault() === 'clock' || wasSet
        if (isChanging || reply.status === 503) return null
        return reply.status === 200 ? reply.body.decision : reply.status
      },
      `decision for a JWT of ${question.person} with a clock that is ${offset} s ahead`,
    )
  }

  async #knowledgeQuery(): Promise<void> {
    const { random, world } = this.#options
    const question = this.#question()
    const writer = Number(question.page[1])
    const pages = Array.from({ length: PAGES }, (_, n) => pageId(writer, n))
    const authorization = `Bearer ${await this.#tokenOf(question.person)}`
    if (random.odds(0.3)) {
      this.#views += 1
      const body = { id: world.queries.write, input_params: { page: question.page, views: this.#views } }
      const reply = await this.#ask('query', '/contx-iq/v1/execute', body, { authorization })
      if (reply.status === 507 && this.#options.fault() === 'full disk') return
      // On a busy machine. By its answer, the change may have been stored.
      if (reply.status === 408) return this.#count('query status 408')
      if (reply.status !== 200 && reply.status !== 503)
        throw new Error(`a query that writes was answered ${reply.status}: ${reply.text}`)
      return
    }
    await this.#compare(
      pages,
      () => pages.filter((page) => this.#may({ person: question.person, page })).sort(),
      async () => {
        const reply = await this.#ask(
          'query',
          '/contx-iq/v1/execute',
          { id: world.queries.mine, input_params: {} },
          { authorization },
        )
        if (reply.status === 503) return null
        if (reply.status !== 200) throw new Error(`a query was answered ${reply.status}: ${reply.text}`)
        return (reply.body.data as { nodes: Record<string, string> }[])
          .map(({ nodes }) => nodes['page.external_id'] ?? '')
          .sort()
      },
      `pages of ${question.person} by a query`,
    )
  }

  async #mcp(): Promise<void> {
    const { world } = this.#options
    const { person, page } = this.#question()
    const writer = Number(page[1])
    const pages = Array.from({ length: PAGES }, (_, n) => pageId(writer, n))
    const authorization = `Bearer ${await this.#tokenOf(person)}`
    await this.#compare(
      pages,
      () => pages.filter((each) => this.#may({ person, page: each })).sort(),
      async () => {
        const _meta = {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        }
        const headers = {
          authorization,
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'ciq_execute',
        }
        const body = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'ciq_execute', arguments: { id: world.queries.mine, input_params: {} }, _meta },
        }
        const reply = await this.#send('mcp', 'POST', `/mcp/v1/${world.project}`, headers, body)
        if (reply.status === 503) return null
        if (reply.status !== 200 || reply.body?.result?.isError === true)
          throw new Error(`a tool was answered ${reply.status}: ${reply.text}`)
        const data = reply.body.result.structuredContent.data as { nodes: Record<string, string> }[]
        return data.map(({ nodes }) => nodes['page.external_id'] ?? '').sort()
      },
      `pages of ${person} by MCP`,
    )
  }

  // -- streams

  async #watch(): Promise<void> {
    const { served, world } = this.#options
    const watcher = { revision: 0, events: 0, isOpen: false }
    this.#watchers.push(watcher)
    const client = createClient({ url: served.url, key: world.key, retries: 100, timeoutMs: 120_000 })
    const options = { signal: this.#stopWatching.signal, subjectType: 'Keeper' }
    while (!this.#isStopping) {
      try {
        for await (const event of client.watch(options) as AsyncIterable<WatchEvent>) {
          if (event.revision < watcher.revision)
            this.#report(`a stream went from revision ${watcher.revision} to ${event.revision}`)
          watcher.revision = event.revision
          watcher.events += 1
          watcher.isOpen = true
          this.#count(`stream ${event.type}`)
        }
      } catch (failure) {
        if (this.#isStopping) return
        this.#count('stream lost')
        if (!served.isStopping && this.#options.fault() === '') this.#report(`a stream failed: ${messageOf(failure)}`)
        await this.#pause(500)
      }
    }
  }

  /** A write that every stream must report. Nothing else changes what the streams are about. */
  async #beacon(): Promise<void> {
    const before = this.#watchers.map(({ events }) => events)
    const relationship = {
      source: { type: 'Keeper', external_id: 'keeper' },
      type: 'LIT',
      target: { type: 'Beacon', external_id: 'beacon' },
    }
    // A stream reports relationships that come and go.
    const path = this.#isLit ? 'relationships/delete' : 'relationships'
    const reply = await this.#ask('capture', `/capture/v1/${path}`, { relationships: [relationship] })
    if (reply.status !== 200) {
      this.#count(`beacon status ${reply.status}`)
      return
    }
    this.#isLit = !this.#isLit
    const end = performance.now() + WATCH_LIMIT_MS
    const late = (): number[] =>
      this.#watchers.flatMap(({ events, isOpen }, at) =>
        isOpen && events <= (before[at] ?? Number.POSITIVE_INFINITY) ? [at] : [],
      )
    while (late().length > 0 && !this.#isStopping) {
      if (performance.now() > end) {
        this.#report(`${late().length} streams did not report a write within ${WATCH_LIMIT_MS / 1000} s`)
        return
      }
      await Bun.sleep(20)
    }
  }

  // -- configuration

  /** A policy that permits is in force when its creation was answered, and not any more when its deletion was answered. */
  async #configuration(): Promise<void> {
    const { world } = this.#options
    // A name is used once: after a restart it is unknown whether the policy in progress was stored.
    const action = `extra-${this.#configured++}`
    const policy = policyDocument('Person', action, 'Page', 'MATCH (subject:Person), (resource:Page)')
    const body = { project_id: world.project, name: `${action}-${this.requests}`, policy, status: 'ACTIVE' }
    const created = await this.#admin('POST', '/configs/v1/authorization-policies', body)
    if (created.status !== 201) return this.#refused('policy', created)
    const question = this.#question()
    const asks = async (): Promise<boolean | null> =>
      this.#decision(
        await this.#ask('decision', '/access/v1/evaluation', { ...bodyOf(question), action: { name: action } }),
      )
    const exists = () => this.#pages.get(question.page)!.exists
    await this.#compare([question.page], exists, asks, `decision by the new policy ${action} on ${question.page}`)
    for (;;) {
      const deleted = await this.#admin('DELETE', `/configs/v1/authorization-policies/${created.body.id}`)
      if (deleted.status === 204 || deleted.status === 200 || deleted.status === 404) break
      this.#refused('deletion of a policy', deleted)
      await Bun.sleep(1000)
    }
    if ((await asks()) === true) this.#report(`${action} is permitted after its policy was deleted`)
  }

  /** A key is accepted until its deletion was answered. */
  async #agents(): Promise<void> {
    const { world } = this.#options
    const made = await this.#admin('POST', '/configs/v1/application-agent-credentials', {
      application_agent_id: world.agent,
    })
    if (made.status !== 201) return this.#refused('credential', made)
    const ask = (): Promise<SoakReply> =>
      this.#send(
        null,
        'POST',
        '/access/v1/evaluation',
        { 'x-svc-clientkey': made.body.api_key },
        bodyOf(this.#question()),
      )
    const [before, deleted] = [
      await ask(),
      await this.#admin('DELETE', `/configs/v1/application-agent-credentials/${made.body.id}`),
    ]
    if (before.status !== 200 && before.status !== 503)
      this.#report(`a new key was answered ${before.status}: ${before.text}`)
    if (deleted.status !== 204 && deleted.status !== 200) return this.#refused('deletion of a key', deleted)
    const after = await ask()
    if (after.status !== 401) this.#report(`a deleted key was answered ${after.status}: ${after.text}`)
  }

  #refused(name: string, { status, text }: SoakReply): void {
    this.#count(`${name} status ${status}`)
    const isExpected = status === 503 || (status === 507 && this.#options.fault() === 'full disk')
    if (!isExpected) this.#report(`${name} was answered ${status}: ${text}`)
  }

  async #auditRead(): Promise<void> {
    const { world } = this.#options
    const page = await this.#admin('GET', `/audit/v1/records?project_id=${world.project}&order=newest&pagesize=20`)
    if (page.status !== 200) return this.#refused('audit records', page)
    const checkpoints = await this.#admin('GET', `/audit/v1/checkpoints?project_id=${world.project}&pagesize=2`)
    if (checkpoints.status !== 200) return this.#refused('audit checkpoints', checkpoints)
  }

  async #console(): Promise<void> {
    const { served } = this.#options
    const origin = served.url
    const linked = await this.#admin('POST', '/console/v1/links', {})
    if (linked.status !== 201) return this.#refused('console link', linked)
    const link = (linked.body.url as string).split('#link=')[1] ?? ''
    const answer = await fetch(`${served.url}/console/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ link }),
      signal: AbortSignal.timeout(300_000),
    })
    const text = await answer.text()
    if (answer.status !== 200) return this.#refused('console session', { status: answer.status, text, body: null })
    const { session } = JSON.parse(text) as { session: { csrf_token: string } }
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const headers = { cookie, origin, 'x-csrf-token': session.csrf_token }
    const status = await this.#send(null, 'GET', '/operations/v1/status', headers)
    if (status.status !== 200) this.#refused('status in a session', status)
    const ended = await this.#send(null, 'DELETE', '/console/v1/session', headers)
    if (ended.status !== 204) return this.#refused('end of a session', ended)
    const after = await this.#send(null, 'GET', '/operations/v1/status', headers)
    if (after.status !== 401) this.#report(`a session that has ended was answered ${after.status}`)
  }

  async #graphReads(): Promise<void> {
    const metrics = await this.#admin('GET', '/metrics')
    if (metrics.status !== 200) this.#refused('metrics', metrics)
    const names = await this.#admin('GET', '/graph/v1/names')
    if (names.status !== 200) this.#refused('names of the graph', names)
  }

  // -- a full disk

  /** Captures until the disk is full: each batch is stored or refused as a whole. */
  async fillGraph(): Promise<void> {
    const text = 'x'.repeat(20_000)
    for (let batch = 0; batch < FILL_BATCHES_MAX; batch++) {
      const properties = [{ type: 'text', value: text }]
      const nodes = Array.from({ length: FILL_NODES }, (_, n) => ({
        type: 'Filler',
        external_id: `f${batch}-${n}`,
        properties,
      }))
      const reply = await this.#ask('filling capture', '/capture/v1/nodes', { nodes })
      const found = await this.#admin('POST', '/graph/v1/query', {
        query: 'MATCH (n:Filler) WHERE n.external_id STARTS WITH $prefix RETURN count(n) AS stored',
        parameters: { prefix: `f${batch}-` },
        limit: 1,
      })
      const stored = found.body?.rows?.[0]?.[0]
      const isWhole = found.status === 200 && stored === (reply.status === 200 ? FILL_NODES : 0)
      if (!isWhole && reply.status !== 503)
        this.#report(
          `a batch of ${FILL_NODES} was answered ${reply.status}, and ${stored} are stored (${found.status})`,
        )
      if (reply.status === 200) continue
      this.#count(`filling status ${reply.status}`)
      if (reply.status === 507) return
    }
    this.#count('the disk was not full')
  }

  /** Deletes what `fillGraph` has stored. */
  async emptyGraph(): Promise<void> {
    for (let batch = 0; batch < FILL_BATCHES_MAX; batch++) {
      const nodes = Array.from({ length: FILL_NODES }, (_, n) => ({ type: 'Filler', external_id: `f${batch}-${n}` }))
      const reply = await this.#ask(null, '/capture/v1/nodes/delete', { nodes })
      if (reply.status !== 200) this.#report(`deleting was answered ${reply.status}: ${reply.text}`)
      else if (!(reply.body.results as { id?: string }[]).some(({ id }) => id !== undefined && id !== '')) return
    }
  }

  // -- jobs

  async #trustPass(): Promise<void> {
    const { served, world } = this.#options
    const car = {
      type: 'Car',
      external_id: `car-${this.#options.random.between(0, 99)}`,
      properties: [{ type: 'plate', value: `B-${this.requests}` }],
    }
    await this.#ask('capture', '/capture/v1/nodes', { nodes: [car] })
    const { exitCode, stderr } = await served.run(
      ['trust', 'run', '--profile', world.profile, '--json'],
      this.#withToken(),
    )
    if (exitCode !== 0 && this.#options.fault() === '') this.#report(`a trust pass ended with ${exitCode}: ${stderr}`)
    if (exitCode !== 0) this.#count('trust pass failed')
  }

  #withToken(): Record<string, string> {
    return { VERDIGRAPH_TOKEN: this.#options.token() }
  }

  /** In each round customers are other citizens than before. */
  async #matchingRun(): Promise<void> {
    const { world } = this.#options
    const round = ++this.#matchingRound
    const customers = Array.from({ length: MATCHED }, (_, i) => human('Customer', i, (i + round) % MATCHED))
    const captured = await this.#ask('capture', '/capture/v1/nodes', { nodes: customers })
    if (captured.status !== 200) return this.#refused('capture of customers', captured)
    const path = `/entity-matching/v1/pipelines/${world.pipeline}`
    const custom_property_mappings = ['name', 'email'].map((name) => ({
      source_node_property: name,
      target_node_property: name,
    }))
    const started = await this.#admin('POST', `${path}/runs`, {
      similarity_score_cutoff: 0.9,
      custom_property_mappings,
    })
    if (started.status >= 300) return this.#refused('matching run', started)
    const end = performance.now() + JOB_LIMIT_MS
    for (;;) {
      const { body } = await this.#admin('GET', `${path}/status`)
      const status = body?.entity_matching_status
      if (status === 'SUCCESS') break
      if (performance.now() > end || (status !== undefined && status !== 'PENDING' && status !== 'IN_PROGRESS')) {
        if (this.#options.fault() === '') this.#report(`a matching run ended with ${status}`)
        this.#count('matching run failed')
        return
      }
      await Bun.sleep(300)
    }
    const found = await this.#admin('POST', '/graph/v1/query', {
      query: 'MATCH (a:Citizen)-[:_SAME_AS]->(b:Customer) RETURN a.external_id AS a, b.external_id AS b',
      limit: 1000,
    })
    if (found.status !== 200) return this.#refused('graph query', found)
    const pairs = (found.body.rows as [string, string][]).map((row) => row.join(' ')).sort()
    const wanted = Array.from({ length: MATCHED }, (_, i) => `Citizen-${(i + round) % MATCHED} Customer-${i}`).sort()
    if (pairs.join() !== wanted.join())
      this.#report(`round ${round} of matching has ${pairs.length} pairs: ${pairs.slice(0, 3)}`)
  }

  /** A backup on request: made, verified, restored, deleted. */
  async #backup(): Promise<void> {
    const { served, folder } = this.#options
    const { pid } = served
    const created = await this.#admin('POST', '/operations/v1/backups', {})
    if (created.status !== 202) return this.#refused('backup', created)
    const name = created.body.name as string
    const settled = async (isSettled: (own: SoakBackup) => boolean): Promise<SoakBackup | null> => {
      const end = performance.now() + JOB_LIMIT_MS
      for (;;) {
        const { body } = await this.#admin('GET', '/operations/v1/backups')
        const own = (body?.backups as SoakBackup[] | undefined)?.find((one) => one.name === name)
        if ((own !== undefined && isSettled(own)) || performance.now() > end) return own ?? null
        await Bun.sleep(300)
      }
    }
    const made = await settled(({ state }) => state !== 'running')
    // A service that stops ends a backup, and answers until it has ended.
    const isInterrupted = (): boolean => served.isStopping || served.pid !== pid
    if (isInterrupted()) this.#count('backup interrupted')
    else if (made?.state !== 'complete') this.#report(`the backup ${name}: ${JSON.stringify(made)}`)
    else {
      for (let tries = 0; ; tries++) {
        const verified = await this.#admin('POST', `/operations/v1/backups/${name}/verify`)
        if (verified.status === 202) break
        // The process that made the backup has not ended.
        this.#count(`verification of a backup status ${verified.status}`)
        if (verified.status !== 409 || tries === 1000) return this.#refused('verification of a backup', verified)
        await Bun.sleep(300)
      }
      const checked = await settled(({ verification }) => verification !== null && verification.state !== 'running')
      if (checked?.verification?.state !== 'sound' && !isInterrupted())
        this.#report(`the verified backup ${name}: ${JSON.stringify(checked)}`)
      if (this.#options.random.odds(0.25)) {
        const into = mkdtempSync(join(folder, 'restored-'))
        const data = join(into, 'data')
        const restored = await served.run(['restore', '--in', join(served.backups, `${name}.tar`), '--data', data], {
          VERDIGRAPH_DATA: data,
        })
        const sound =
          restored.exitCode === 0 ? await served.run(['verify', '--data', data], { VERDIGRAPH_DATA: data }) : restored
        if (sound.exitCode !== 0) this.#report(`the restored backup ${name}: ${sound.stdout}${sound.stderr}`)
        rmSync(into, { recursive: true, force: true })
        this.#count('restored')
      }
    }
    const deleted = await this.#admin('DELETE', `/operations/v1/backups/${name}`)
    if (deleted.status !== 204) this.#refused('deletion of a backup', deleted)
  }

  async #verify(): Promise<void> {
    const { exitCode, stdout, stderr } = await this.#options.served.run(['verify'])
    if (exitCode !== 0 && this.#options.fault() === '')
      this.#report(`verify ended with ${exitCode}: ${stdout}${stderr}`)
  }

  /** Compares all pages with the model, after the traffic has ended. Resolves with the number of pages. */
  async checkAll(): Promise<number> {
    const found = await this.#admin('POST', '/graph/v1/query', {
      query:
        'MATCH (page:Page) OPTIONAL MATCH (person:Person)-[:WROTE]->(page) RETURN page.external_id AS page, page.title AS title, person.external_id AS person',
      limit: 1000,
    })
    if (found.status !== 200) throw new Error(`the last read was answered ${found.status}: ${found.text}`)
    const stored = new Map<string, { title: string | null; writers: string[] }>()
    for (const [page, title, person] of found.body.rows as [string, string | null, string | null][]) {
      const state = stored.get(page) ?? { title, writers: [] }
      stored.set(page, state)
      if (person !== null) state.writers.push(person)
    }
    for (const [page, { exists, title, writers }] of this.#pages) {
      if (this.#unknown.has(page)) continue
      const own = stored.get(page)
      const wanted = exists ? JSON.stringify([title, [...writers].sort()]) : 'no node'
      const is = own === undefined ? 'no node' : JSON.stringify([own.title, own.writers.sort()])
      if (is !== wanted) this.#report(`at the end ${page} is ${is}, acknowledged was ${wanted}`)
    }
    return this.#pages.size - this.#unknown.size
  }
}

interface SoakBackup {
  readonly name: string
  readonly state: string
  readonly verification: { readonly state: string } | null
}

/** No reply arrived. */
class LostConnection extends Error {}

/** Asks the provider of this process, which may just close the idle connection that a request uses. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  return ask().catch(() => ask().catch(ask))
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? `${failure.message}` : String(failure)
}

function bodyOf({ person, page }: { person: string; page: string }): object {
  return { subject: { type: 'Person', id: person }, action: { name: 'read' }, resource: { type: 'Page', id: page } }
}

function wordOf(number: number): string {
  let rest = Math.imul(number + 1, 0x9e3779b1) >>> 0
  rest = Math.imul(rest ^ (rest >>> 15), 0x85ebca6b) >>> 0
  return rest.toString(26).replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)))
}

/** A node with the data of a person; nothing of it resembles that of another one. */
function human(type: 'Citizen' | 'Customer', index: number, person: number): object {
  const [first, last] = [wordOf(3 * person), wordOf(3 * person + 1)]
  return {
    type,
    external_id: `${type}-${index}`,
    properties: [
      { type: 'name', value: `${first} ${last}` },
      { type: 'email', value: `${wordOf(3 * person + 2)}@${last}.example.org` },
    ],
  }
}
