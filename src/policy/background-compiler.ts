// Compiles policies, queries and models on the event loop, one per second, if they are too long to be compiled during a
// request. Until then their requests run in lanes. The longest documents always stay with the lanes.
import type { Steps } from '../kernel/steps.ts'
import type { DeferredCompilation } from './compile-budget.ts'

/** Documents with more characters take 30 ms or more to compile, and stay with the lanes. */
const DOCUMENT_CHARS_MAX = 16_384
/** Time between two compilations, so that frequent policy changes cannot block the event loop. */
const COMPILE_INTERVAL_MS = 1000
const PENDING_MAX = 1000

/** The queue of documents to compile. */
export class BackgroundCompiler {
  private readonly pending = new Map<object, DeferredCompilation>()
  /** Set while the steps of a document run. */
  private nextStep: ReturnType<typeof setImmediate> | null = null
  private timer: ReturnType<typeof setTimeout> | null = null

  /** Schedules a compilation; ignores it if the document or the queue is too long. An own property, so it can be passed on. */
  readonly add = (characters: number, document: object, compile: DeferredCompilation): void => {
    if (characters > DOCUMENT_CHARS_MAX || this.pending.size >= PENDING_MAX) return
    this.pending.set(document, compile)
    if (this.nextStep === null) this.timer ??= this.scheduleNext()
  }

  close(): void {
    if (this.nextStep !== null) clearImmediate(this.nextStep)
    if (this.timer !== null) clearTimeout(this.timer)
    this.pending.clear()
  }

  private scheduleNext(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.timer = null
      const [entry] = this.pending
      if (entry === undefined) return
      const [document, compile] = entry
      this.pending.delete(document)
      const steps = compile()
      if (steps !== null) this.run(steps)
      else if (this.pending.size > 0) this.timer = this.scheduleNext()
    }, COMPILE_INTERVAL_MS)
    timer.unref()
    return timer
  }

  /** Does one step in each turn of the event loop. */
  private run(steps: Steps<unknown>): void {
    this.nextStep = setImmediate(() => {
      this.nextStep = null
      if (steps.next().done !== true) this.run(steps)
      else if (this.pending.size > 0) this.timer ??= this.scheduleNext()
    })
  }
}
