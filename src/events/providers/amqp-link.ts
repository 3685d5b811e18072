// A sending link to a queue or topic (AMQP 1.0): socket, login, token, link. After any fault the whole connection is dropped:
// the client's own reconnection leaves links that never deliver.
import { createHmac } from 'node:crypto'
import type { Socket } from 'node:net'
import type { AmqpError, Connection, Container, EventContext, Sender } from 'rhea'
import type { Destinations } from '../../upstream/destinations.ts'
import type { QueueLogin, QueueTarget } from './connection-string.ts'
import { openSocket } from './open-socket.ts'

const TOKEN_SECONDS = 3600
/** The connection is replaced before its token expires. */
const TOKEN_USE_SECONDS = 2700
const TOKEN_TYPE = 'servicebus.windows.net:sastoken'
const CLOSE_MS = 500
/** The peer ends a connection that is silent for longer; the client sends empty frames. */
const IDLE_MS = 60_000

/** Events of a link. Deliveries are identified by their id. */
interface LinkEvents {
  accepted(delivery: number): void
  /** `error`: null if the receiver gave none. */
  rejected(delivery: number, error: AmqpError | null): void
  /** The receiver did not process it and may do so later. */
  released(delivery: number): void
  /** The receiver grants credit. */
  sendable(): void
  /** The link is of no use any more. */
  broken(fault: unknown): void
}

/** A fault that the peer reported. */
export class AmqpFault extends Error {
  readonly condition: string

  constructor(condition: string, description: string) {
    super([condition, description].filter(Boolean).join(': ') || 'the peer closed the connection')
    this.condition = condition
  }
}

/** The peer offers none of the tried SASL mechanisms. */
class MechanismFault extends Error {}

/** Options of a link. */
interface LinkOptions {
  readonly target: QueueTarget
  /** Name of the queue or topic. */
  readonly address: string
  readonly destinations: Destinations
  readonly authorities?: string
  readonly signal: AbortSignal
}

/** An open link. */
export class AmqpLink {
  /** Receives what happens from now on. */
  events: LinkEvents | null = null
  /** Set once the link is of no use. */
  fault: unknown = null
  readonly sender: Sender
  private readonly connection: Connection
  private readonly socket: Socket
  private readonly replaceAt: number

  constructor(connection: Connection, socket: Socket, sender: Sender, replaceAt: number) {
    this.connection = connection
    this.socket = socket
    this.sender = sender
    this.replaceAt = replaceAt
  }

  /** Whether a batch may start on this link. */
  isUsable(): boolean {
    return this.fault === null && Date.now() < this.replaceAt
  }

  /** Ends the connection without waiting. */
  destroy(): void {
    this.fault ??= new Error('the connection is closed')
    this.socket.destroy()
  }

  /** Ends the connection in good order, within half a second. */
  async close(): Promise<void> {
    const isClosed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()))
    const limit = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS))
    if (!this.socket.destroyed) {
      this.connection.close()
      await Promise.race([isClosed, limit])
    }
    this.destroy()
  }
}

/** Opens a link. Rejects with a readable fault. */
export async function openLink(options: LinkOptions): Promise<AmqpLink> {
  const { login } = options.target
  if (login.kind !== 'shared-key') return openLinkWith(options, mechanismsOf(login))
  try {
    return await openLinkWith(options, ['PLAIN', 'MSSBCBS'])
  } catch (fault) {
    if (!(fault instanceof MechanismFault)) throw fault
    return openLinkWith(options, ['ANONYMOUS'])
  }
}

function mechanismsOf(login: QueueLogin): readonly SaslMechanism[] {
  if (login.kind === 'password') return ['PLAIN']
  return login.kind === 'token' ? ['MSSBCBS', 'ANONYMOUS'] : ['ANONYMOUS']
}

/** `MSSBCBS` and, for a key or a token, `ANONYMOUS`: the login follows as a token in a message (claims-based security). */
type SaslMechanism = 'PLAIN' | 'MSSBCBS' | 'ANONYMOUS'

async function openLinkWith(options: LinkOptions, mechanisms: readonly SaslMechanism[]): Promise<AmqpLink> {
  const { target, address, destinations, authorities, signal } = options
  const { default: rhea } = await import('rhea')
  const socket = await openSocket(
    { host: target.host, port: target.port, tls: target.isSecure ? { ...(authorities && { authorities }) } : null },
    destinations,
    signal,
  )
  const container = rhea.create_container({ id: `verdigraph-${rhea.generate_uuid()}` })
  let link: AmqpLink | null = null
  const opening = Promise.withResolvers<never>()
  opening.promise.catch(() => undefined)
  const abort = (): void => {
    socket.destroy()
    opening.reject(signal.reason)
  }
  const broken = (fault: unknown): void => {
    opening.reject(fault)
    if (link === null || link.fault !== null) return
    link.fault = fault
    link.events?.broken(fault)
  }
  listen(container, broken)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  try {
    let chosen: SaslMechanism | null = null
    const connection = container.connect({
      host: target.host,
      port: target.port,
      hostname: target.host,
      reconnect: false,
      idle_time_out: IDLE_MS,
      sasl_mechanisms: saslMechanisms(target.login, mechanisms, (one) => {
        chosen = one
      }),
      // The socket is open already.
      connection_details: () => ({
        host: target.host,
        port: target.port,
        connect: (_port: number, _host: string, _options: unknown, connected: () => void) => {
          queueMicrotask(connected)
          return socket
        },
      }),
    } as never)
    await Promise.race([once(container, 'connection_open'), opening.promise])
    let replaceAt = Number.POSITIVE_INFINITY
    if (chosen !== 'PLAIN' && (target.login.kind === 'shared-key' || target.login.kind === 'token')) {
      const audience = `sb://${target.authority}/${address}`
      await Promise.race([putToken(connection, rhea.generate_uuid(), audience, target.login), opening.promise])
      replaceAt = Date.now() + TOKEN_USE_SECONDS * 1000
    }
    const sender = connection.open_sender({ target: { address }, autosettle: true, snd_settle_mode: 0 })
    const opened = new AmqpLink(connection, socket, sender, replaceAt)
    link = opened
    sender.on('accepted', ({ delivery }: EventContext) => opened.events?.accepted(delivery?.id ?? -1))
    sender.on('rejected', ({ delivery }: EventContext) =>
      opened.events?.rejected(delivery?.id ?? -1, delivery?.remote_state?.error ?? null),
    )
    sender.on('released', ({ delivery }: EventContext) => opened.events?.released(delivery?.id ?? -1))
    sender.on('sendable', () => opened.events?.sendable())
    await Promise.race([once(sender, 'sender_open'), opening.promise])
    return opened
  } catch (fault) {
    socket.destroy()
    throw fault
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Without a listener for each of these events, the client emits `error`, which would end the process. */
function listen(container: Container, broken: (fault: unknown) => void): void {
  const faultOf = (error: unknown, otherwise: string): Error => {
    if (error instanceof Error && !('condition' in error)) return error
    const { condition, description, message } = (error ?? {}) as Partial<AmqpError & Error>
    const text = description ?? message ?? ''
    if (/^No suitable mechanism/.test(text)) return new MechanismFault(text)
    if (/^Failed to authenticate/.test(text)) return new AmqpFault(String(condition ?? ''), 'authentication failed')
    return condition == null && text === '' ? new Error(otherwise) : new AmqpFault(String(condition ?? ''), text)
  }
  for (const end of ['sender', 'receiver', 'session', 'connection'] as const) {
    const fault = (context: EventContext): void =>
      broken(faultOf(context.error ?? context[end]?.error, `the peer closed the ${end}`))
    container.on(`${end}_error`, fault)
    container.on(`${end}_close`, fault)
  }
  container.on('disconnected', (context: EventContext) =>
    broken(faultOf(context.error, 'the peer closed the connection')),
  )
  container.on('protocol_error', (fault: unknown) => broken(faultOf(fault, 'protocol error')))
  container.on('error', (fault: unknown) => broken(faultOf(fault, 'unknown error')))
}

/** Factories by mechanism, as the client takes them: the first one that the peer offers is used. */
function saslMechanisms(
  login: QueueLogin,
  mechanisms: readonly SaslMechanism[],
  chosen: (mechanism: SaslMechanism) => void,
): object {
  const responseOf = (mechanism: SaslMechanism): Buffer => {
    if (mechanism !== 'PLAIN') return Buffer.from('anonymous')
    // RFC 4616
    if (login.kind === 'password') return Buffer.from(`\0${login.username}\0${login.password}`)
    return login.kind === 'shared-key' ? Buffer.from(`\0${login.name}\0${login.key}`) : Buffer.alloc(0)
  }
  return Object.fromEntries(
    mechanisms.map((mechanism) => [
      mechanism,
      () => ({
        start: (callback: (fault: unknown, response: Buffer) => void) => {
          chosen(mechanism)
          callback(undefined, responseOf(mechanism))
        },
      }),
    ]),
  )
}

/** Sends a shared access signature to the node `$cbs`, which must accept it before the link is opened. */
async function putToken(
  connection: Connection,
  requestId: string,
  audience: string,
  login: Extract<QueueLogin, { kind: 'shared-key' | 'token' }>,
): Promise<void> {
  const replyTo = `cbs-${requestId}`
  const receiver = connection.open_receiver({
    name: replyTo,
    source: { address: '$cbs' },
    target: { address: replyTo },
  })
  const requests = connection.open_sender({ target: { address: '$cbs' } })
  const answer = new Promise<void>((resolve, reject) => {
    receiver.on('message', ({ message }: EventContext) => {
      const properties = message?.application_properties ?? {}
      const status = Number(properties['status-code'])
      if (status >= 200 && status < 300) resolve()
      else reject(new AmqpFault('$cbs', `status ${status} ${properties['status-description'] ?? ''}`.trim()))
    })
    requests.on('rejected', ({ delivery }: EventContext) => {
      const { condition = '', description = '' } = delivery?.remote_state?.error ?? {}
      reject(new AmqpFault(String(condition), `$cbs refused the token ${description}`.trim()))
    })
  })
  answer.catch(() => undefined)
  await once(requests, 'sendable')
  requests.send({
    message_id: requestId,
    to: '$cbs',
    reply_to: replyTo,
    application_properties: { operation: 'put-token', type: TOKEN_TYPE, name: audience },
    body: login.kind === 'token' ? login.token : sharedAccessSignature(audience, login.name, login.key, Date.now()),
  })
  await answer
}

/** A shared access signature for `audience`, valid for an hour from `now` (milliseconds). */
export function sharedAccessSignature(audience: string, name: string, key: string, now: number): string {
  const expiry = Math.floor(now / 1000) + TOKEN_SECONDS
  const resource = encodeURIComponent(audience)
  const signature = createHmac('sha256', key).update(`${resource}\n${expiry}`).digest('base64')
  return `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=${expiry}&skn=${encodeURIComponent(name)}`
}

function once(emitter: { once(event: string, listener: () => void): unknown }, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()))
}
