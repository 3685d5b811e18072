// An AMQP 1.0 receiver in this process that a test controls: SASL mechanisms, tokens for `$cbs`, and the outcome of each message.

import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import rhea, { type Connection, type Delivery, type EventContext, type Message, type Receiver } from 'rhea'

/** The outcome of a message; `disconnect` drops the connection without an outcome, `silence` gives none. */
export type FakeOutcome =
  | 'accept'
  | 'release'
  | 'silence'
  | 'disconnect'
  | { readonly reject: string; readonly description?: string }
  | { readonly detach: string }

/** Behaviour of the fake. */
export interface AmqpFakeOptions {
  /** In the order of the offer. `MSSBCBS` needs a token. Default: `ANONYMOUS`. */
  readonly mechanisms?: readonly ('ANONYMOUS' | 'PLAIN' | 'MSSBCBS')[]
  /** Whether the user and password are right. */
  readonly password?: (username: string, password: string) => boolean
  /** The status of a token; 202 is success. */
  readonly tokenStatus?: (token: string, audience: string) => number
  readonly outcome?: (message: Message, at: number) => FakeOutcome
  readonly maxMessageSize?: number
  /** Grants no credit. */
  readonly isBlocked?: boolean
}

/** A token request to `$cbs`. */
export interface TokenRequest {
  readonly properties: Readonly<Record<string, unknown>>
  readonly body: string
}

/** A running fake. */
export interface AmqpFake {
  readonly port: number
  /** Messages in the order of arrival, with the outcome. */
  readonly messages: { readonly message: Message; readonly outcome: FakeOutcome }[]
  readonly tokens: TokenRequest[]
  /** Mechanisms of the logins. */
  readonly logins: string[]
  stop(): Promise<void>
}

/** Starts the fake on 127.0.0.1. */
export async function startAmqpFake(options: AmqpFakeOptions = {}): Promise<AmqpFake> {
  const { mechanisms = ['ANONYMOUS'], outcome = () => 'accept', tokenStatus = () => 202 } = options
  const container = rhea.create_container()
  const messages: { readonly message: Message; readonly outcome: FakeOutcome }[] = []
  const tokens: TokenRequest[] = []
  const logins: string[] = []
  const sockets = new Set<Socket>()
  const authorized = new WeakSet<Connection>()
  let turns: Promise<void> = Promise.resolve()

  const saslMechanisms = Object.fromEntries(
    mechanisms.map((name) => [
      name,
      () => {
        const step = {
          outcome: undefined as boolean | undefined,
          username: undefined as string | undefined,
          start(response: Buffer | undefined) {
            logins.push(name)
            const [, username = '', password = ''] = (response?.toString() ?? '').split('\0')
            step.username = username
            step.outcome = name !== 'PLAIN' || options.password?.(username, password) !== false
          },
        }
        return step
      },
    ]),
  )
  container.sasl_server_mechanisms = saslMechanisms as never
  const needsToken = !mechanisms.includes('PLAIN') && mechanisms.includes('MSSBCBS')

  container.on('receiver_open', ({ receiver, connection }: EventContext) => {
    const address = receiver?.target?.address
    if (address === '$cbs') {
      receiver?.set_target({ address: '$cbs' })
      receiver?.add_credit(10)
      return
    }
    if (needsToken && !authorized.has(connection)) {
      receiver?.close({ condition: 'amqp:unauthorized-access', description: 'no token' })
      return
    }
    if (options.isBlocked !== true) receiver?.add_credit(1000)
  })
  const replies = new Map<string, (message: Message) => void>()
  container.on('sender_open', ({ sender }: EventContext) => {
    const name = sender?.target?.address ?? sender?.name
    if (name !== undefined) replies.set(name, (message) => void sender?.send(message))
  })
  container.on('message', ({ message, delivery, receiver, connection }: EventContext) => {
    if (message === undefined) return
    if (receiver?.target?.address === '$cbs') {
      const properties = message.application_properties ?? {}
      tokens.push({ properties, body: message.body })
      const status = tokenStatus(message.body, String(properties.name))
      if (status < 300) authorized.add(connection)
      replies.get(message.reply_to ?? '')?.({
        correlation_id: message.message_id ?? '',
        application_properties: { 'status-code': status, 'status-description': status < 300 ? 'OK' : 'refused' },
        body: '',
      } as Message)
      return
    }
    // One outcome per turn: the library merges an outcome with the one before it in the same frame, also if they differ.
    turns = turns.then(
      () =>
        new Promise((resolve) => {
          setImmediate(() => {
            settle(message, delivery, receiver)
            resolve()
          })
        }),
    )
  })
  const settle = (message: Message, delivery: Delivery | undefined, receiver: Receiver | undefined): void => {
    const result = outcome(message, messages.length)
    messages.push({ message, outcome: result })
    if (result === 'accept') delivery?.accept()
    else if (result === 'release') delivery?.release({ undeliverable_here: false })
    else if (result === 'disconnect') for (const socket of sockets) socket.destroy()
    else if (result === 'silence') return
    else if ('reject' in result) delivery?.reject({ condition: result.reject, description: result.description ?? '' })
    else receiver?.close({ condition: result.detach, description: 'detached' })
  }
  for (const event of [
    'connection_error',
    'session_error',
    'sender_error',
    'receiver_error',
    'disconnected',
    'protocol_error',
    'error',
  ]) {
    container.on(event, () => undefined)
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    const connection = container.create_connection({
      receiver_options: {
        autoaccept: false,
        credit_window: 0,
        ...(options.maxMessageSize === undefined ? {} : { max_message_size: options.maxMessageSize }),
      },
    } as never) as Connection & { accept(socket: Socket): void }
    connection.accept(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as AddressInfo).port,
    messages,
    tokens,
    logins,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
