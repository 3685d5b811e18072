// Requests of the lane-kill run: counted, and checked for what a killed lane may return and what no response may be.
import type { WorkerFixture } from '../../support/worker-fixture.ts'

/** A wrong response; ends the run. */
export class StreamError extends Error {}

/** A request that its lane did not finish. Whether a write happened is unknown. */
export class LaneRefusalError extends Error {}

export interface StressReply {
  readonly status: number
  readonly text: string
  readonly body: Record<string, unknown>
}

interface SentRequest {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}

const TRIES_MAX = 200
const TRY_AGAIN_MS = 25
/** Longer than a request may wait for a lane, so that a lane that starts slowly is a refusal. */
const ANSWER_MS_MAX = 180_000

export class Requests {
  readonly fixture: WorkerFixture
  readonly counts = new Map<string, number>()
  done = 0
  private readonly max: number
  private isEnded = false

  constructor(fixture: WorkerFixture, max: number) {
    this.fixture = fixture
    this.max = max
  }

  get isOver(): boolean {
    return this.isEnded || this.done >= this.max
  }

  end(): void {
    this.isEnded = true
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  /**
   * Throws LaneRefusalError for 408, 503 and 504, and StreamError for one without a reason, for 500 and for no
   * response.
   */
  async send(path: string, { method = 'POST', headers, body }: SentRequest): Promise<StressReply> {
    this.done += 1
    const started = performance.now()
    let response: Response
    try {
      // On a separate connection: a reused idle one may close at the same moment.
      response = await fetch(`${this.fixture.server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        keepalive: false,
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
    } catch (fault) {
      const ms = Math.round(performance.now() - started)
      throw new StreamError(`${method} ${path} got no answer after ${ms} ms: ${String(fault)}`)
    }
    const text = await response.text()
    const { status } = response
    if (status === 500) throw new StreamError(`${method} ${path} answered ${status}: ${text}`)
    const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    // 408 is a time limit, which a busy machine reaches sooner.
    if (status === 503 || status === 504 || status === 408) {
      const { message } = parsed
      if (typeof message !== 'string' || message === '')
        throw new StreamError(`${path} ${status} without a reason: ${text}`)
      this.count(`refused ${status}`)
      throw new LaneRefusalError(`${status}: ${text}`)
    }
    return { status, text, body: parsed }
  }

  /** For idempotent requests: repeats until no lane refuses. */
  async again<T>(run: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await run()
      } catch (fault) {
        if (!(fault instanceof LaneRefusalError)) throw fault
        if (tries === TRIES_MAX) throw new StreamError(`refused ${tries} times: ${fault.message}`)
        await Bun.sleep(TRY_AGAIN_MS)
      }
    }
  }

  /** The created document; one with that name from a refused try counts as created. */
  async create(kind: string, document: { readonly name: string; readonly project_id?: string }): Promise<string> {
    const { admin: headers } = this.fixture
    let isRepeated = false
    const made = await this.again(async () => {
      try {
        return await this.send(`/configs/v1/${kind}`, { headers, body: document })
      } catch (fault) {
        isRepeated = true
        throw fault
      }
    })
    if (made.status === 201) return made.body.id as string
    const { name, project_id } = document
    const place = project_id === undefined ? '' : `?project_id=${project_id}`
    const path = `/configs/v1/${kind}/${name}${place}`
    const found = isRepeated ? await this.again(() => this.send(path, { method: 'GET', headers })) : made
    if (found.status !== 200) throw new StreamError(`creating ${kind} answered ${made.status}: ${made.text}`)
    this.count('made by a refused request')
    return found.body.id as string
  }

  /** A project with an application and an agent with all permissions. */
  async project(name: string, more: object = {}): Promise<{ id: string; application: string; key: string }> {
    const { organization: organization_id, admin: headers } = this.fixture
    const id = await this.create('projects', { organization_id, name, region: 'local', ...more } as { name: string })
    for (let state: unknown = ''; state !== 'ACTIVE'; ) {
      const read = await this.again(() => this.send(`/configs/v1/projects/${id}`, { method: 'GET', headers }))
      state = read.body.ikg_status
      if (state === 'FAILED') throw new StreamError(`project ${name} was not provisioned`)
    }
    const one = async (kind: string, body: object) => {
      let tries = 0
      const made = await this.again(() => {
        tries += 1
        // A refused try may have created one with the same name.
        return this.send(`/configs/v1/${kind}`, { headers, body: { name: `${name}-${tries}`, ...body } })
      })
      if (made.status !== 201) throw new StreamError(`creating ${kind} answered ${made.status}: ${made.text}`)
      return made.body as Record<string, string>
    }
    const application = (await one('applications', { project_id: id })).id as string
    const api_permissions = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs']
    const agent = await one('application-agents', { application_id: application, api_permissions })
    const credential = await one('application-agent-credentials', { application_agent_id: agent.id, name: undefined })
    return { id, application, key: credential.api_key as string }
  }

  /** A batch that may be sent twice. */
  async capture(key: string, path: string, body: object): Promise<void> {
    const headers = { 'x-svc-clientkey': key }
    const { status, text } = await this.again(() => this.send(`/capture/v1/${path}`, { headers, body }))
    if (status !== 200) throw new StreamError(`${path} answered ${status}: ${text}`)
    this.count('captured')
  }
}
