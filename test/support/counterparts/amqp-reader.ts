// Reads a queue until it is empty.
import rhea, { type EventContext, type Message } from 'rhea'

/** Where to read. */
export interface QueueReadOptions {
  readonly port: number
  readonly username: string
  readonly password: string
  /** Such as `q1` or `topic1::sub1`. */
  readonly address: string
  /** Ends when no message arrives for this time. */
  readonly quietMs?: number
}

/** A broker that was killed and started again refuses the sessions of some seconds: its queues are not ready yet. */
const READY_MS = 30_000

/** All messages of a queue, in order; they are removed. Waits for a queue that is not ready. */
export async function readQueue(options: QueueReadOptions): Promise<Message[]> {
  const end = performance.now() + READY_MS
  for (;;) {
    const messages: Message[] = []
    try {
      await receive(options, messages)
      return messages
    } catch (error) {
      // Messages that were received are removed, so reading again would not return them.
      if (messages.length > 0 || performance.now() > end) throw error
      await Bun.sleep(500)
    }
  }
}

function receive(
  { port, username, password, address, quietMs = 1500 }: QueueReadOptions,
  messages: Message[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const container = rhea.create_container()
    let timer: ReturnType<typeof setTimeout>
    const connection = container.connect({ host: '127.0.0.1', port, username, password, reconnect: false })
    const arm = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        connection.close()
        resolve()
      }, quietMs)
    }
    for (const event of ['connection_error', 'session_error', 'receiver_error', 'disconnected', 'error']) {
      container.on(event, (context: EventContext) => {
        clearTimeout(timer)
        connection.close()
        const error = context.error ?? context.session?.error ?? context.receiver?.error
        reject(new Error(`${event} at ${address}: ${error === undefined ? 'no reason' : JSON.stringify(error)}`))
      })
    }
    container.on('receiver_open', arm)
    container.on('message', ({ message }: EventContext) => {
      if (message !== undefined) messages.push(message)
      arm()
    })
    connection.open_receiver(address)
  })
}

/** Declares a durable queue at RabbitMQ, whose AMQP 1.0 declares queues by attaching to them. */
export function declareDurable({ port, username, password, address }: QueueReadOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const container = rhea.create_container()
    const connection = container.connect({ host: '127.0.0.1', port, username, password, reconnect: false })
    for (const event of ['connection_error', 'session_error', 'sender_error', 'error']) {
      container.on(event, (context: EventContext) => reject(new Error(`${event} at ${address}: ${context.error}`)))
    }
    container.on('sender_open', () => {
      connection.close()
      resolve()
    })
    connection.open_sender({ target: { address, durable: 2 } })
  })
}
