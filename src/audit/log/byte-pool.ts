// Large buffers that are used again. The memory of a buffer that is dropped is freed late, and each new page of memory costs the
// system a fault.

/** Lends buffers, and keeps a few of those that are given back. */
export class BytePool {
  private readonly free: Buffer[] = []
  private readonly countMax: number
  private readonly bytesMax: number

  /** `countMax`: buffers that are kept. `bytesMax`: larger buffers are not kept. */
  constructor(countMax: number, bytesMax: number) {
    this.countMax = countMax
    this.bytesMax = bytesMax
  }

  /** A buffer of at least `bytes`, with undefined content. */
  take(bytes: number): Buffer {
    const at = this.free.findIndex(({ length }) => length >= bytes)
    const [found] = at < 0 ? [] : this.free.splice(at, 1)
    return found ?? Buffer.allocUnsafeSlow(bytes)
  }

  /** Gives a buffer back. Nothing may use it, or views of it, afterwards. */
  give(buffer: Buffer): void {
    if (buffer.length > this.bytesMax) return
    this.free.push(buffer)
    if (this.free.length <= this.countMax) return
    // The smallest one is replaced most easily.
    this.free.sort((a, b) => b.length - a.length)
    this.free.pop()
  }
}
