// Whether two known nodes hang together by a chain, met in the middle; and which nodes hang at the end of one.
import type { NodeId } from '../store.ts'
import { type Link, Span, type Stop } from './chain.ts'
import type { Run } from './context.ts'
import { NodeList } from './node-set.ts'
import type { Operator } from './operator.ts'

export interface ChainSlots {
  readonly from: number
  readonly to: number
}

/** `stops[i]` stands between link i and the next. */
function spansOf(links: readonly Link[], stops: readonly Stop[]): readonly Span[] {
  return links.map((link, i) => new Span(link, stops[i - 1] ?? null, stops[i] ?? null))
}

/** Keeps the rows whose two nodes are connected. It walks from whichever side has less to walk over, link by link. */
export class ConnectOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ChainSlots
  private readonly spans: readonly Span[]
  private left = new NodeList()
  private right = new NodeList()
  private spare = new NodeList()

  constructor(input: Operator, slots: ChainSlots, links: readonly Link[], stops: readonly Stop[]) {
    this.input = input
    this.slots = slots
    this.spans = spansOf(links, stops)
  }

  open(run: Run): void {
    this.input.open(run)
  }

  next(run: Run): boolean {
    while (this.input.next(run)) {
      const from = run.frame[this.slots.from] as number
      const to = run.frame[this.slots.to] as number
      if (from !== 0 && to !== 0 && this.areConnected(run, from, to)) return true
    }
    return false
  }

  private areConnected(run: Run, from: NodeId, to: NodeId): boolean {
    const { spans } = this
    this.left.clear()
    this.left.add(from)
    this.right.clear()
    this.right.add(to)
    let first = 0
    let last = spans.length - 1
    while (first < last) {
      const { left, right, spare } = this
      if (this.isLeftCheaper(run, first, last)) {
        spans[first++]!.grow(run, left, spare, true)
        this.left = spare
        this.spare = left
        if (spare.length === 0) return false
      } else {
        spans[last--]!.grow(run, right, spare, false)
        this.right = spare
        this.spare = right
        if (spare.length === 0) return false
      }
    }
    return spans[first]!.meets(run, this.left, this.right)
  }

  private isLeftCheaper(run: Run, first: number, last: number): boolean {
    const { left, right, spans } = this
    return spans[first]!.cost(run, left, true) <= spans[last]!.cost(run, right, false)
  }
}

/** For each row, every node at the end of the chain, once. */
export class SpreadOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ChainSlots
  private readonly spans: readonly Span[]
  private reached = new NodeList()
  private spare = new NodeList()
  private position = 0

  constructor(input: Operator, slots: ChainSlots, links: readonly Link[], stops: readonly Stop[]) {
    this.input = input
    this.slots = slots
    this.spans = spansOf(links, stops)
  }

  open(run: Run): void {
    this.input.open(run)
    this.reached.clear()
    this.position = 0
  }

  next(run: Run): boolean {
    for (;;) {
      if (this.position < this.reached.length) {
        run.frame[this.slots.to] = this.reached.ids[this.position++]
        return true
      }
      if (!this.input.next(run)) return false
      const from = run.frame[this.slots.from] as number
      if (from !== 0) this.spread(run, from)
    }
  }

  private spread(run: Run, from: NodeId): void {
    this.position = 0
    this.reached.clear()
    this.reached.add(from)
    for (const span of this.spans) {
      const { reached, spare } = this
      span.grow(run, reached, spare, true)
      this.reached = spare
      this.spare = reached
      if (spare.length === 0) return
    }
  }
}
