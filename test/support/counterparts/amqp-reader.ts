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

/** All messages of a queue, in order; they are removed. */
export function readQueue({ port, username, password, address, quietMs = 1500 }: QueueReadOptions): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const container = rhea.create_container()
    const messages: Message[] = []
    let timer: ReturnType<typeof setTimeout>
    const connection = container.connect({ host: '127.0.0.1', port, username, password, reconnect: false })
    const arm = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        connection.close()
        resolve(messages)
      }, quietMs)
    }
    for (const event of ['connection_error', 'session_error', 'receiver_error', 'disconnected', 'error']) {
      container.on(event, (context: EventContext) => {
        clearTimeout(timer)
        reject(new Error(`${event} at ${address}: ${context.error ?? context.receiver?.error}`))
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
