// A connection that sends one request after another until a response announces that it closes.
import { connect } from 'node:net'

export interface KeptConnection {
  /** Resolves after a number of responses. */
  readonly begun: Promise<void>
  readonly ended: Promise<ConnectionEnd>
}

export interface ConnectionEnd {
  readonly unanswered: number
  readonly wrong: number
  readonly fault: string | null
  readonly lastSaysClose: boolean
}

/** `ask`: the request with number `sent`, and its expected body. */
export function askUntilClosed(
  hostname: string,
  port: number,
  ask: (sent: number) => { readonly target: string; readonly answer: string },
): KeptConnection {
  const begun = Promise.withResolvers<void>()
  const ended = new Promise<ConnectionEnd>((resolve) => {
    let sent = 0
    let answered = 0
    let wrong = 0
    let fault: string | null = null
    let lastSaysClose = false
    let received = ''
    const socket = connect(port, hostname)
    const send = () => {
      sent += 1
      socket.write(`GET ${ask(sent).target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    }
    socket.on('connect', send)
    socket.on('data', (data) => {
      received += data.toString('latin1')
      const end = received.indexOf('\r\n\r\n') + 4
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN)
      if (end < 4 || received.length < end + length) return
      answered += 1
      // One character of `received` is one byte.
      if (Buffer.from(received.slice(end), 'latin1').toString() !== ask(sent).answer) wrong += 1
      lastSaysClose = /connection: close/i.test(received)
      received = ''
      if (answered === 3) begun.resolve()
      if (!lastSaysClose) setTimeout(send, sent % 4)
    })
    socket.on('error', (error) => {
      fault = error.message
    })
    socket.on('close', () => resolve({ unanswered: sent - answered, wrong, fault, lastSaysClose }))
  })
  return { begun: begun.promise, ended }
}
