// A lane that answers each request and closes all its connections on a command. The last argument is the process id of its parent.
import { createServer, type Socket } from 'node:net'
import { readFrames, writeFrame } from '../../../src/lanes/frames.ts'
import type { LaneCommand, LaneEvent, LaneTask } from '../../../src/lanes/lane-process.ts'
import { runChild } from '../../../src/processes/run-child.ts'

const sockets = new Set<Socket>()
const ignore = (): void => undefined

await runChild<LaneTask, LaneCommand, LaneEvent>({
  kind: 'lane',
  parent: Number(process.argv.at(-1)),
  async open({ socket: path }, parent) {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', ignore)
      readFrames(socket, {
        head: ignore,
        chunk: ignore,
        end: () => void writeFrame(socket, { status: 200, headers: {}, counts: {} }, new Uint8Array(1)),
      })
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    return {
      async onCommand() {
        const closed = [...sockets].map((socket) => new Promise((resolve) => socket.on('close', resolve)))
        for (const socket of sockets) socket.destroy()
        sockets.clear()
        await Promise.all(closed)
        parent.report({ memoryBytes: null })
      },
      async stop() {
        server.close()
      },
    }
  },
  failed(failure) {
    throw failure
  },
})
