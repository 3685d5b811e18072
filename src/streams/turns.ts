// Spreads many small pieces of work over turns of the event loop, so that other requests are answered between them.

/** Grants turns in the order in which they are asked for. */
export class Turns {
  private readonly perTurn: number
  private readonly pauseMs: number
  private readonly waiting: (() => void)[] = []
  private granted = 0
  private isPausing = false

  /** `perTurn`: pieces of work between two pauses of `pauseMs` milliseconds. */
  constructor(perTurn: number, pauseMs: number) {
    this.perTurn = perTurn
    this.pauseMs = pauseMs
  }

  /** Resolves when the next piece of work may be done. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve)
      this.grant()
    })
  }

  private grant(): void {
    while (this.granted < this.perTurn && this.waiting.length > 0) {
      this.granted += 1
      this.waiting.shift()!()
    }
    if (this.isPausing || this.granted === 0) return
    this.isPausing = true
    setTimeout(() => {
      this.isPausing = false
      this.granted = 0
      this.grant()
    }, this.pauseMs)
  }
}
