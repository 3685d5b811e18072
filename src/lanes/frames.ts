// The wire format between the serving process and a lane: one frame per request and one per response, over a Unix socket.
// A frame is two lengths (unsigned 32 bits, little endian), a JSON head and a body of bytes.
import type { Socket } from 'node:net'
import type { ForwardedRequestHead } from '../http/lane-job.ts'

/** The head of a request frame. */
export interface MarkedRequestHead extends ForwardedRequestHead {
  /** The mark that the lane sets before the request is stored. */
  readonly mark: number
}

/** The head of a response frame. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Metric increments since the last response of the lane. */
  readonly counts: Readonly<Record<string, number>>
}

const LENGTHS_BYTES = 8
/** Bodies are written in chunks of this size, so that a large one does not block the event loop. */
const CHUNK_BYTES = 256 * 1024

/** Resolves when the whole frame was handed to the socket; rejects if the socket closes earlier. */
export async function writeFrame(socket: Socket, head: object, body: Uint8Array): Promise<void> {
  const text = Buffer.from(JSON.stringify(head))
  const start = Buffer.allocUnsafe(LENGTHS_BYTES + text.length)
  start.writeUInt32LE(text.length, 0)
  start.writeUInt32LE(body.length, 4)
  text.copy(start, LENGTHS_BYTES)
  if (body.length <= CHUNK_BYTES) {
    socket.write(start)
    if (body.length > 0) socket.write(body)
    return
  }
  socket.write(start)
  for (let at = 0; at < body.length; at += CHUNK_BYTES) {
    if (!socket.write(body.subarray(at, at + CHUNK_BYTES))) await waitForDrain(socket)
    if (socket.destroyed) throw new Error('the connection closed before the whole frame was written')
  }
}

function waitForDrain(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // It reports neither any more.
    if (socket.destroyed) return resolve()
    const done = (): void => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}

/** Receives the frames of a socket. */
interface FrameReader {
  /** Called with the head and the length of the body, before any byte of the body. */
  head(head: unknown, bodyBytes: number): void
  /** Called with each chunk of the body, in order. */
  chunk(bytes: Uint8Array): void
  /** Called when the frame is complete. */
  end(): void
}

/** Splits the bytes of a socket into frames. Bodies are passed on as they arrive and not buffered. */
export function readFrames(socket: Socket, reader: FrameReader): void {
  /** Bytes of the lengths and the head, until both are complete. */
  let start: Buffer = Buffer.alloc(0)
  let bodyLeft = 0
  let inBody = false
  socket.on('data', (chunk: Buffer) => {
    let rest: Buffer = chunk
    while (rest.length > 0) {
      if (!inBody) {
        start = start.length === 0 ? rest : Buffer.concat([start, rest])
        const headEnd = start.length < LENGTHS_BYTES ? null : LENGTHS_BYTES + start.readUInt32LE(0)
        if (headEnd === null || start.length < headEnd) return
        bodyLeft = start.readUInt32LE(4)
        rest = start.subarray(headEnd)
        const head: unknown = JSON.parse(start.toString('utf8', LENGTHS_BYTES, headEnd))
        start = Buffer.alloc(0)
        inBody = true
        reader.head(head, bodyLeft)
      }
      const piece = rest.subarray(0, bodyLeft)
      rest = rest.subarray(piece.length)
      bodyLeft -= piece.length
      if (piece.length > 0) reader.chunk(piece)
      if (bodyLeft === 0) {
        inBody = false
        reader.end()
      }
    }
  })
}
