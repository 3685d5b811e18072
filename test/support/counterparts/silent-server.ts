// A TCP server that accepts connections and never answers.
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A running server. */
export interface SilentServer {
  readonly port: number
  stop(): Promise<void>
}

/** Listens on 127.0.0.1. */
export async function startSilentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
